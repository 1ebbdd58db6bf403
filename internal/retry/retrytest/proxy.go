// Package retrytest stands in for what refuses requests on their way to a service.
package retrytest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
)

// Proxy is an HTTP proxy that lets nothing through.
type Proxy struct {
	URL   *url.URL
	asked atomic.Int32
}

// RefusingProxy starts a proxy on loopback that answers each request with the status. It ends with the test.
func RefusingProxy(t testing.TB, status int) *Proxy {
	t.Helper()
	p := &Proxy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.asked.Add(1)
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	var err error
	if p.URL, err = url.Parse(server.URL); err != nil {
		t.Fatal(err)
	}
	return p
}

// Asked is how many requests came.
func (p *Proxy) Asked() int { return int(p.asked.Load()) }

// For is Transport.Proxy.
func (p *Proxy) For(*http.Request) (*url.URL, error) { return p.URL, nil }

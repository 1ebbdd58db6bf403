package e2b_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry/retrytest"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// A login that a proxy refuses must not be sent again: that may lock the account. What it did not let through was not
// made, so nothing has to be looked up.
func TestAProxysRefusalIsAskedForOnce(t *testing.T) {
	for _, status := range []int{http.StatusProxyAuthRequired, http.StatusForbidden} {
		proxy := retrytest.RefusingProxy(t, status)
		transport, is := e2b.NewTransport().(*http.Transport)
		if !is {
			t.Fatal("the transport is not net/http's")
		}
		transport.Proxy = proxy.For
		client, err := e2b.New(e2b.Options{APIKey: secret.New(e2btest.Key), Transport: transport, Clock: e2btest.NewClock()})
		if err != nil {
			t.Fatal(err)
		}
		_, read := client.Template(t.Context(), "agent")
		_, made := client.RequestBuild(t.Context(), e2b.BuildRequest{Name: "agent"})
		for _, err := range []error{read, made} {
			says(t, err, "the proxy "+proxy.URL.Host+" did not let the request through", "Check HTTPS_PROXY", "api.e2b.app")
			if e2b.Unclear(err) {
				t.Errorf("%d: it is unclear whether the request was carried out: %v", status, err)
			}
		}
		if proxy.Asked() != 2 {
			t.Errorf("%d: two requests asked %d times", status, proxy.Asked())
		}
	}
}

func TestALongPauseIsToldInTheLog(t *testing.T) {
	w := newWorld(t, e2btest.Options{})
	id, _ := w.AddTemplate(e2btest.Key, "agent", "default")
	w.Inject(e2btest.Fault{Route: "GET /templates/{templateID}", Status: 429, Header: map[string]string{"Retry-After": "600"}, Message: "Rate limit exceeded"})
	var log strings.Builder
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client, err := e2b.New(e2b.Options{APIKey: secret.New(e2btest.Key), APIURL: w.URL, Transport: transport, Clock: w.clock, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, err := client.Template(ctx, id); err != nil || !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "host="+strings.TrimPrefix(w.URL, "http://")+" wait=10m") {
		t.Errorf("%v; the log is %q", err, log.String())
	}
}

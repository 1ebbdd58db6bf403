package provider_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// careless refuses the requests that fit by repeating the login, as some services do.
type careless struct {
	atomic.Pointer[func(*http.Request) bool]
}

func (c *careless) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fits := c.Load()
		user, password, login := r.BasicAuth()
		if fits == nil || !(*fits)(r) || !login {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"errors": [{"code": "UNAUTHORIZED", "message": "%s cannot log in with %s: %s"}]}`, user, password, r.Header.Get("Authorization"))
	})
}

// seenUsers are the users that logged in.
type seenUsers struct{ users sync.Map }

func (s *seenUsers) add(user string)      { s.users.Store(user, true) }
func (s *seenUsers) has(user string) bool { _, ok := s.users.Load(user); return ok }

// startProxy starts a proxy that tunnels for those who know the password, and counts the tunnels.
func startProxy(t *testing.T, user, password string) (address string, tunnels *atomic.Int64) {
	t.Helper()
	tunnels = new(atomic.Int64)
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != want {
			w.Header().Set("Proxy-Authenticate", "Basic")
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		upstream, err := new(net.Dialer).DialContext(r.Context(), "tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = upstream.Close() }()
		tunnels.Add(1)
		w.WriteHeader(http.StatusOK)
		client, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = client.Close() }()
		go func() { _, _ = io.Copy(upstream, buffered) }()
		_, _ = io.Copy(client, upstream)
	}))
	t.Cleanup(server.Close)
	parsed, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	parsed.User = url.UserPassword(user, password)
	return parsed.String(), tunnels
}

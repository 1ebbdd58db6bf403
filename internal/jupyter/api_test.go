package jupyter_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/jupyter"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

func TestTokenGoesInTheHeaderOrTheQuery(t *testing.T) {
	f := newFake(t)
	endpoint := f.endpoint(t)
	for _, test := range []struct {
		header       http.Header
		sent, wanted string
	}{
		{nil, "token " + token, ""},
		{http.Header{"X-Service": {"s"}}, "token " + token, ""},
		{http.Header{"Authorization": {"Bearer cnry-service"}}, "Bearer cnry-service", token},
	} {
		endpoint.Header = test.header
		kernel, err := jupyter.NewServer(endpoint).StartKernel(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		request := f.last()
		if got, query := request.Header.Get("Authorization"), request.URL.Query(); got != test.sent || query.Get("token") != test.wanted || query.Get("session_id") == "" {
			t.Errorf("with header %v the WebSocket asked with Authorization %q and query %v", test.header, got, query)
		}
		if err := kernel.ShutDown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := f.last().Header.Get("X-Service"); got != test.header.Get("X-Service") {
			t.Errorf("X-Service is %q", got)
		}
	}
	if left := f.left(); len(left) > 0 {
		t.Errorf("kernels %q are left", left)
	}
}

func TestServerFails(t *testing.T) {
	f := newFake(t)
	nowhere := httptest.NewServer(http.NotFoundHandler())
	nowhere.Close()
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	t.Cleanup(html.Close)
	tests := map[string]struct {
		change      func(*jupyter.Endpoint)
		kernel      string
		title, says string
		status      int
	}{
		"wrong token":    {func(e *jupyter.Endpoint) { e.Token = secret.New("cnry-wrong") }, "", "Jupyter Server refused the token", "POST api/kernels: 403 Forbidden: Forbidden", 403},
		"no token":       {func(e *jupyter.Endpoint) { e.Token = secret.Value{} }, "", "Jupyter Server refused the token", "POST api/kernels: 403 Forbidden", 403},
		"no such kernel": {func(*jupyter.Endpoint) {}, "nonesuch", "Jupyter Server refused the request", "501 Not Implemented: No such kernel named nonesuch said with [redacted]", 501},
		"nobody listens": {func(e *jupyter.Endpoint) { e.URL = parse(t, nowhere.URL) }, "", "Jupyter Server does not answer", "connection refused", 0},
		"something else": {func(e *jupyter.Endpoint) { e.URL = parse(t, html.URL) }, "", "Jupyter Server refused the request", "POST api/kernels: 200 OK: <html>", 200},
		"token in the path": {func(e *jupyter.Endpoint) {
			e.Header = http.Header{"Authorization": {"cnry-auth"}}
			e.URL = parse(t, nowhere.URL)
		}, "", "Jupyter Server does not answer", "connection refused", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			endpoint := f.endpoint(t)
			test.change(&endpoint)
			_, err := jupyter.NewServer(endpoint).StartKernel(t.Context(), test.kernel)
			var found *problem.Problem
			if !errors.As(err, &found) || found.Title != test.title || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v", err)
			}
			var status *jupyter.StatusError
			if errors.As(err, &status); (status == nil) != (test.status == 0) || status != nil && status.Status != test.status {
				t.Errorf("status of %v is %+v, want %d", err, status, test.status)
			}
			if text := fmt.Sprintf("%v %+v", err, found.Detail()); strings.Contains(text, "cnry-") || strings.Contains(text, url.QueryEscape(token)) {
				t.Errorf("a secret is in %s", text)
			}
		})
	}
}

func parse(t *testing.T, address string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// A kernel whose channels do not open would run on without anybody who knows of it.
func TestKernelWithoutChannelsIsShutDown(t *testing.T) {
	f := newFake(t)
	f.deaf = true
	_, err := jupyter.NewServer(f.endpoint(t)).StartKernel(t.Context(), "")
	var status *jupyter.StatusError
	if !errors.As(err, &status) || status.Status != 404 || !strings.Contains(err.Error(), "/channels: 404 Not Found: Kernel does not exist") {
		t.Errorf("%v", err)
	}
	if left := f.left(); len(left) > 0 {
		t.Errorf("kernels %q are left", left)
	}
}

func TestShutDownOfAKernelThatIsGone(t *testing.T) {
	f := newFake(t)
	server := jupyter.NewServer(f.endpoint(t))
	kernel, err := server.StartKernel(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := server.Kernels(t.Context()); err != nil || len(ids) != 1 || ids[0] != kernel.ID {
		t.Errorf("kernels %q, %v", ids, err)
	}
	for range 2 {
		if err := kernel.ShutDown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if ids, err := server.Kernels(t.Context()); err != nil || len(ids) != 0 {
		t.Errorf("kernels %q, %v", ids, err)
	}
}

func TestWait(t *testing.T) {
	answers := make(chan string, 3)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case text := <-answers:
			_, _ = w.Write([]byte(text))
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	waiting := jupyter.NewServer(jupyter.Endpoint{URL: parse(t, server.URL), Client: server.Client()})

	answers <- "<html>"
	answers <- `{"other": 1}`
	answers <- `{"version": "2.99.0"}`
	if version, err := waiting.Wait(t.Context(), nil); err != nil || version != "2.99.0" {
		t.Errorf("%q, %v", version, err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := waiting.Wait(ctx, func() error { return nil })
	var found *problem.Problem
	if !errors.As(err, &found) || found.Title != "Jupyter Server did not answer in time" || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "503") {
		t.Errorf("%v", err)
	}

	gone := errors.New("the process ended")
	if _, err := waiting.Wait(t.Context(), func() error { return gone }); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

func TestEndpointHidesItsSecrets(t *testing.T) {
	endpoint := jupyter.Endpoint{URL: parse(t, "https://user:cnry-pass@host/base"), Token: secret.New(token), Header: http.Header{"Authorization": {"cnry-auth"}}}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", endpoint, endpoint, endpoint, endpoint), endpoint.String(), fmt.Sprint(jupyter.Endpoint{})} {
		if strings.Contains(text, "cnry-") || !strings.Contains(text, "Jupyter Server at ") {
			t.Errorf("%s", text)
		}
	}
}

package retry_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry/retrytest"
)

func TestAfterReadsEverySpelling(t *testing.T) {
	const date = "Wed, 02 Jan 2030 03:04:05 GMT"
	for name, c := range map[string]struct {
		header http.Header
		names  []string
		want   time.Duration
	}{
		"none":                {http.Header{}, nil, 0},
		"seconds":             {http.Header{"Retry-After": {"7"}}, nil, 7 * time.Second},
		"spaces":              {http.Header{"Retry-After": {" 7 "}}, nil, 7 * time.Second},
		"parts of a second":   {http.Header{"Retry-After": {"1.5"}}, nil, 1500 * time.Millisecond},
		"date":                {http.Header{"Date": {date}, "Retry-After": {"Wed, 02 Jan 2030 03:04:14 GMT"}}, nil, 9 * time.Second},
		"date of RFC 850":     {http.Header{"Date": {date}, "Retry-After": {"Wednesday, 02-Jan-30 03:04:14 GMT"}}, nil, 9 * time.Second},
		"date of asctime":     {http.Header{"Date": {date}, "Retry-After": {"Wed Jan  2 03:04:14 2030"}}, nil, 9 * time.Second},
		"date gone by":        {http.Header{"Date": {date}, "Retry-After": {"Wed, 02 Jan 2030 03:04:00 GMT"}}, nil, 0},
		"twice":               {http.Header{"Retry-After": {"3", "7"}}, nil, 7 * time.Second},
		"negative":            {http.Header{"Retry-After": {"-1"}}, nil, 0},
		"not a number":        {http.Header{"Retry-After": {"NaN"}}, nil, 0},
		"endless":             {http.Header{"Retry-After": {"Inf"}}, nil, 0},
		"words":               {http.Header{"Retry-After": {"soon"}}, nil, 0},
		"a name of its own":   {http.Header{"Retry-After-Authenticated": {"8"}}, []string{"Retry-After", "Retry-After-Authenticated"}, 8 * time.Second},
		"a name not asked of": {http.Header{"Retry-After-Authenticated": {"8"}}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := retry.After(c.header, c.names...); got != c.want {
				t.Errorf("wait %s, want %s", got, c.want)
			}
		})
	}
}

func TestPauseGrowsAndEnds(t *testing.T) {
	p := retry.Policy{}.WithDefaults()
	for attempt, base := range map[int]time.Duration{1: p.Base, 2: 2 * p.Base, 3: 4 * p.Base} {
		wait, ends := p.Pause(t.Context(), attempt, 0)
		if ends != nil || wait < base/2 || wait > base*3/2 {
			t.Errorf("attempt %d: %s, %v", attempt, wait, ends)
		}
	}
	if _, ends := p.Pause(t.Context(), 4, 0); !errors.Is(ends, retry.ErrEnough) {
		t.Errorf("a fifth attempt: %v", ends)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ends := p.Pause(ctx, 1, time.Second); !errors.Is(ends, context.Canceled) {
		t.Errorf("after the context ended: %v", ends)
	}
	if err := retry.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("Sleep in an ended context gives %v", err)
	}
}

// A pause that is asked for is made as far as the time allows, and never cut short.
func TestAnAskedPauseIsHonouredWithinTheTime(t *testing.T) {
	for name, tt := range map[string]struct {
		deadline, asked time.Duration
		most            time.Duration
		says            string
	}{
		"short":                         {time.Hour, 7 * time.Second, 10500 * time.Millisecond, ""},
		"long":                          {time.Hour, 10 * time.Minute, 10*time.Minute + 10*time.Second, ""},
		"about all that is left":        {time.Minute, 59 * time.Second, 59500 * time.Millisecond, ""},
		"longer than what is left":      {time.Minute, 61 * time.Second, 0, "it asks to wait 1m1s, and "},
		"far longer than what is left":  {time.Hour, 3 * time.Hour, 0, " is left of the time that this may take"},
		"without a deadline":            {0, 100 * time.Second, 110 * time.Second, ""},
		"too long without any deadline": {0, time.Hour, 0, "it asks to wait 1h0m0s, and no more than 2m0s is waited"},
	} {
		t.Run(name, func(t *testing.T) {
			p := retry.Policy{}.WithDefaults()
			ctx := t.Context()
			if tt.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.deadline)
				defer cancel()
			}
			waits := map[time.Duration]bool{}
			for range 20 {
				wait, ends := p.Pause(ctx, 1, tt.asked)
				var long *retry.TooLong
				if errors.As(ends, &long) != (tt.says != "") || ends != nil && !strings.Contains(ends.Error(), tt.says) {
					t.Fatalf("%s, %v", wait, ends)
				}
				if ends == nil && (wait < tt.asked || wait > tt.most) {
					t.Errorf("waits %s, want %s to %s", wait, tt.asked, tt.most)
				}
				waits[wait] = true
			}
			if len(waits) < 2 && tt.says == "" {
				t.Error("everybody waits equally long")
			}
		})
	}
}

func TestTransientIsWhatMayPass(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	// A real refusal of each kind that crypto/tls keeps to itself.
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	get := func(address string, config *tls.Config) error {
		transport := &http.Transport{TLSClientConfig: config}
		defer transport.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	for name, tt := range map[string]struct {
		failure retry.Failure
		want    bool
	}{
		"429":                    {retry.Failure{Status: 429}, true},
		"503":                    {retry.Failure{Status: 503}, true},
		"404":                    {retry.Failure{Status: 404}, false},
		"cut short":              {retry.Failure{Status: 200, Spoiled: true, Cause: io.ErrUnexpectedEOF}, true},
		"nothing known":          {retry.Failure{Message: "the token service answered 404"}, false},
		"cancelled":              {retry.Failure{Cause: fmt.Errorf("x: %w", context.Canceled)}, false},
		"time-out":               {retry.Failure{Cause: context.DeadlineExceeded}, true},
		"dial time-out":          {retry.Failure{Cause: dial(os.ErrDeadlineExceeded)}, true},
		"connection refused":     {retry.Failure{Cause: dial(syscall.ECONNREFUSED)}, true},
		"no route to host":       {retry.Failure{Cause: dial(syscall.EHOSTUNREACH)}, true},
		"network is unreachable": {retry.Failure{Cause: dial(syscall.ENETUNREACH)}, true},
		"end":                    {retry.Failure{Cause: io.EOF}, true},
		"stream of HTTP/2":       {retry.Failure{Cause: errors.New("stream error: stream ID 1; REFUSED_STREAM")}, true},
		"server closes HTTP/2":   {retry.Failure{Cause: errors.New("http2: server sent GOAWAY and closed the connection")}, true},
		"names fail in passing":  {retry.Failure{Cause: dial(&net.DNSError{Err: "server misbehaving", IsTemporary: true})}, true},
		"names not in time":      {retry.Failure{Cause: dial(&net.DNSError{Err: "i/o timeout", IsTimeout: true, IsNotFound: true})}, true},
		"no such host":           {retry.Failure{Cause: dial(&net.DNSError{Err: "no such host", IsNotFound: true})}, false},
		"not an address":         {retry.Failure{Cause: dial(&net.AddrError{Err: "missing port in address"})}, false},
		"malformed address":      {retry.Failure{Cause: get("http://[::1", nil)}, false},
		"untrusted certificate":  {retry.Failure{Cause: get(server.URL, nil)}, false},
		"plain HTTP for TLS":     {retry.Failure{Cause: get(strings.Replace(plain(t), "http:", "https:", 1), nil)}, false},
		"alert":                  {retry.Failure{Cause: get(server.URL, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})}, false},
		"passing alert":          {retry.Failure{Cause: &net.OpError{Op: "remote error", Err: tls.AlertError(80)}}, true},
		"no TLS at all":          {retry.Failure{Cause: get("https://"+talking(t, "SSH-2.0-server\r\n"), nil)}, false},
		"not a network address":  {retry.Failure{Cause: dial(&net.ParseError{Type: "IP address", Text: "::x"})}, false},
		"proxy asks for a login": {retry.Failure{Cause: through(t, 407)}, false},
		"proxy forbids the host": {retry.Failure{Cause: through(t, 403)}, false},
		"proxy limits":           {retry.Failure{Cause: through(t, 429)}, true},
		"proxy reaches nobody":   {retry.Failure{Cause: through(t, 502)}, true},
		"our own":                {retry.Failure{Cause: &url.Error{Op: "Get", Err: retry.Final(errors.New("too many redirects"))}}, false},
	} {
		if got := tt.failure.Transient(); got != tt.want {
			t.Errorf("%s: %t: %v", name, got, tt.failure.Cause)
		}
	}
}

// plain is the address of a server without TLS.
func plain(t *testing.T) string {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL
}

// talking is the address of a server that says words before it is asked anything.
func talking(t *testing.T, words string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(connection, words)
			_, _ = connection.Read(make([]byte, 1<<10)) // What is unread would reset the connection.
			_ = connection.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return listener.Addr().String()
}

// through is the error of a request that goes by a proxy which answers with that status.
func through(t *testing.T, status int) error {
	t.Helper()
	proxy := retrytest.RefusingProxy(t, status)
	proxy.URL.User = url.UserPassword("ci", "cnry-proxy")
	transport := &http.Transport{Proxy: proxy.For, OnProxyConnectResponse: retry.FromProxy}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://service.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

func TestAProxyThatRefusesIsNamedAndTheRequestIsUnsent(t *testing.T) {
	err := through(t, 407)
	var refused *retry.ProxyError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "the proxy "+refused.Host+" did not let the request through: 407 Proxy Authentication Required") || strings.Contains(err.Error(), "cnry") {
		t.Errorf("got %v", err)
	}
	if failed := (retry.Failure{Cause: err}); !failed.Unsent() || failed.Unclear() {
		t.Error("a request that no proxy took counts as sent")
	}
}

func TestALongPauseIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		asked, wait time.Duration
		told        bool
	}{
		"long": {19 * time.Minute, 19 * time.Minute, true}, "short": {20 * time.Second, 25 * time.Second, false}, "not asked for": {0, time.Minute, false},
	} {
		var log strings.Builder
		retry.Tell(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), "ghcr.io", tt.asked, tt.wait)
		if got := log.String(); tt.told != (strings.Contains(got, "level=WARN") && strings.Contains(got, "host=ghcr.io wait=19m0s until=2")) || !tt.told && got != "" {
			t.Errorf("%s: the log is %q", name, got)
		}
	}
}

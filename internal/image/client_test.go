package image

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry/retrytest"
)

const someDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestHeadCostsOneRequest(t *testing.T) {
	f := newFake(t)
	digest := f.manifest(map[string]any{"schemaVersion": 2}, ocispec.MediaTypeImageManifest, "v1")
	c, _ := newClient(t, loginOf("p"))
	got, err := c.Head(t.Context(), f.repo, "v1")
	if err != nil || got != (Descriptor{Digest: digest, MediaType: ocispec.MediaTypeImageManifest, Size: 19}) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if log := f.requests(); !slices.Equal(log, []string{"HEAD manifests/v1"}) {
		t.Errorf("requests: %q", log)
	}
}

func TestHeadWithoutDigestHeaderReadsTheContent(t *testing.T) {
	f := newFake(t)
	bare := answering(http.StatusOK, ocispec.MediaTypeImageManifest, `{"schemaVersion":2}`)
	f.on("HEAD", "manifests/v1", bare)
	f.on("GET", "manifests/v1", bare)
	c, _ := newClient(t, nil)
	got, err := c.Head(t.Context(), f.repo, "v1")
	if err != nil || got.Digest != digestOf([]byte(`{"schemaVersion":2}`)) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestOnlyNotFoundMeansGone is the fault table of a refresh and a delete: what each answer of a registry means, and
// how often it is asked.
func TestOnlyNotFoundMeansGone(t *testing.T) {
	html := "<html><body>\n<h1>Bad  Gateway</h1></body></html>"
	tests := map[string]struct {
		answer                      http.HandlerFunc
		status, asked               int
		notFound, denied, transient bool
		words, advice               string
	}{
		"404 MANIFEST_UNKNOWN": {registryError(404, "MANIFEST_UNKNOWN", "manifest unknown"), 404, 1, true, false, false, "404 Not Found: MANIFEST_UNKNOWN: manifest unknown", "name"},
		"404 NAME_UNKNOWN":     {registryError(404, "NAME_UNKNOWN", "no repo"), 404, 1, true, false, false, "404 Not Found: NAME_UNKNOWN: no repo", "name"},
		"401":                  {registryError(401, "UNAUTHORIZED", "log in"), 401, 1, false, true, false, "401 Unauthorized: UNAUTHORIZED: log in", "credentials"},
		"403":                  {registryError(403, "DENIED", "not yours"), 403, 1, false, true, false, "403 Forbidden: DENIED: not yours", "credentials"},
		"403 text":             {answering(403, "text/plain", "token no longer valid\n"), 403, 1, false, true, false, "403 Forbidden: token no longer valid", "credentials"},
		"403 empty":            {answering(403, "", ""), 403, 1, false, true, false, "403 Forbidden", "credentials"},
		"429":                  {registryError(429, "TOOMANYREQUESTS", "slow down"), 429, 4, false, false, true, "429 Too Many Requests: TOOMANYREQUESTS: slow down", "later"},
		"500":                  {answering(500, "application/json", "{"), 500, 4, false, false, true, "500 Internal Server Error: {", "reachable"},
		"502 HTML":             {answering(502, "text/html", html), 502, 4, false, false, true, "502 Bad Gateway: <html><body> <h1>Bad Gateway</h1></body></html>", "reachable"},
		"truncated JSON":       {answering(200, ocispec.MediaTypeImageManifest, `{"schemaVersion":`), 0, 4, false, false, true, "the registry gave sha256:", "reachable"},
		"short body":           {cutShort, 0, 4, false, false, true, "cut short", "reachable"},
		"wrong digest":         {serve([]byte(`{}`), ocispec.MediaTypeImageManifest, someDigest), 0, 4, false, false, true, "does not have the digest", "reachable"},
		"hung up":              {hangUp, 0, 4, false, false, true, "EOF", "reachable"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("GET", "manifests/"+someDigest, tt.answer)
			c, pauses := newClient(t, nil)
			_, err := c.Inspect(t.Context(), f.repo.WithDigest(someDigest))
			p, e := asProblem(t, err)
			if e.Status != tt.status || NotFound(err) != tt.notFound || Denied(err) != tt.denied || Transient(err) != tt.transient {
				t.Errorf("status %d, not found %v, denied %v, transient %v", e.Status, NotFound(err), Denied(err), Transient(err))
			}
			if asked := len(f.requests()); asked != tt.asked || len(pauses.pause) != tt.asked-1 {
				t.Errorf("%d requests and %d pauses, want %d requests", asked, len(pauses.pause), tt.asked)
			}
			if prefix := "GET " + f.repo.String() + "@" + someDigest + ": "; !strings.HasPrefix(e.Error(), prefix) {
				t.Errorf("%q does not begin with %q", e.Error(), prefix)
			}
			want(t, e.Error(), tt.words)
			want(t, p.Object, f.repo.String()+"@"+someDigest)
			want(t, p.Advice, tt.advice)
			want(t, p.Advice, f.repo.Host)
			if strings.Contains(p.Detail(), "invalid character") || strings.Contains(p.Detail(), "unexpected end of JSON") {
				t.Errorf("a parse error is shown: %s", p.Detail())
			}
		})
	}
}

func TestDeleteMeansOfEachAnswer(t *testing.T) {
	tests := map[string]struct {
		answer http.HandlerFunc
		asked  int
		title  string
		words  string
	}{
		"202":              {answering(202, "", ""), 1, "", ""},
		"404":              {registryError(404, "MANIFEST_UNKNOWN", ""), 1, "", ""},
		"404 NAME_UNKNOWN": {registryError(404, "NAME_UNKNOWN", ""), 1, "", ""},
		"401":              {registryError(401, "UNAUTHORIZED", ""), 1, "Registry refused to delete the image", "credentials"},
		"403":              {registryError(403, "DENIED", ""), 1, "Registry refused to delete the image", "credentials"},
		"405":              {registryError(405, "UNSUPPORTED", ""), 1, "Registry does not allow images to be deleted", "Allow deletion in"},
		"429":              {answering(429, "", ""), 4, "Image could not be deleted", ""},
		"500":              {answering(500, "", ""), 4, "Image could not be deleted", ""},
		"hung up":          {hangUp, 4, "Image could not be deleted", "EOF"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("DELETE", "manifests/"+someDigest, tt.answer)
			c, _ := newClient(t, nil)
			err := c.Delete(t.Context(), f.repo, someDigest)
			if asked := len(f.requests()); asked != tt.asked {
				t.Errorf("%d requests, want %d", asked, tt.asked)
			}
			if tt.title == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			p, _ := asProblem(t, err)
			if p.Title != tt.title {
				t.Errorf("title %q", p.Title)
			}
			want(t, p.Detail(), tt.words)
			want(t, p.Detail(), f.repo.String())
		})
	}
}

func TestConnectionRefusedIsAskedAgainAndIsNotGone(t *testing.T) {
	f := newFake(t)
	f.server.Close()
	c, pauses := newClient(t, nil)
	_, err := c.Head(t.Context(), f.repo, "v1")
	p, e := asProblem(t, err)
	if NotFound(err) || !Transient(err) || len(pauses.pause) != 3 {
		t.Errorf("not found %v, transient %v, %d pauses", NotFound(err), Transient(err), len(pauses.pause))
	}
	want(t, e.Error(), "connection refused")
	want(t, p.Advice, "reachable")
}

// brokenOnce fails the first request in a way of its own.
type brokenOnce struct {
	failure error
	sent    atomic.Int32
}

func (b *brokenOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.sent.Add(1) == 1 {
		return nil, b.failure
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestWhatTheNetworkDoesOnceIsAskedAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		failure error
		asked   int32
	}{
		"dial time-out":     {&net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}, 2},
		"time-out":          {context.DeadlineExceeded, 2},
		"no route":          {&net.OpError{Op: "dial", Net: "tcp", Err: syscall.EHOSTUNREACH}, 2},
		"names for a while": {&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "server misbehaving", Name: "r.example", IsTemporary: true}}, 2},
		"no such host":      {&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "r.example", IsNotFound: true}}, 1},
		"certificate":       {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.manifest(map[string]any{"schemaVersion": 2}, ocispec.MediaTypeImageManifest, "v1")
			transport, pauses := &brokenOnce{failure: tt.failure}, &waits{}
			_, err := New(Options{Transport: transport, Retry: retry.Policy{Sleep: pauses.sleep}}).Head(t.Context(), f.repo, "v1")
			if (err == nil) != (tt.asked == 2) || transport.sent.Load() != tt.asked {
				t.Errorf("%d requests: %v", transport.sent.Load(), err)
			}
		})
	}
}

// A server that is slow once is asked again, though Go's own word for it is that of an ended deadline.
func TestASlowAnswerIsAskedForAgain(t *testing.T) {
	f := newFake(t)
	raw := []byte(`{"schemaVersion":2}`)
	ended := make(chan struct{})
	f.on("HEAD", "manifests/v1", func(http.ResponseWriter, *http.Request) { <-ended }, serve(raw, ocispec.MediaTypeImageManifest, digestOf(raw)))
	defer close(ended)
	pauses, transport := &waits{}, &http.Transport{ResponseHeaderTimeout: 200 * time.Millisecond}
	defer transport.CloseIdleConnections()
	if _, err := New(Options{Transport: transport, Retry: retry.Policy{Sleep: pauses.sleep}}).Head(t.Context(), f.repo, "v1"); err != nil || len(f.requests()) < 2 {
		t.Errorf("after %q: %v", f.requests(), err)
	}
}

// What we refuse ourselves would be refused again.
func TestOurOwnRefusalsAreNotRepeated(t *testing.T) {
	for name, tt := range map[string]struct {
		location, words string
		asked           int
	}{
		"loop": {"/v2/env/manifests/v1", "it redirects more than 10 times", 10}, "another scheme": {"ftp://r.example/", `it redirects to an address of "ftp"`, 1},
		"no address": {"http://[::1", "failed to parse Location header", 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("HEAD", "manifests/v1", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", tt.location)
				w.WriteHeader(http.StatusTemporaryRedirect)
			})
			c, pauses := newClient(t, nil)
			_, err := c.Head(t.Context(), f.repo, "v1")
			if err == nil || !strings.Contains(err.Error(), tt.words) || len(f.requests()) != tt.asked || len(pauses.pause) > 0 {
				t.Errorf("got %v after %q", err, f.requests())
			}
		})
	}
	f := newFake(t)
	f.on("HEAD", "manifests/v1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	for name, failure := range map[string]error{
		"no helper": errors.New("no helper"),
		"no STS":    &problem.Problem{Title: "STS is out of reach", Cause: &url.Error{Op: "Post", URL: "https://sts.example/", Err: errors.New("EOF")}},
	} {
		before := len(f.requests())
		c, pauses := newClient(t, login(func(context.Context, string) (Credential, error) { return Credential{}, failure }))
		_, err := c.Head(t.Context(), f.repo, "v1")
		var said *problem.Problem
		if err == nil || len(f.requests()) != before+1 || len(pauses.pause) > 0 || errors.As(failure, &said) && CredentialProblem(err) == nil {
			t.Errorf("a credential that cannot be had, %s: %v after %q", name, err, f.requests())
		}
	}
}

// What the token service answered in full it would answer again; one that was cut short is another matter.
func TestATokenThatCannotBeHadIsAskedForOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		realm  string
		token  http.HandlerFunc
		pauses int
	}{
		"another scheme":   {"ftp://tokens.example/", nil, 0},
		"no address":       {"http://[::1", nil, 0},
		"no token":         {"", answering(200, "application/json", `{}`), 0},
		"portal":           {"", answering(200, "text/html", "<html>sign in</html>"), 0},
		"of another shape": {"", answering(200, "application/json", `{"token":1}`), 0},
		"cut short":        {"", answering(200, "application/json", `{"token":`), 3},
		"nothing":          {"", answering(200, "application/json", ""), 3},
		"unavailable":      {"", answering(503, "text/plain", "busy"), 3},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			if tt.realm == "" {
				tokens := httptest.NewServer(tt.token)
				defer tokens.Close()
				tt.realm = tokens.URL
			}
			f.on("HEAD", "manifests/v1", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", `Bearer realm="`+tt.realm+`",service="s"`)
				w.WriteHeader(http.StatusUnauthorized)
			})
			c, pauses := newClient(t, nil)
			if _, err := c.Head(t.Context(), f.repo, "v1"); err == nil || len(pauses.pause) != tt.pauses {
				t.Errorf("got %v after %d pauses, want %d", err, len(pauses.pause), tt.pauses)
			}
		})
	}
}

// A login that a proxy refuses must not be sent again: that may lock the account.
func TestAProxysRefusalIsAskedForOnce(t *testing.T) {
	for _, status := range []int{http.StatusProxyAuthRequired, http.StatusForbidden} {
		proxy := retrytest.RefusingProxy(t, status)
		transport, is := NewTransport().(*http.Transport)
		if !is {
			t.Fatal("the transport is not net/http's")
		}
		transport.Proxy = proxy.For
		repo, err := reference.ParseRepository("registry.example.com/team/env")
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(Options{Transport: transport}).Head(t.Context(), repo, "v1")
		p, _ := asProblem(t, err)
		if said := p.Detail(); proxy.Asked() != 1 || !strings.Contains(said, "the proxy "+proxy.URL.Host) || !strings.Contains(said, "Check HTTPS_PROXY") || strings.Contains(said, "also when asked again") {
			t.Errorf("asked %d times: %s", proxy.Asked(), said)
		}
	}
}

func TestALongPauseIsToldInTheLog(t *testing.T) {
	f := newFake(t)
	raw := []byte(`{"schemaVersion":2}`)
	f.on("HEAD", "manifests/v1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	}, serve(raw, ocispec.MediaTypeImageManifest, digestOf(raw)))
	var log strings.Builder
	pauses, transport := &waits{}, &http.Transport{}
	defer transport.CloseIdleConnections()
	c := New(Options{Transport: transport, Retry: retry.Policy{Sleep: pauses.sleep}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if _, err := c.Head(t.Context(), f.repo, "v1"); err != nil || !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "host="+f.repo.Host) {
		t.Errorf("%v; the log is %q", err, log.String())
	}
}

func TestAPassingFailureEndsWell(t *testing.T) {
	f := newFake(t)
	raw := []byte(`{"schemaVersion":2}`)
	good := serve(raw, ocispec.MediaTypeImageManifest, digestOf(raw))
	f.on("HEAD", "manifests/v1", answering(503, "", ""), hangUp, good)
	c, pauses := newClient(t, nil)
	if _, err := c.Head(t.Context(), f.repo, "v1"); err != nil {
		t.Fatal(err)
	}
	base := 500 * time.Millisecond
	for i, pause := range pauses.pause {
		if low, high := base<<i/2, base<<i*3/2; pause < low || pause > high {
			t.Errorf("pause %d is %s, want %s to %s", i, pause, low, high)
		}
	}
	if len(f.requests()) != 3 {
		t.Errorf("requests: %q", f.requests())
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		name, value string
		within      time.Duration
		want        time.Duration
	}{
		"seconds":                 {"Retry-After", "7", 0, 7 * time.Second},
		"lower case":              {"retry-after", "7", 0, 7 * time.Second},
		"date":                    {"Retry-After", now.Add(9 * time.Second).Format(http.TimeFormat), 0, 9 * time.Second},
		"longer than we wait":     {"Retry-After", "3600", 0, 0},
		"date far in the time":    {"Retry-After", now.Add(time.Hour).Format(http.TimeFormat), 0, 0},
		"long, and there is time": {"Retry-After", "1800", time.Hour, 30 * time.Minute},
		"longer than is left":     {"Retry-After", "1800", 20 * time.Minute, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("HEAD", "manifests/v1", func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Date"] = []string{now.Format(http.TimeFormat)}
				w.Header()[tt.name] = []string{tt.value}
				w.WriteHeader(http.StatusTooManyRequests)
			}, serve([]byte("{}"), ocispec.MediaTypeImageManifest, someDigest))
			c, pauses := newClient(t, nil)
			ctx := t.Context()
			if tt.within > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.within)
				defer cancel()
			}
			_, err := c.Head(ctx, f.repo, "v1")
			if tt.want == 0 {
				if err == nil || !strings.Contains(err.Error(), "429 Too Many Requests: it asks to wait ") || len(pauses.pause) > 0 {
					t.Errorf("got %v after %v", err, pauses.pause)
				}
				return
			}
			if err != nil || len(pauses.pause) != 1 || pauses.pause[0] < tt.want || pauses.pause[0] > tt.want*3/2 {
				t.Errorf("waited %v, want %s: %v", pauses.pause, tt.want, err)
			}
		})
	}
}

func TestAWaitBeyondTheDeadlineIsNotBegun(t *testing.T) {
	f := newFake(t)
	f.on("HEAD", "manifests/v1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "100")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	c, pauses := newClient(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Head(ctx, f.repo, "v1"); !Transient(err) || len(pauses.pause) != 0 {
		t.Errorf("got %v after %v", err, pauses.pause)
	}
}

func TestCancelDuringAPauseIsSeen(t *testing.T) {
	f := newFake(t)
	f.on("HEAD", "manifests/v1", answering(503, "", ""))
	ctx, cancel := context.WithCancel(t.Context())
	c := New(Options{Retry: retry.Policy{Sleep: func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	}}})
	_, err := c.Head(ctx, f.repo, "v1")
	if !errors.Is(err, context.Canceled) || Transient(err) || len(f.requests()) != 1 {
		t.Errorf("got %v after %q", err, f.requests())
	}
}

// What the registry answered before time ran out, in a request that was asked again, is what a person needs to know.
func TestTheWordsBeforeTimeRanOutAreKept(t *testing.T) {
	f := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int32
	f.on("HEAD", "manifests/v1", func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			answering(503, "", "")(w, r)
			return
		}
		cancel()
		<-r.Context().Done()
	})
	c, _ := newClient(t, nil)
	_, err := c.Head(ctx, f.repo, "v1")
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "503 Service Unavailable") || asked.Load() != 2 {
		t.Errorf("got %v after %d requests", err, asked.Load())
	}
}

func TestUploadIsRepeatedOn429Only(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		asked  int
	}{
		"429": {answering(429, "", ""), 4}, "503": {answering(503, "", ""), 1}, "hung up": {hangUp, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("POST", "blobs/uploads/", tt.answer)
			c, _ := newClient(t, nil)
			err := c.ProbePush(t.Context(), f.repo)
			if err == nil || len(f.requests()) != tt.asked {
				t.Errorf("got %v after %d requests, want %d", err, len(f.requests()), tt.asked)
			}
		})
	}
}

func TestARegistrysWordsAreMaskedAndCut(t *testing.T) {
	const password = "cnry-password-1"
	f := newFake(t)
	f.on("GET", "manifests/v1", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		encoded := base64.StdEncoding.EncodeToString([]byte("u:" + password))
		answering(403, "text/plain", "no "+password+" nor "+encoded+strings.Repeat(" é", 1000))(w, r)
	})
	c, _ := newClient(t, loginOf(password))
	_, err := c.Inspect(t.Context(), f.repo.WithTag("v1"))
	p, e := asProblem(t, err)
	want(t, e.Message, "no [redacted] nor [redacted]")
	if n := len([]rune(e.Message)); n != maxQuote {
		t.Errorf("the message has %d letters", n)
	}
	if text := p.Detail() + p.Error(); strings.Contains(text, "cnry") || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("u:"+password))) {
		t.Errorf("a secret shows: %s", text)
	}
}

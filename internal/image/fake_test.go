package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// fake is a registry whose answers are programmed: per "METHOD /path" the handlers in turn, the last one for ever.
type fake struct {
	repo   reference.Repository
	server *httptest.Server

	mu      sync.Mutex
	answers map[string][]http.HandlerFunc
	log     []string
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{answers: map[string][]http.HandlerFunc{}}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Method + " " + r.URL.Path
		f.mu.Lock()
		f.log = append(f.log, r.Method+" "+strings.TrimPrefix(r.URL.RequestURI(), "/v2/env/"))
		queue := f.answers[key]
		if len(queue) > 1 {
			f.answers[key] = queue[1:]
		}
		f.mu.Unlock()
		if len(queue) == 0 {
			registryError(http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown")(w, r)
			return
		}
		queue[0](w, r)
	}))
	t.Cleanup(f.server.Close)
	f.repo = reference.Repository{Host: strings.TrimPrefix(f.server.URL, "http://"), Path: "env"}
	return f
}

// on programs what METHOD below /v2/env/ answers.
func (f *fake) on(method, path string, answers ...http.HandlerFunc) {
	f.answers[method+" /v2/env/"+path] = answers
}

// manifest serves content by digest and under the tags given, for GET and HEAD, and gives its digest.
func (f *fake) manifest(content any, mediaType string, tags ...string) string {
	raw, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	digest := digestOf(raw)
	for _, name := range append(tags, digest) {
		f.on("GET", "manifests/"+name, serve(raw, mediaType, digest))
		f.on("HEAD", "manifests/"+name, serve(raw, mediaType, digest))
	}
	return digest
}

func (f *fake) blob(content any) (digest string, size int) {
	raw, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	digest = digestOf(raw)
	f.on("GET", "blobs/"+digest, serve(raw, "application/octet-stream", digest))
	return digest, len(raw)
}

func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.log...)
}

func serve(raw []byte, mediaType, digest string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Docker-Content-Digest", digest)
		w.Header().Set("Content-Length", fmt.Sprint(len(raw)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(raw)
		}
	}
}

func answering(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func registryError(status int, code, message string) http.HandlerFunc {
	return answering(status, "application/json", fmt.Sprintf(`{"errors":[{"code":%q,"message":%q}]}`, code, message))
}

// hangUp closes the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// cutShort promises more than it sends.
func cutShort(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"schemaVersion":`)
}

// waits records the pauses that a client would make.
type waits struct {
	mu    sync.Mutex
	pause []time.Duration
}

func (w *waits) sleep(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pause = append(w.pause, d)
	return ctx.Err()
}

func newClient(t *testing.T, credentials Credentials) (*Client, *waits) {
	t.Helper()
	w := &waits{}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return New(Options{Credentials: credentials, Transport: transport, Retry: retry.Policy{Sleep: w.sleep}}), w
}

type login func(ctx context.Context, host string) (Credential, error)

func (f login) Credential(ctx context.Context, host string) (Credential, error) { return f(ctx, host) }

// loginOf is the credential of the user "u".
func loginOf(text string) Credentials {
	return login(func(context.Context, string) (Credential, error) {
		return Credential{Username: "u", Password: secret.New(text)}, nil
	})
}

// asProblem wants a problem with a request's error within.
func asProblem(t *testing.T, err error) (*problem.Problem, *Error) {
	t.Helper()
	var p *problem.Problem
	var e *Error
	if !errors.As(err, &p) {
		t.Fatalf("got %v, want a problem", err)
	}
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a request's error within", err)
	}
	return p, e
}

func want(t *testing.T, got, expected string) {
	t.Helper()
	if !strings.Contains(got, expected) {
		t.Errorf("%q is not in:\n%s", expected, got)
	}
}

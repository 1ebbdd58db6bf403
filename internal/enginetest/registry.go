package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

// Registry is a registry of one test, distribution v3 or Debian's docker-registry 2.8, behind a proxy that logs requests
// and applies middleware.
type Registry struct {
	// Host is "127.0.0.1:port".
	Host string

	backend *engine.Registry
	mu      sync.Mutex
	log     []Request
}

// Request is one request as the registry's clients made it.
type Request struct {
	Method string
	Path   string
	Query  string
	// Status is what was answered, 0 if the connection was cut.
	Status int
}

// String is "PUT /v2/repository/manifests/tag 201".
func (r Request) String() string {
	target := r.Path
	if r.Query != "" {
		target += "?" + r.Query
	}
	return fmt.Sprintf("%s %s %d", r.Method, target, r.Status)
}

// StartRegistry starts an empty distribution v3 registry that ends with the test. The first middleware sees a request
// first; the request log is before all of them.
func StartRegistry(t testing.TB, middleware ...func(http.Handler) http.Handler) *Registry {
	t.Helper()
	return startRegistry(t, "registry", func(env *Env) string { return env.RegistryProgram }, middleware)
}

// StartDebianRegistry is StartRegistry of Debian's docker-registry 2.8, which deletes by digest only.
func StartDebianRegistry(t testing.TB, middleware ...func(http.Handler) http.Handler) *Registry {
	t.Helper()
	return startRegistry(t, "docker-registry", func(env *Env) string { return env.DebianRegistryProgram }, middleware)
}

// startRegistry runs the program that the engine has, or makes the tool where there is no engine.
func startRegistry(t testing.TB, tool string, programOf func(*Env) string, middleware []func(http.Handler) http.Handler) *Registry {
	t.Helper()
	env, err := readEnv()
	if err != nil {
		t.Fatal(err)
	}
	var program string
	if env != nil {
		program = programOf(env)
	} else {
		paths, err := engine.Tools(t.Context(), os.Stderr, tool)
		if err != nil {
			t.Fatal(err)
		}
		program = paths[tool]
	}
	backend, err := engine.StartRegistry(t.Context(), program, filepath.Join(t.TempDir(), "registry"), "unix", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Stop)

	r := &Registry{backend: backend}
	transport := backend.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	var handler http.Handler = &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: p.In.Host})
			p.Out.Host = p.In.Host
			// Middleware alone decides who gets in.
			p.Out.Header.Del("Authorization")
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	for _, wrap := range slices.Backward(middleware) {
		handler = wrap(handler)
	}
	server := httptest.NewServer(r.logged(handler))
	t.Cleanup(server.Close)
	r.Host = strings.TrimPrefix(server.URL, "http://")
	return r
}

// Requests gives what was asked since the start or ResetRequests, in the order of the answers.
func (r *Registry) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.log)
}

// ResetRequests empties the request log.
func (r *Registry) ResetRequests() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = nil
}

// Left gives every tag ("repository:tag"), every manifest that still answers ("repository@sha256:…") and every upload
// that was neither finished nor cancelled ("repository upload id"), as they are on disk. Middleware is not asked.
func (r *Registry) Left(t testing.TB) []string {
	t.Helper()
	content, err := engine.Contents(r.backend.Storage)
	if err != nil {
		t.Fatal(err)
	}
	left := content.Tags
	for _, manifest := range content.Manifests {
		if r.answers(t, manifest) {
			left = append(left, manifest)
		}
	}
	return append(left, content.Uploads...)
}

// Storage is the directory with the registry's data.
func (r *Registry) Storage() string { return r.backend.Storage }

// PushBase puts the base image of the shared engine into this registry too, past all middleware, and gives its
// reference by digest.
func (r *Registry) PushBase(t testing.TB) string {
	t.Helper()
	return r.push(t, engine.PushBase, Engine(t).BaseLayer)
}

// PushPlainDebian is PushBase of the plain Debian image.
func (r *Registry) PushPlainDebian(t testing.TB) string {
	t.Helper()
	return r.push(t, engine.PushPlainDebian, Engine(t).PlainDebianLayer)
}

// PushOfficialPython is PushBase of the image laid out as Docker Official's python.
func (r *Registry) PushOfficialPython(t testing.TB) string {
	t.Helper()
	return r.push(t, engine.PushOfficialPython, Engine(t).OfficialPythonLayer)
}

func (r *Registry) push(t testing.TB, push func(context.Context, *http.Client, string, string) (string, error), layer string) string {
	t.Helper()
	reference, err := push(t.Context(), &http.Client{Transport: r.backend.Transport()}, r.Host, layer)
	if err != nil {
		t.Fatal(err)
	}
	return reference
}

// Children gives the digests that an index lists; none for a manifest. Middleware is not asked.
func (r *Registry) Children(t testing.TB, repository, digest string) []string {
	t.Helper()
	body, found := r.manifest(t, repository, digest)
	if !found {
		t.Fatalf("%s@%s is not in the registry", repository, digest)
	}
	var index struct{ Manifests []struct{ Digest string } }
	if err := json.Unmarshal(body, &index); err != nil {
		t.Fatal(err)
	}
	var children []string
	for _, child := range index.Manifests {
		children = append(children, child.Digest)
	}
	return children
}

func (r *Registry) answers(t testing.TB, manifest string) bool {
	t.Helper()
	repository, digest, _ := strings.Cut(manifest, "@")
	_, found := r.manifest(t, repository, digest)
	return found
}

// manifest reads a manifest past all middleware.
func (r *Registry) manifest(t testing.TB, repository, digest string) (body []byte, found bool) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://registry/v2/"+repository+"/manifests/"+digest, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Distribution answers 404 for a form of manifest that the client did not name.
	request.Header["Accept"] = []string{
		ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex,
		"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json",
	}
	transport := r.backend.Transport()
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNotFound {
		t.Fatalf("GET %s@%s: %s", repository, digest, response.Status)
	}
	return body, response.StatusCode == http.StatusOK
}

func (r *Registry) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		recorder := &statusRecorder{ResponseWriter: w}
		entry := Request{Method: request.Method, Path: request.URL.Path, Query: request.URL.RawQuery}
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			entry.Status = recorder.status
			r.log = append(r.log, entry)
		}()
		next.ServeHTTP(recorder, request)
	})
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (s *statusRecorder) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusRecorder) Write(data []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach what the server gave.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }

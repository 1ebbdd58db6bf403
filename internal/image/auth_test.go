package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// basic asks for one of the logins that valid accepts.
func basic(valid func(name, password string) bool, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if name, password, ok := r.BasicAuth(); !ok || !valid(name, password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}

var emptyManifest = serve([]byte("{}"), ocispec.MediaTypeImageManifest, someDigest)

func TestBasicLoginIsAskedForOnceAndThenSent(t *testing.T) {
	f := newFake(t)
	f.on("HEAD", "manifests/v1", basic(func(n, p string) bool { return n == "u" && p == "p" }, emptyManifest))
	var asked []string
	c, _ := newClient(t, login(func(_ context.Context, host string) (Credential, error) {
		asked = append(asked, host)
		return Credential{Username: "u", Password: secret.New("p")}, nil
	}))
	for range 3 {
		if _, err := c.Head(t.Context(), f.repo, "v1"); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(asked, []string{f.repo.Host}) || len(f.requests()) != 4 {
		t.Errorf("credentials asked for %q, requests %q", asked, f.requests())
	}
}

func TestAClientDoesNotPrintWhatItSent(t *testing.T) {
	f := newFake(t)
	f.on("HEAD", "manifests/v1", basic(func(string, string) bool { return true }, emptyManifest))
	c, _ := newClient(t, loginOf("cnry-1"))
	if _, err := c.Head(t.Context(), f.repo, "v1"); err != nil {
		t.Fatal(err)
	}
	if c.sent[f.repo.Host].Password.Reveal() != "cnry-1" {
		t.Fatal("nothing was sent")
	}
	if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, "cnry") {
		t.Errorf("a secret shows: %s", text)
	}
}

func TestAnExpiredLoginIsAskedForAgain(t *testing.T) {
	f := newFake(t)
	valid := "t1"
	f.on("HEAD", "manifests/v1", basic(func(_, p string) bool { return p == valid }, emptyManifest))
	given := "t1"
	c, _ := newClient(t, login(func(context.Context, string) (Credential, error) {
		return Credential{Username: "AWS", Password: secret.New(given)}, nil
	}))
	if _, err := c.Head(t.Context(), f.repo, "v1"); err != nil {
		t.Fatal(err)
	}
	valid, given = "t2", "t2"
	if _, err := c.Head(t.Context(), f.repo, "v1"); err != nil {
		t.Fatal(err)
	}
}

// C09: ECR answers 403 to a login token that has ended, which asks for no other, so that it is replaced before it ends.
func TestALoginIsReplacedBeforeItEnds(t *testing.T) {
	f := newFake(t)
	valid, given := "t1", "t1"
	f.on("HEAD", "manifests/v1", basic(func(string, string) bool { return true }, func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != valid {
			answering(http.StatusForbidden, "text/plain", "Your authorization token has expired.")(w, r)
			return
		}
		emptyManifest(w, r)
	}))
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	asked := 0
	c := New(Options{Now: func() time.Time { return now }, Credentials: login(func(context.Context, string) (Credential, error) {
		asked++
		return Credential{Username: "AWS", Password: secret.New(given), RenewAt: now.Add(time.Hour)}, nil
	})})
	for _, step := range []struct {
		passed time.Duration
		token  string
		asked  int
	}{{0, "t1", 1}, {59 * time.Minute, "t1", 1}, {time.Minute, "t2", 2}, {59 * time.Minute, "t2", 2}} {
		now = now.Add(step.passed)
		valid, given = step.token, step.token
		if _, err := c.Head(t.Context(), f.repo, "v1"); err != nil || asked != step.asked {
			t.Errorf("%s later, asked %d times: %v", step.passed, asked, err)
		}
	}
}

// telling is a source that says where it looks.
type telling struct{ Credentials }

func (telling) Sought(host string) string { return "set the login of " + host }

func TestAWrongLoginIsNotRepeated(t *testing.T) {
	f := newFake(t)
	f.on("HEAD", "manifests/v1", basic(func(string, string) bool { return false }, emptyManifest))
	c, pauses := newClient(t, telling{loginOf("cnry-wrong")})
	_, err := c.Head(t.Context(), f.repo, "v1")
	p, e := asProblem(t, err)
	if e.Status != 401 || len(f.requests()) != 2 || len(pauses.pause) != 0 {
		t.Errorf("status %d after %q", e.Status, f.requests())
	}
	want(t, p.Advice, "set the login of "+f.repo.Host)
	if strings.Contains(p.Detail(), "cnry") {
		t.Errorf("a secret shows: %s", p.Detail())
	}
}

func TestNoCredentialsIsSaidSo(t *testing.T) {
	f := newFake(t)
	f.on("HEAD", "manifests/v1", basic(func(string, string) bool { return true }, emptyManifest))
	c, _ := newClient(t, telling{login(func(context.Context, string) (Credential, error) { return Credential{}, nil })})
	_, err := c.Head(t.Context(), f.repo, "v1")
	p, e := asProblem(t, err)
	if !Denied(err) {
		t.Errorf("got %v", err)
	}
	want(t, p.Advice, "set the login of "+f.repo.Host)
	want(t, e.Error(), "none were found for "+f.repo.Host)
}

func TestACredentialThatCannotBeHadIsReportedAsItIs(t *testing.T) {
	f := newFake(t)
	f.on("HEAD", "manifests/v1", basic(func(string, string) bool { return true }, emptyManifest))
	broken := &problem.Problem{Title: "Docker credential helper failed"}
	c, pauses := newClient(t, login(func(context.Context, string) (Credential, error) { return Credential{}, broken }))
	_, err := c.Head(t.Context(), f.repo, "v1")
	var found *problem.Problem
	if !errors.As(err, &found) || found != broken || NotFound(err) || len(pauses.pause) != 0 {
		t.Errorf("got %v", err)
	}
}

// tokenService gives tokens named by their scopes, and counts.
type tokenService struct {
	scopes []string
	answer http.HandlerFunc
}

func (s *tokenService) register(f *fake) {
	f.answers["GET /token"] = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		s.scopes = append(s.scopes, r.URL.Query().Get("scope"))
		if s.answer != nil {
			s.answer(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"token": r.URL.Query().Get("scope")})
	}}
}

// bearer lets in whoever has a token for this scope.
func (f *fake) bearer(scope string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+scope {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+f.server.URL+`/token",service="r"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}

func TestBearerTokensAreAsNarrowAsTheOperation(t *testing.T) {
	f := newFake(t)
	service := &tokenService{}
	service.register(f)
	f.on("HEAD", "manifests/v1", f.bearer("repository:env:pull", emptyManifest))
	f.on("POST", "blobs/uploads/", f.bearer("repository:env:pull,push", answering(202, "", "")))
	f.on("DELETE", "manifests/v1", f.bearer("repository:env:delete,pull", answering(202, "", "")))
	c, _ := newClient(t, loginOf("p"))
	for range 2 {
		if _, err := c.Head(t.Context(), f.repo, "v1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.ProbePush(t.Context(), f.repo); err != nil {
		t.Fatal(err)
	}
	if err := c.Untag(t.Context(), f.repo, "v1"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"repository:env:pull", "repository:env:pull,push", "repository:env:delete,pull"}; !slices.Equal(service.scopes, want) {
		t.Errorf("tokens asked for %q, want %q", service.scopes, want)
	}
}

func TestATokenServicesAnswerIsNeverTakenForTheRegistrys(t *testing.T) {
	tests := map[string]struct {
		answer http.HandlerFunc
		status int
		words  string
	}{
		"401": {registryError(401, "UNAUTHORIZED", "wrong password cnry-1"), 401, "answered 401"},
		"403": {answering(403, "text/plain", "no"), 403, "answered 403"},
		"404": {answering(404, "text/html", "<p>"), 0, "answered 404"},
		"503": {answering(503, "", ""), 503, "answered 503"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			service := &tokenService{answer: tt.answer}
			service.register(f)
			f.on("HEAD", "manifests/v1", f.bearer("x", emptyManifest))
			c, _ := newClient(t, loginOf("cnry-1"))
			_, err := c.Head(t.Context(), f.repo, "v1")
			_, e := asProblem(t, err)
			if e.Status != tt.status || NotFound(err) {
				t.Errorf("status %d, not found %v", e.Status, NotFound(err))
			}
			want(t, e.Error(), "token service")
			want(t, e.Error(), tt.words)
			if strings.Contains(e.Error(), "cnry") {
				t.Errorf("a secret shows: %v", e)
			}
		})
	}
}

func TestARedirectToAnotherPortCarriesNoLogin(t *testing.T) {
	var got atomic.Value
	raw := []byte(`{"schemaVersion":2}`)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store("seen " + r.Header.Get("Authorization"))
		serve(raw, ocispec.MediaTypeImageManifest, digestOf(raw))(w, r)
	}))
	defer other.Close()
	f := newFake(t)
	f.on("HEAD", "manifests/v1", basic(func(string, string) bool { return true }, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	c, _ := newClient(t, loginOf("p"))
	if _, err := c.Head(t.Context(), f.repo, "v1"); err != nil {
		t.Fatal(err)
	}
	if got.Load() != "seen " {
		t.Errorf("the other port saw %q", got.Load())
	}
}

func TestDockerHubIsAskedAtItsAPIAndKnownByItsName(t *testing.T) {
	if got := endpoint("docker.io").String(); got != "https://registry-1.docker.io" {
		t.Error(got)
	}
	if got := endpoint("ghcr.io").String(); got != "https://ghcr.io" {
		t.Error(got)
	}
	var asked string
	c := New(Options{})
	_, err := c.credential(t.Context(), login(func(_ context.Context, host string) (Credential, error) {
		asked = host
		return Credential{}, nil
	}), "registry-1.docker.io")
	if err != nil || asked != "docker.io" {
		t.Errorf("asked for %q, %v", asked, err)
	}
}

package buildkit_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// logins gives a credential that can be exchanged while a build runs.
type logins struct {
	atomic.Pointer[image.Credential]
}

func (l *logins) Credential(_ context.Context, host string) (image.Credential, error) {
	if !strings.HasPrefix(host, "127.0.0.1") {
		return image.Credential{}, nil
	}
	return *l.Load(), nil
}

func (l *logins) set(password string) {
	l.Store(&image.Credential{Username: "writer", Password: secret.New(password), Source: "a test"})
}

// withLogins puts a base into a registry that asks for a login, so that the daemon logs in before the build and after it.
func withLogins(t *testing.T, middleware ...func(http.Handler) http.Handler) (*bench, buildkit.Request, *logins) {
	t.Helper()
	b := newBench(t, middleware...)
	given := &logins{}
	given.set("cnry-first-password")
	b.images = image.New(image.Options{Credentials: given})
	b.publisher.Registry = b.images
	request := b.request(t, "")
	base, err := reference.ParsePinned(b.registry.PushBase(t))
	if err != nil {
		t.Fatal(err)
	}
	request.Base, request.Credentials = base, given
	// A daemon that has the base already asks the registry for this alone before the build.
	request.Cache.Imports = []reference.Reference{b.cacheAt("team/absent")}
	return b, request, given
}

// once calls then when a step of the build has printed a line of its own.
func (b *bench) once(request *buildkit.Request, then func()) {
	number := strconv.FormatInt(time.Now().UnixNano(), 10)
	request.Spec.PostInstall = []environment.Command{{Command: `printf 'half%s\n' way-` + number}}
	b.daemon.SetLogger(onLine("halfway-"+number, then))
}

func TestLoginIsAskedForAgainDuringABuild(t *testing.T) {
	service := func() *enginetest.TokenService { return enginetest.NewTokenService("writer", "cnry-first-password") }
	basic := &atomic.Pointer[string]{}
	first := "cnry-first-password"
	basic.Store(&first)
	for name, c := range map[string]struct {
		tokens *enginetest.TokenService
		// change is what becomes of the tokens when the login changes.
		change func(*enginetest.TokenService)
	}{
		"token that is taken back":      {service(), (*enginetest.TokenService).Expire},
		"token of a short life":         {service(), func(*enginetest.TokenService) {}},
		"login that is sent as it is":   {nil, nil},
		"login that is a refresh token": {enginetest.NewTokenService("", "cnry-first-password"), (*enginetest.TokenService).Expire},
	} {
		t.Run(name, func(t *testing.T) {
			middleware := func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					enginetest.BasicAuth(map[string]string{"writer": *basic.Load()}, nil)(next).ServeHTTP(w, r)
				})
			}
			if c.tokens != nil {
				middleware = c.tokens.Middleware
			}
			b, request, given := withLogins(t, middleware)
			login := func(password string) {
				if strings.Contains(name, "refresh") {
					given.Store(&image.Credential{RefreshToken: secret.New(password), Source: "a test"})
				} else {
					given.set(password)
				}
			}
			login("cnry-first-password")
			if name == "token of a short life" {
				c.tokens.Lifetime(1)
			}
			changed := false
			b.once(&request, func() {
				changed = true
				login("cnry-second-password")
				if c.tokens == nil {
					second := "cnry-second-password"
					basic.Store(&second)
					return
				}
				user := "writer"
				if strings.Contains(name, "refresh") {
					user = ""
				}
				c.tokens.Login(user, "cnry-second-password")
				c.change(c.tokens)
			})
			published, err := b.publish(t.Context(), request)
			if err != nil {
				t.Fatal(problem.From(err, "")[0].Detail())
			}
			if !changed {
				t.Fatal("the login was not changed during the build")
			}
			if left := b.ours(t); !slices.Contains(left, target+"@"+published.Digest) {
				t.Errorf("in the registry: %v", left)
			}
		})
	}
}

func TestTokenServiceThatFailsInPassingEndsNoBuild(t *testing.T) {
	tokens := enginetest.NewTokenService("writer", "cnry-first-password")
	var failures atomic.Int64
	b, request, _ := withLogins(t, enginetest.Fault(func(r *http.Request) *enginetest.FaultResponse {
		if r.URL.Path != "/token" || failures.Add(-1) < 0 {
			return nil
		}
		return &enginetest.FaultResponse{Status: http.StatusServiceUnavailable, Body: "come back"}
	}), tokens.Middleware)
	b.once(&request, func() { failures.Store(2) })
	if _, err := b.publish(t.Context(), request); err != nil || failures.Load() >= 0 {
		t.Errorf("%d failures were not met, %v", failures.Load(), err)
	}
}

func TestTokenThatExpiresBetweenTheLastBlobAndTheManifest(t *testing.T) {
	for name, renewed := range map[string]bool{"renewed": true, "refused": false} {
		t.Run(name, func(t *testing.T) {
			tokens := enginetest.NewTokenService("writer", "cnry-first-password")
			var given *logins
			var expired atomic.Bool
			b, request, own := withLogins(t, enginetest.Fault(func(r *http.Request) *enginetest.FaultResponse {
				if r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, "/v2/"+target+"/manifests/sha256:") && expired.CompareAndSwap(false, true) {
					tokens.Login("writer", "cnry-second-password")
					tokens.Expire()
					if renewed {
						given.set("cnry-second-password")
					}
				}
				return nil
			}), tokens.Middleware)
			given = own
			ran := 0
			b.once(&request, func() { ran++ })
			_, err := b.publish(t.Context(), request)
			if !expired.Load() || ran != 1 {
				t.Fatalf("the step ran %d times, and the token expired: %t", ran, expired.Load())
			}
			if renewed {
				if err != nil {
					t.Fatal(problem.From(err, "")[0].Detail())
				}
				return
			}
			var found *problem.Problem
			if !errors.As(err, &found) || found.Title != "Image was built but not pushed" {
				t.Fatalf("error is %v", err)
			}
			for _, words := range []string{request.Repository.String(), request.Repository.Host, "401 Unauthorized", "incorrect username or password", "the build finished", "expired"} {
				if !strings.Contains(found.Detail(), words) {
					t.Errorf("%q is not in the detail:\n%s", words, found.Detail())
				}
			}
			if strings.Contains(found.Detail(), "invalid character") || strings.Contains(found.Detail(), "cnry") {
				t.Errorf("detail:\n%s", found.Detail())
			}
			if left := b.ours(t); len(left) > 0 {
				t.Errorf("left in the registry: %v", left)
			}
			given.set("cnry-second-password")
			if _, err := b.publish(t.Context(), request); err != nil || ran != 1 {
				t.Errorf("the retry ran the step %d times, %v", ran-1, err)
			}
		})
	}
}

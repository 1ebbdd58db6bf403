package buildkit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// A daemon runs steps once that look the same to it and run at the same time, and looks at no secret. What the index of one
// build refuses must not fail another's.
func TestPrivateIndex_FailsForNobodyElse(t *testing.T) {
	for name, wrong := range map[string]struct {
		change func(*buildkit.PackageIndex)
		title  string
	}{
		"another index": {func(i *buildkit.PackageIndex) { i.URL = i.URL.JoinPath("broken/") }, "Package index failed"},
		"another login": {func(i *buildkit.PackageIndex) { i.Password = secret.New("cnry-wrong-password") }, "Package index refused the login"},
	} {
		t.Run(name, func(t *testing.T) {
			one, other := newBench(t), newBench(t)
			served := enginetest.StartIndex(t)
			asked, both := make(chan struct{}), make(chan struct{})
			var first atomic.Bool
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if first.CompareAndSwap(false, true) {
					close(asked)
					<-both
				}
				if strings.Contains(r.URL.Path, "broken") {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				served.ServeHTTP(w, r)
			}))
			t.Cleanup(front.Close)
			release := sync.OnceFunc(func() { close(both) })
			t.Cleanup(release)
			address, err := url.Parse(front.URL + "/simple/")
			if err != nil {
				t.Fatal(err)
			}
			right := buildkit.PackageIndex{URL: address, Username: served.Username, Password: secret.New(enginetest.IndexPassword)}
			bad := right
			wrong.change(&bad)

			failed := make(chan error, 1)
			request := one.request(t, served.Lock)
			request.PackageIndex = &bad
			go func() {
				_, err := one.publish(t.Context(), request)
				failed <- err
			}()
			<-asked
			other.daemon.SetLogger(onStep("install the locked packages", release))
			own := other.request(t, served.Lock)
			own.PackageIndex = &right
			published, err := other.publish(t.Context(), own)
			if err != nil {
				t.Errorf("the build with the right index: %v", err)
			} else if published.Packages["private-tool"] != served.Version {
				t.Errorf("packages are %v", published.Packages)
			}
			var found *problem.Problem
			if err := <-failed; !errors.As(err, &found) || found.Title != wrong.title {
				t.Errorf("the build with the wrong one: %v, want %s", err, wrong.title)
			}
		})
	}
}

package provider_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// manifestRefused refuses what a push ends with, when all blobs are there.
func manifestRefused(status int, body string) chooser {
	return func(r *http.Request) *enginetest.FaultResponse {
		if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/manifests/sha256:") {
			return nil
		}
		return &enginetest.FaultResponse{Status: status, Header: http.Header{"Content-Type": {"text/plain"}}, Body: body}
	}
}

func TestCreate_RefusedBetweenTheLastBlobAndTheManifest(t *testing.T) {
	s := newStack(t)
	failed := says("Image was built but not pushed", s.repository, "403 Forbidden", "token no longer valid", "build finished", "expired", "cache")
	s.run(t,
		resource.TestStep{PreConfig: s.breakWith(manifestRefused(http.StatusForbidden, "token no longer valid")), Config: s.config(""), ExpectError: failed},
		isNew(s, s.config("")),
		resource.TestStep{Config: s.config(""), ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}},
	)
}

// A connection that breaks while a layer goes up is not the end of the build: only that upload begins again.
func TestCreate_ConnectionCutInTheMiddleOfALayer(t *testing.T) {
	var cut atomic.Pointer[string]
	s := newStack(t)
	s.breakWith(func(r *http.Request) *enginetest.FaultResponse {
		// BuildKit sends a blob whole, with the PUT that ends its upload.
		if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/blobs/uploads/") || r.ContentLength < 4096 {
			return nil
		}
		layer := r.URL.Query().Get("digest")
		if !cut.CompareAndSwap(nil, &layer) {
			return nil
		}
		_, _ = io.CopyN(io.Discard, r.Body, 1024)
		return &enginetest.FaultResponse{Cut: true}
	})()
	// The daemon gives no upload back. A registry drops what was not finished in time.
	finished := func(*terraform.State) error {
		left := slices.DeleteFunc(s.registry.Left(t), func(one string) bool { return strings.Contains(one, " upload ") })
		if len(left) > 0 {
			return fmt.Errorf("in the registry: %v", left)
		}
		return nil
	}
	s.runUntil(t, finished, resource.TestStep{Config: s.config(""), PostApplyFunc: func() {
		layer := cut.Load()
		if layer == nil {
			t.Fatal("no connection was cut")
		}
		var answers []int
		for _, request := range s.registry.Requests() {
			query, err := url.ParseQuery(request.Query)
			if err == nil && request.Method == http.MethodPut && query.Get("digest") == *layer {
				answers = append(answers, request.Status)
			}
		}
		if !slices.Equal(answers, []int{0, http.StatusCreated}) {
			t.Errorf("the uploads of the layer were answered %v, want none and then 201", answers)
		}
	}})
}

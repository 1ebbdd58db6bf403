package provider_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// immutable answers as a registry whose tags cannot be overwritten, even with the same digest. before comes first at the
// first PUT of a tag with this prefix.
func immutable(prefix string, before func(w http.ResponseWriter, r *http.Request, next http.Handler) (answered bool)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		var seen atomic.Bool
		next = enginetest.ImmutableTags(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			first := r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/"+prefix) && seen.CompareAndSwap(false, true)
			if !first || !before(w, r, next) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

func TestCreate_ImmutableTagThatIsOursAlreadyIsSuccess(t *testing.T) {
	s := newStack(t, immutable("v1-", func(_ http.ResponseWriter, r *http.Request, next http.Handler) bool {
		// The tag is put, and the answer lost: the next attempt finds its own tag.
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}))
	// An index: what it lists is pushed by digest, and only itself gets the tag.
	config := s.config(`attestations = { sbom = false }`)
	s.run(t, resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}, PostApplyFunc: func() {
		var answers []int
		for _, request := range s.registry.Requests() {
			if request.Method == http.MethodPut && strings.Contains(request.Path, "/manifests/v1-") {
				answers = append(answers, request.Status)
			}
		}
		if !slices.Equal(answers, []int{0, http.StatusBadRequest}) {
			t.Errorf("the tag was answered %v, want none and then 400", answers)
		}
	}})
}

// someoneElse puts another manifest under the tag that is asked for, just before, and remembers both.
func someoneElse(t *testing.T, tag, digest *string) func(http.ResponseWriter, *http.Request, http.Handler) bool {
	return func(_ http.ResponseWriter, r *http.Request, next http.Handler) bool {
		manifest := `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`
		sum := sha256.Sum256([]byte(manifest))
		*tag, *digest = path.Base(r.URL.Path), "sha256:"+hex.EncodeToString(sum[:])
		put := r.Clone(r.Context())
		put.Body, put.ContentLength = io.NopCloser(strings.NewReader(manifest)), int64(len(manifest))
		put.Header = http.Header{"Content-Type": {"application/vnd.oci.image.index.v1+json"}}
		answer := httptest.NewRecorder()
		if next.ServeHTTP(answer, put); answer.Code != http.StatusCreated {
			t.Errorf("the other manifest was answered %d: %s", answer.Code, answer.Body)
		}
		return false
	}
}

func TestCreate_ImmutableTagOfSomeoneElseIsAnError(t *testing.T) {
	var tag, digest string
	s := newStack(t, immutable("v1-", someoneElse(t, &tag, &digest)))
	check := expect(plancheck.ResourceActionCreateBeforeDestroy)
	check.PreApply = append(check.PreApply, tainted{})
	s.runUntil(t, func(*terraform.State) error { return s.left(t, "team/env:"+tag, "team/env@"+digest) },
		resource.TestStep{Config: s.config(""), ExpectError: says("Tag already exists and cannot be overwritten", s.repository+":v1-", "TAG_INVALID", "points to sha256:", "ours would be sha256:", "new tag")},
		resource.TestStep{
			// The next attempt has a tag of its own; the other's, and what it points to, stay.
			PreConfig: func() {
				detail := s.errors()[0].Detail
				if before, after, found := strings.Cut(detail, "ours would be "); !found || !strings.Contains(before, s.repository+":"+tag) || !strings.Contains(before, "points to "+digest) || strings.Contains(after, digest) {
					t.Errorf("%s at %s is not told from ours in: %s", tag, digest, detail)
				}
			},
			Config: s.config(""), ConfigPlanChecks: check,
			ConfigStateChecks: []statecheck.StateCheck{stateCheck(func(state *tfjson.State) error {
				also := []string{"team/env:" + tag, "team/env@" + digest}
				return s.holds(t, also...).(stateCheck)(state) //nolint:forcetypeassert // It is one.
			})},
			PostApplyFunc: func() { s.warned(t, "Tag of the environment moved", tag, digest) },
		},
	)
}

func TestVersion_ImmutableTagOfSomeoneElseKeepsTheOldOne(t *testing.T) {
	var taken, theirs, tag, digest string
	s := newStack(t, immutable("v2-", someoneElse(t, &taken, &theirs)))
	s.runUntil(t, func(*terraform.State) error { return s.left(t, "team/env:"+taken, "team/env@"+theirs) },
		s.created(t, s.config(""), &tag, &digest),
		resource.TestStep{Config: s.config(`version = "2"`), ExpectError: says("Tag already exists and cannot be overwritten", s.repository+":v2-", "TAG_INVALID", "new tag")},
		resource.TestStep{
			PreConfig: func() {
				must(t, s.left(t, "team/env:"+tag, "team/env@"+digest, "team/env:"+taken, "team/env@"+theirs))
				if detail := s.errors()[0].Detail; !strings.Contains(detail, "points to "+theirs) || !strings.Contains(detail, "ours would be "+digest) {
					t.Errorf("the digests are not both in: %s", detail)
				}
			},
			Config: s.config(""), PlanOnly: true,
		},
	)
}

package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// created is the step that makes an environment and remembers its tag and digest.
func (s *stack) created(t *testing.T, config string, tag, digest *string) resource.TestStep {
	return resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{remember("tag", tag), remember("digest", digest), s.holds(t)}}
}

func TestDestroy_RemovesOurTagOnlyWhereAnotherPointsToTheDigest(t *testing.T) {
	s := newStack(t)
	var tag, digest string
	s.runUntil(t, func(*terraform.State) error {
		s.warned(t, "Image was left in the registry", digest, "other tags point to it or to an index that lists it: people")
		return s.left(t, "team/env:people", "team/env@"+digest)
	},
		s.created(t, s.config(""), &tag, &digest),
		resource.TestStep{
			PreConfig: func() { must(t, s.images().Tag(t.Context(), s.target(t), digest, "people")) },
			Config:    s.config(""), Destroy: true,
		},
	)
}

func TestDestroy_LeavesATagOfOursThatPointsElsewhere(t *testing.T) {
	s := newStack(t)
	s.repository = s.registry.Host + "/base"
	_, base, _ := strings.Cut(s.registry.PushBase(t), "@")
	var tag, digest string
	s.runUntil(t, func(*terraform.State) error { return s.left(t, "base:"+tag, "base@"+base) },
		resource.TestStep{Config: s.config(""), ConfigStateChecks: []statecheck.StateCheck{remember("tag", &tag), remember("digest", &digest)}},
		resource.TestStep{
			PreConfig: func() { must(t, s.images().Tag(t.Context(), s.target(t), base, tag)) },
			Config:    s.config(""), Destroy: true,
			PostApplyFunc: func() { s.warned(t, "Tag of the environment moved", tag, base) },
		},
	)
}

func TestDestroy_RetainLeavesTagAndManifest(t *testing.T) {
	s := newStack(t)
	var tag, digest string
	s.runUntil(t, func(*terraform.State) error { return s.left(t, "team/env:"+tag, "team/env@"+digest) },
		s.created(t, s.config(""), &tag, &digest),
		resource.TestStep{Config: s.config(`deletion_policy = "retain"`), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate)},
		resource.TestStep{PreConfig: s.startCounting, Config: s.config(`deletion_policy = "retain"`), Destroy: true, PostApplyFunc: func() { s.onlyHeads(t) }},
	)
}

func TestReplace_RetainLeavesTheFirst(t *testing.T) {
	s := newStack(t)
	var tag, digest string
	s.runUntil(t, func(*terraform.State) error { return s.left(t, "team/env:"+tag, "team/env@"+digest) },
		s.created(t, s.config(`deletion_policy = "retain"`), &tag, &digest),
		resource.TestStep{Config: s.config(`env = { A = "1" }`), ConfigPlanChecks: expect(plancheck.ResourceActionCreateBeforeDestroy)},
	)
}

func TestDestroy_RefusedKeepsTheResource(t *testing.T) {
	s := newStack(t)
	deleting := func(status int, body string) chooser { return refusing(http.MethodDelete, "/manifests/", status, body) }
	tests := []struct {
		fault chooser
		says  []string
	}{
		{deleting(405, ociError("UNSUPPORTED", "The operation is unsupported.")),
			[]string{"Registry does not allow images to be deleted", s.repository, "405 Method Not Allowed", "Allow deletion in " + s.repository, `deletion_policy = "retain"`}},
		{deleting(403, ociError("DENIED", "no delete for you")),
			[]string{"Registry refused to delete the image", s.repository, "403 Forbidden", "no delete for you", "credentials for " + s.registry.Host, `deletion_policy = "retain"`}},
		{deleting(401, ""), []string{"Registry refused to delete the image", s.repository, "401 Unauthorized", `deletion_policy = "retain"`}},
		{deleting(500, "<html>oops</html>"), []string{"Image could not be deleted", s.repository, "500 Internal Server Error"}},
		{refusing(http.MethodGet, "/tags/list", 403, ""), []string{"Tags of the image could not be checked before its removal", s.repository, "403 Forbidden"}},
		{refusing(http.MethodGet, "/manifests/", 403, ""), []string{"Image could not be checked before its removal", s.repository, "403 Forbidden"}},
	}
	steps := []resource.TestStep{{Config: s.config("")}}
	for _, tt := range tests {
		steps = append(steps, resource.TestStep{PreConfig: s.breakWith(tt.fault), Config: s.config(""), Destroy: true, ExpectError: says(tt.says...)})
	}
	s.run(t, append(steps, resource.TestStep{PreConfig: s.breakWith(nil), Config: s.config(""),
		ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
		ConfigStateChecks: []statecheck.StateCheck{s.holds(t)},
	})...)
}

// retains matches an output retained that lists these tags.
func retains(s *stack, tags ...*string) knownvalue.Check {
	var entries []knownvalue.Check
	for _, tag := range tags {
		entries = append(entries, knownvalue.ObjectExact(map[string]knownvalue.Check{
			"what": knownvalue.StringExact("tag"), "where": knownvalue.StringExact(s.repository), "removable_by": matching("destroy"),
			"id": knownvalue.StringFunc(func(id string) error {
				if id != *tag {
					return fmt.Errorf("%s is retained, want %s", id, *tag)
				}
				return nil
			}),
		}))
	}
	return knownvalue.ListExact(entries)
}

// The registry of most clouds deletes by digest only.
func TestVersion_TagThatCannotBeRemovedIsRetainedUntilDestroy(t *testing.T) {
	s := newStack(t)
	s.breakWith(refusing(http.MethodDelete, "/manifests/v", http.StatusBadRequest, ociError("DIGEST_INVALID", "provided digest did not match uploaded content")))()
	var first, digest string
	var second string
	version := func(v string) string { return s.config(fmt.Sprintf("version = %q", v)) }
	s.run(t,
		s.created(t, version("1"), &first, &digest),
		resource.TestStep{
			Config: version("2"), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{remember("tag", &second), known("tag", matching("^v2-")), known("retained", retains(s, &first))},
			PostApplyFunc: func() {
				s.warned(t, "Old tag was kept", s.repository+":"+first, "retained")
				must(t, s.left(t, "team/env:"+first, "team/env:"+second, "team/env@"+digest))
			},
		},
		// A tag that is in use again is not a left-over any more.
		resource.TestStep{
			Config: version("1"), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{known("tag", knownvalue.StringFunc(func(tag string) error {
				if tag != first {
					return fmt.Errorf("tag is %s, want %s", tag, first)
				}
				return nil
			})), known("retained", retains(s, &second))},
			PostApplyFunc: func() { s.warned(t, "Old tag was kept", s.repository+":"+second) },
		},
	)
}

func TestVersion_RefusedChangeKeepsStateAndTag(t *testing.T) {
	s := newStack(t)
	var tag, digest string
	s.run(t,
		s.created(t, s.config(""), &tag, &digest),
		resource.TestStep{
			PreConfig: s.breakWith(refusing(http.MethodPut, "/manifests/v2-", http.StatusForbidden, ociError("DENIED", "tags are closed"))),
			Config:    s.config(`version = "2"`), ExpectError: says("Tag was refused by the registry", s.repository+":v2-", "tags are closed"),
		},
		resource.TestStep{PreConfig: s.breakWith(nil), Config: s.config(""), PlanOnly: true},
		// Once the new tag is there, an old one that may not be removed fails nothing: it is retained, and the reason told.
		resource.TestStep{
			PreConfig: s.breakWith(refusing(http.MethodDelete, "/manifests/v1-", http.StatusForbidden, ociError("DENIED", "no delete for you"))),
			Config:    s.config(`version = "2"`), ConfigStateChecks: []statecheck.StateCheck{known("tag", matching("^v2-")), known("retained", retains(s, &tag))},
			PostApplyFunc: func() {
				s.warned(t, "Old tag was kept", s.repository+":"+tag, "403 Forbidden", "no delete for you")
				s.breakWith(nil)()
			},
		},
	)
}

// overtaken carries every deletion out before the provider's own arrives, which is then answered 404.
func overtaken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/manifests/") {
			next.ServeHTTP(httptest.NewRecorder(), r.Clone(r.Context()))
		}
		next.ServeHTTP(w, r)
	})
}

func TestDestroy_OfWhatIsGoneAlreadyIsSuccess(t *testing.T) {
	s := newStack(t, overtaken)
	s.run(t,
		resource.TestStep{Config: s.config("")},
		resource.TestStep{Config: s.config(`version = "2"`), ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}},
		resource.TestStep{PreConfig: s.registry.ResetRequests, Config: s.config(`version = "2"`), Destroy: true, PostApplyFunc: func() {
			for _, request := range s.registry.Requests() {
				if request.Method == http.MethodDelete && request.Status == http.StatusNotFound {
					return
				}
			}
			t.Errorf("no deletion was answered 404: %v", s.registry.Requests())
		}},
	)
}

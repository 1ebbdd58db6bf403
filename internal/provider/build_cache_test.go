package provider_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// cacheLeft checks that of all repositories the cache's alone holds something.
func (s *stack) cacheLeft(t *testing.T, tag string) func(*terraform.State) error {
	return func(*terraform.State) error {
		left := s.registry.Left(t)
		other := slices.ContainsFunc(left, func(one string) bool { return !strings.HasPrefix(one, "team/cache") })
		if other || !slices.Contains(left, "team/cache:"+tag) {
			return fmt.Errorf("in the registry: %v, want the cache alone", left)
		}
		return nil
	}
}

func TestCache_IsExportedAndChangesInPlace(t *testing.T) {
	s := newStack(t)
	cache := s.registry.Host + "/team/cache"
	exporting := s.config(fmt.Sprintf("cache = { export = %q }", cache+":main"))
	both := s.config(fmt.Sprintf("cache = { export = %q, import = [%q, %q] }", cache+":main", cache+":main", cache+":absent"))
	var tag, digest string
	s.runUntil(t, s.cacheLeft(t, "main"),
		resource.TestStep{Config: exporting, ConfigStateChecks: []statecheck.StateCheck{remember("tag", &tag), remember("digest", &digest)}},
		resource.TestStep{PreConfig: s.startCounting, Config: both, ConfigPlanChecks: expect(plancheck.ResourceActionUpdate), PostApplyFunc: func() { s.onlyHeads(t) }},
		resource.TestStep{Config: s.config(""), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate), PostApplyFunc: func() { s.onlyHeads(t) }},
		// With a cache the same content is the same image: two tags, one digest.
		resource.TestStep{Config: strings.Replace(both, "cache =", "rebuild_trigger = { a = \"1\" }\n  cache =", 1), ConfigPlanChecks: expect(plancheck.ResourceActionCreateBeforeDestroy),
			ConfigStateChecks: []statecheck.StateCheck{known("digest", matching("^sha256:"))}, PostApplyFunc: func() {
				if left := s.registry.Left(t); !slices.Contains(left, "team/env@"+digest) || slices.Contains(left, "team/env:"+tag) {
					t.Errorf("in the registry: %v, want %s under another tag than %s", left, digest, tag)
				}
			}},
	)
}

func TestCache_InAnotherRegistryTakesTheLoginOfItsHost(t *testing.T) {
	s := newStack(t)
	const password = "cnry-cache-1"
	other := enginetest.StartRegistry(t, enginetest.BasicAuth(map[string]string{"robot": password}, nil))
	t.Setenv("DATALAYER_REGISTRIES", fmt.Sprintf(`{%q: {"username": "robot", "password": %q}}`, other.Host, password))
	config := s.config(fmt.Sprintf("cache = { export = %q, import = [%[1]q] }", other.Host+"/team/cache:main"))
	s.run(t, resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}, PostApplyFunc: func() {
		if left := other.Left(t); !slices.Contains(left, "team/cache:main") {
			t.Errorf("no cache was exported: %v", left)
		}
	}})
}

func TestCache_ThatCannotBeExportedIsAWarning(t *testing.T) {
	s := newStack(t)
	s.breakWith(refusing(http.MethodPost, "/team/cache/blobs/uploads/", http.StatusForbidden, ociError("DENIED", "the cache is closed")))()
	cache := s.registry.Host + "/team/cache:main"
	s.run(t, resource.TestStep{
		Config:            s.config(fmt.Sprintf("cache = { export = %q }", cache)),
		ConfigStateChecks: []statecheck.StateCheck{s.holds(t)},
		PostApplyFunc:     func() { s.warned(t, "Build cache was not exported", cache, "the cache is closed", s.registry.Host) },
	})
}

func TestCache_MistakesAreFoundAtPlan(t *testing.T) {
	s := newStackWithoutEngine(t)
	pinned := "h.example/cache@sha256:" + strings.Repeat("0", 64)
	s.refused(t, []mistake{
		{"import without a tag", s.config(`cache = { import = ["h.example/a:b", "h.example/cache"] }`), at("cache", "import", 1), []string{"Build cache without a tag or digest", "h.example/cache"}},
		{"import that is none", s.config(`cache = { import = ["cache:main"] }`), at("cache", "import", 0), []string{"host"}},
		{"export without a tag", s.config(`cache = { export = "h.example/cache" }`), at("cache", "export"), []string{"Build cache is not exported to a tag", "h.example/cache"}},
		{"export to a digest", s.config(`cache = { export = "` + pinned + `" }`), at("cache", "export"), []string{"Build cache is not exported to a tag", pinned}},
	})
}

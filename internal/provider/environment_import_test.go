package provider_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// inputs are what the registry does not hold, and what only the build itself knew.
var inputs = []string{
	"attestations", "name", "base", "lock", "env", "files", "apt_packages", "post_install", "labels", "platforms", "deletion_policy", "timeouts", "rebuild_trigger",
	"artifact", "packages", "spec_digest", "lock_digest", "built_at", "build_duration_seconds",
}

// importing is the block that adopts this reference.
func importing(reference, config string) string {
	return fmt.Sprintf("import {\n  to = %s\n  id = %q\n}\n%s", address, reference, config)
}

// retained builds an environment of this configuration and forgets it, so that it can be imported.
func (s *stack) retained(t *testing.T, arguments string) (reference, tag string) {
	t.Helper()
	config := s.config(arguments + "\n  deletion_policy = \"retain\"")
	s.runUntil(t, func(*terraform.State) error { return nil },
		resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{remember("reference", &reference), remember("tag", &tag)}})
	return reference, tag
}

// nothingWritten checks that since the last count the registry was only read.
func (s *stack) nothingWritten(t *testing.T) {
	t.Helper()
	for _, request := range s.registry.Requests() {
		if request.Method != http.MethodHead && request.Method != http.MethodGet {
			t.Errorf("%s was sent, want reads only", request)
		}
	}
}

func TestImport_ByReferenceGivesTheSameState(t *testing.T) {
	s := newStack(t)
	config := s.config(`
  lock  = ` + fmt.Sprintf("%q", testdata(t, "six.lock")) + `
  env   = { A = "1" }
  files = [{ path = "/srv/a", content = "a" }]
`)
	id := func(format string) resource.ImportStateIdFunc {
		return func(state *terraform.State) (string, error) {
			return fmt.Sprintf(format, state.RootModule().Resources[address].Primary.Attributes["reference"]), nil
		}
	}
	verify := resource.TestStep{
		ResourceName: address, ImportState: true, ImportStateVerify: true,
		ImportStateVerifyIdentifierAttribute: "reference", ImportStateVerifyIgnore: inputs,
	}
	steps := []resource.TestStep{{Config: config}}
	for _, format := range []string{"%s", "%s ", " %s\n"} {
		step := verify
		step.ImportStateIdFunc = id(format)
		steps = append(steps, step)
	}
	// A tag beside the digest is only for people.
	tagged := verify
	tagged.ImportStateIdFunc = func(state *terraform.State) (string, error) {
		attributes := state.RootModule().Resources[address].Primary.Attributes
		return fmt.Sprintf("%s:%s@%s", attributes["repository"], attributes["tag"], attributes["digest"]), nil
	}
	s.run(t, append(steps, tagged)...)
}

func TestImport_OfWhatIsNotThereNamesIt(t *testing.T) {
	s := newStack(t)
	unknown := s.repository + "@sha256:" + strings.Repeat("0", 64)
	tests := map[string]*regexp.Regexp{
		unknown:                             says("Image to import does not exist", unknown, "404 Not Found", "repository@sha256:"),
		s.repository + ":v1":                says("Image reference without a digest", s.repository+":v1", "pin by digest"),
		"sha256:" + strings.Repeat("0", 64): says("Image reference without a registry host", "sha256:"+strings.Repeat("0", 64)),
		"env-a":                             says("without a registry host", "env-a"),
	}
	for id, want := range tests {
		t.Run(id, func(t *testing.T) {
			s.run(t,
				resource.TestStep{Config: importing(id, s.config("")), ExpectError: want},
				isNew(s, s.config("")),
			)
		})
	}
}

func TestImport_OfMatchingContentUpdatesInPlaceAndWritesNothing(t *testing.T) {
	s := newStack(t)
	arguments := `
  env    = { A = "1" }
  labels = { team = "a" }
`
	reference, tag := s.retained(t, arguments)
	s.startCounting()
	s.run(t,
		resource.TestStep{
			Config: importing(reference, s.config(arguments)), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{
				known("reference", knownvalue.StringExact(reference)), known("tag", knownvalue.StringExact(tag)), known("version", knownvalue.StringExact("1")),
				known("built_at", knownvalue.Null()), known("build_duration_seconds", knownvalue.Null()), known("retained", knownvalue.ListExact(nil)),
				known("packages", knownvalue.MapExact(nil)), known("python_version", knownvalue.StringExact(s.BasePython)),
				known("artifact", knownvalue.ObjectPartial(map[string]knownvalue.Check{
					"reference": knownvalue.StringExact(reference), "packages": knownvalue.MapExact(nil), "python_version": knownvalue.StringExact(s.BasePython),
				})),
			},
			PostApplyFunc: func() { s.nothingWritten(t) },
		},
		resource.TestStep{Config: s.config(arguments), PlanOnly: true},
	)
}

func TestImport_OfOtherContentReplacesAndNamesBothKeys(t *testing.T) {
	s := newStack(t)
	reference, _ := s.retained(t, `env = { A = "1" }`)
	var key string
	s.run(t,
		resource.TestStep{
			Config: importing(reference, s.config(`env = { A = "2" }`)), ConfigPlanChecks: expect(plancheck.ResourceActionCreateBeforeDestroy),
			ConfigStateChecks: []statecheck.StateCheck{remember("cache_key", &key), s.holds(t)},
			PostApplyFunc: func() {
				s.warned(t, "Imported image has other content", reference, "carries the cache key sha256:", "has "+key)
			},
		},
	)
}

func TestImport_OfAStrangersImageAdoptsButNeverDeletesIt(t *testing.T) {
	s := newStack(t)
	reference := s.registry.PushBase(t)
	s.repository = s.registry.Host + "/base"
	_, digest, _ := strings.Cut(reference, "@")
	forgotten := func(*terraform.State) error {
		s.warned(t, "Environment was forgotten, not deleted", reference)
		return s.left(t, "base@"+digest)
	}
	adopt := resource.TestStep{
		Config: importing(reference, s.config(`env = { A = "1" }`)), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate),
		ConfigStateChecks: []statecheck.StateCheck{
			known("reference", knownvalue.StringExact(reference)), known("tag", knownvalue.Null()), known("cache_key", matching("^sha256:")), s.holds(t),
			// What is in it is not known, so nothing is claimed.
			known("packages", knownvalue.Null()), known("artifact", knownvalue.ObjectPartial(map[string]knownvalue.Check{"packages": knownvalue.Null(), "contract": knownvalue.Null()})),
		},
		PostApplyFunc: func() {
			s.warned(t, "Imported image carries no cache key", reference)
			s.warned(t, "Content of the imported image is not checked", reference, "packages stays null")
			s.nothingWritten(t)
		},
	}
	t.Run("destroy", func(t *testing.T) {
		s.startCounting()
		s.runUntil(t, forgotten, adopt, resource.TestStep{Config: s.config(`env = { A = "1" }`), PlanOnly: true})
	})
	t.Run("replace", func(t *testing.T) {
		s.startCounting()
		s.runUntil(t, func(*terraform.State) error { return s.left(t, "base@"+digest) }, adopt,
			resource.TestStep{
				Config: s.config(`env = { A = "2" }`), ConfigPlanChecks: expect(plancheck.ResourceActionCreateBeforeDestroy),
				ConfigStateChecks: []statecheck.StateCheck{s.holds(t, "base@"+digest)},
				PostApplyFunc:     func() { s.warned(t, "Environment was forgotten, not deleted", reference) },
			},
		)
	})
}

func TestImport_WithSeveralTagsOfOursAdoptsNone(t *testing.T) {
	s := newStack(t)
	reference, tag := s.retained(t, "")
	_, digest, _ := strings.Cut(reference, "@")
	must(t, s.images().Tag(t.Context(), s.target(t), digest, "v7-0badcafe"))
	both := []string{"team/env:" + tag, "team/env:v7-0badcafe", "team/env@" + digest}
	s.runUntil(t, func(*terraform.State) error { return s.left(t, both...) },
		resource.TestStep{
			Config: importing(reference, s.config("")), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{known("tag", knownvalue.Null()), known("version", knownvalue.StringExact("1"))},
			PostApplyFunc: func() {
				s.warned(t, "No tag was adopted", reference)
				must(t, s.left(t, both...))
			},
		},
		// A new version has a tag of its own, which is ours from then on.
		resource.TestStep{
			Config: s.config(`version = "2"`), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{known("tag", matching(`^v2-[0-9a-f]{8}$`)), s.holds(t, both...)},
		},
	)
}

func TestImport_TakesTheVersionFromTheTag(t *testing.T) {
	s := newStack(t)
	reference, tag := s.retained(t, `version = "2026.7-rc_1"`)
	s.run(t,
		resource.TestStep{
			Config: importing(reference, s.config(`version = "3"`)), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{known("tag", knownvalue.StringExact("v3-"+tag[len(tag)-8:])), s.holds(t)},
		},
	)
}

func TestImport_RebuildTriggerReplacesOnlyLater(t *testing.T) {
	s := newStack(t)
	reference, tag := s.retained(t, `rebuild_trigger = { n = "1" }`)
	s.run(t,
		resource.TestStep{
			Config: importing(reference, s.config(`rebuild_trigger = { n = "1" }`)), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{known("tag", knownvalue.StringExact(tag))},
		},
		resource.TestStep{
			Config: s.config(`rebuild_trigger = { n = "2" }`), ConfigPlanChecks: expect(plancheck.ResourceActionCreateBeforeDestroy),
			ConfigStateChecks: []statecheck.StateCheck{s.holds(t)},
		},
	)
}

// The image tells its Python, so that what a marker chooses is known though nothing is built; else the plan would never be empty.
func TestImport_OfALockWithMarkersConverges(t *testing.T) {
	s := newStack(t)
	lock := fmt.Sprintf("lock = %q", `six==1.17.0 ; python_version < "4" --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274`)
	reference, _ := s.retained(t, lock)
	s.run(t,
		resource.TestStep{
			Config: importing(reference, s.config(lock)), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{known("packages", knownvalue.MapExact(map[string]knownvalue.Check{"six": knownvalue.StringExact("1.17.0")}))},
		},
		resource.TestStep{Config: s.config(lock), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
	)
}

package provider_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// startCounting forgets the requests and refreshes so far.
func (s *stack) startCounting() {
	s.takeReads()
	s.registry.ResetRequests()
}

// answered counts the registry's answers of one status, and checks that every request was a HEAD of a manifest.
func (s *stack) answered(t *testing.T, status int) int {
	t.Helper()
	count := 0
	for _, request := range s.registry.Requests() {
		if request.Method != http.MethodHead || !strings.Contains(request.Path, "/manifests/") {
			t.Errorf("%s was sent, want HEADs of manifests only", request)
		}
		if request.Status == status {
			count++
		}
	}
	return count
}

func TestRefresh_CostsOneHead(t *testing.T) {
	s := newStack(t)
	s.run(t,
		resource.TestStep{Config: s.config("")},
		resource.TestStep{
			PreConfig: s.startCounting, Config: s.config(""), PlanOnly: true,
			PostApplyFunc: func() {
				requests, reads := s.registry.Requests(), s.takeReads()
				if len(requests) != reads || s.answered(t, http.StatusOK) != reads || reads == 0 {
					t.Errorf("%d refreshes cost %v", reads, requests)
				}
				for _, request := range requests {
					if !strings.Contains(request.Path, "/manifests/v1-") {
						t.Errorf("%s was sent, want a HEAD by tag", request)
					}
				}
			},
		},
	)
}

func TestRefresh_CostsNoMoreThanTheChallengeBesides(t *testing.T) {
	s := newStack(t, enginetest.BasicAuth(map[string]string{"robot": "cnry-drift-1"}, nil))
	t.Setenv("DATALAYER_REGISTRIES", fmt.Sprintf(`{%q: {"username": "robot", "password": "cnry-drift-1"}}`, s.registry.Host))
	s.run(t,
		resource.TestStep{Config: s.config("")},
		resource.TestStep{
			PreConfig: s.startCounting, Config: s.config(""), PlanOnly: true,
			PostApplyFunc: func() {
				// Each run of Terraform starts a provider of its own, which is challenged once.
				reads := s.takeReads()
				if good, challenged := s.answered(t, http.StatusOK), s.answered(t, http.StatusUnauthorized); good != reads || challenged > reads || reads == 0 {
					t.Errorf("%d refreshes cost %v", reads, s.registry.Requests())
				}
			},
		},
	)
}

func TestRefresh_TagThatIsGoneOrMovedChangesNothing(t *testing.T) {
	tests := map[string]struct {
		change func(t *testing.T, s *stack, base, tag string)
		words  string
		head   int // the answer to the HEAD by tag
		left   func(base, tag string) []string
		title  string
	}{
		"deleted": {
			func(t *testing.T, s *stack, _, tag string) { must(t, s.images().Untag(t.Context(), s.target(t), tag)) },
			"A new version puts a tag again", http.StatusNotFound, func(string, string) []string { return []string{} }, "Tag of the environment is gone",
		},
		"moved": {
			func(t *testing.T, s *stack, base, tag string) {
				must(t, s.images().Tag(t.Context(), s.target(t), base, tag))
			},
			"now points to sha256:", http.StatusOK, func(base, tag string) []string { return []string{"base:" + tag, "base@" + base} }, "Tag of the environment moved",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStack(t)
			s.repository = s.registry.Host + "/base"
			var base, tag string
			same := statecheck.CompareValue(compare.ValuesSame())
			if name == "moved" {
				_, base, _ = strings.Cut(s.registry.PushBase(t), "@")
			}
			s.runUntil(t, func(*terraform.State) error {
				left := tt.left(base, tag)
				return s.left(t, left...)
			},
				resource.TestStep{Config: s.config(""), ConfigStateChecks: []statecheck.StateCheck{
					remember("tag", &tag), same.AddStateValue(address, tfjsonpath.New("reference")),
				}},
				resource.TestStep{
					PreConfig: func() {
						tt.change(t, s, base, tag)
						s.startCounting()
					},
					Config: s.config(""), PlanOnly: true,
					PostApplyFunc: func() {
						s.warned(t, tt.title, tag, tt.words, s.repository+"@sha256:")
						reads := s.takeReads()
						want := map[int]int{http.StatusOK: reads}
						want[tt.head] += reads
						for status, times := range want {
							if got := s.answered(t, status); got != times {
								t.Errorf("%d refreshes had %d answers %d in %v, want %d", reads, got, status, s.registry.Requests(), times)
							}
						}
					},
				},
				// Also where a plan is applied, state keeps what it has.
				resource.TestStep{
					Config:            strings.Replace(s.config(""), "env-a", "env-b", 1),
					ConfigPlanChecks:  expect(plancheck.ResourceActionUpdate),
					ConfigStateChecks: []statecheck.StateCheck{same.AddStateValue(address, tfjsonpath.New("reference"))},
					PostApplyFunc:     func() { s.warned(t, tt.title) },
				},
			)
		})
	}
}

func TestRefresh_DigestThatIsGoneIsBuiltAgain(t *testing.T) {
	s := newStack(t)
	var digest string
	same := statecheck.CompareValue(compare.ValuesSame())
	s.run(t,
		resource.TestStep{Config: s.config(""), ConfigStateChecks: []statecheck.StateCheck{
			remember("digest", &digest), same.AddStateValue(address, tfjsonpath.New("digest")),
		}},
		resource.TestStep{
			PreConfig: func() { must(t, s.images().Delete(t.Context(), s.target(t), digest)) },
			Config:    s.config(""), ConfigPlanChecks: expect(plancheck.ResourceActionCreate),
			ConfigStateChecks: []statecheck.StateCheck{same.AddStateValue(address, tfjsonpath.New("digest")), s.holds(t)},
		},
	)
}

func TestRefresh_OnlyNotFoundMeansGone(t *testing.T) {
	const html = "<html><body><h1>Bad Gateway</h1></body></html>"
	answer := func(status int, body string) chooser { return refusing(http.MethodHead, "/manifests/", status, body) }
	s := newStack(t)
	credentials := "check the credentials for " + s.registry.Host
	tests := []struct {
		fault chooser
		says  []string // what the error says between host and advice; nil: the answer means gone
	}{
		{answer(401, ""), []string{"401 Unauthorized", credentials}},
		{answer(403, ""), []string{"403 Forbidden", credentials}},
		{answer(429, ""), []string{"429 Too Many Requests"}},
		{answer(500, ""), []string{"500 Internal Server Error"}},
		{answer(502, html), []string{"502 Bad Gateway"}},
		{func(*http.Request) *enginetest.FaultResponse { return &enginetest.FaultResponse{Cut: true} }, []string{"EOF"}},
		{answer(404, ociError("MANIFEST_UNKNOWN", "manifest unknown")), nil},
		{answer(404, ociError("NAME_UNKNOWN", "repository name not known to registry")), nil},
		{answer(404, html), nil},
	}
	unchanged := statecheck.CompareValue(compare.ValuesSame())
	steps := []resource.TestStep{{Config: s.config(""), ConfigStateChecks: []statecheck.StateCheck{unchanged.AddStateValue(address, tfjsonpath.New("artifact"))}}}
	for _, tt := range tests {
		broken := resource.TestStep{PreConfig: s.breakWith(tt.fault), Config: s.config(""), PlanOnly: true}
		if tt.says == nil {
			broken.ExpectNonEmptyPlan = true
			broken.ConfigPlanChecks = resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(address, plancheck.ResourceActionCreate),
			}}
		} else {
			broken.ExpectError = says(slices.Concat([]string{s.registry.Host}, tt.says, []string{"State is kept as it was.", "-refresh=false"})...)
		}
		steps = append(steps, broken)
	}
	steps = append(steps, resource.TestStep{PreConfig: s.breakWith(nil), Config: s.config(""),
		ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
		ConfigStateChecks: []statecheck.StateCheck{unchanged.AddStateValue(address, tfjsonpath.New("artifact")), s.holds(t)},
	})
	s.run(t, steps...)
}

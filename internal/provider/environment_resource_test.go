package provider_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

func expect(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, action)}}
}

func known(attribute string, value knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, tfjsonpath.New(attribute), value)
}

func matching(pattern string) knownvalue.Check {
	return knownvalue.StringRegexp(regexp.MustCompile(pattern))
}

const content = `
  files = [{ path = "/srv/a", content = %q }]
`

func TestEnvironment_LifecycleFromCreateToDestroy(t *testing.T) {
	s := newStack(t)
	lock := testdata(t, "six.lock")
	arguments := func(lock, rest string) string {
		return s.config(fmt.Sprintf(`
  lock         = %q
  env          = { A = "1", B = "2" }
  files        = [{ path = "/srv/a", content = "a" }, { path = "/srv/b", content_base64 = "Yg==", mode = "755" }]
%s`, lock, rest))
	}
	sameDigest := statecheck.CompareValue(compare.ValuesSame())
	sameNonce := func(tag string) string { return regexp.MustCompile(`[0-9a-f]{8}$`).FindString(tag) }
	var nonce string
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: s.factories(),
		CheckDestroy:             s.nothingLeft(t),
		Steps: []resource.TestStep{
			{
				Config: arguments(lock, ""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectKnownValue(address, tfjsonpath.New("packages"), knownvalue.MapExact(map[string]knownvalue.Check{"six": knownvalue.StringExact("1.17.0")})),
					plancheck.ExpectKnownValue(address, tfjsonpath.New("cache_key"), matching(`^sha256:[0-9a-f]{64}$`)),
					plancheck.ExpectUnknownValue(address, tfjsonpath.New("digest")),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					sameDigest.AddStateValue(address, tfjsonpath.New("digest")),
					known("reference", matching("^"+regexp.QuoteMeta(s.repository)+"@sha256:[0-9a-f]{64}$")),
					known("tag", matching(`^v1-[0-9a-f]{8}$`)),
					known("python_version", knownvalue.StringExact(s.BasePython)),
					known("size_bytes", knownvalue.Int64Func(func(size int64) error {
						if size < 1<<20 {
							return fmt.Errorf("%d bytes is less than any base has", size)
						}
						return nil
					})),
					known("media_type", knownvalue.StringExact("application/vnd.oci.image.manifest.v1+json")),
					known("manifests", knownvalue.MapExact(map[string]knownvalue.Check{"linux/amd64": matching("^sha256:")})),
					known("built_at", matching(`^20\d\d-\d\d-\d\dT[0-9:]+Z$`)),
					known("retained", knownvalue.ListExact(nil)),
					known("credential_expires_at", knownvalue.Null()),
					known("artifact", knownvalue.ObjectPartial(map[string]knownvalue.Check{
						"variant": knownvalue.StringExact("datalayer"), "contract": knownvalue.StringExact("sandbox-contract/v1"),
						"packages": knownvalue.MapExact(map[string]knownvalue.Check{"six": knownvalue.StringExact("1.17.0")}), "env": knownvalue.MapExact(nil),
					})),
					known("tag", knownvalue.StringFunc(func(tag string) error { nonce = sameNonce(tag); return nil })),
				},
			},
			{
				// Comments, order and spelling are no content.
				Config: s.config(fmt.Sprintf(`
  lock  = %q
  env   = { B = "2", A = "1" }
  files = [{ path = "/srv/b", content = "b", mode = "0755" }, { path = "/srv/a", content = "a" }]
`, "# made today\r\n"+strings.ReplaceAll(lock, "\n", "\r\n"))),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
			{
				PreConfig: s.registry.ResetRequests,
				Config: strings.Replace(arguments(lock, `
  deletion_policy = "delete"
  python_version  = "3.13"
  timeouts        = { create = "30m" }
`), `"env-a"`, `"another name"`, 1),
				ConfigPlanChecks:  expect(plancheck.ResourceActionUpdate),
				ConfigStateChecks: []statecheck.StateCheck{sameDigest.AddStateValue(address, tfjsonpath.New("digest"))},
				PostApplyFunc:     func() { s.onlyHeads(t) },
			},
			{
				Config:           arguments(lock, `  version = "2"`),
				ConfigPlanChecks: expect(plancheck.ResourceActionUpdate),
				ConfigStateChecks: []statecheck.StateCheck{
					sameDigest.AddStateValue(address, tfjsonpath.New("digest")),
					known("tag", knownvalue.StringFunc(func(tag string) error {
						if tag != "v2-"+nonce {
							return fmt.Errorf("tag is %s, want v2-%s", tag, nonce)
						}
						return nil
					})),
				},
				PostApplyFunc: func() {
					if left := strings.Join(s.registry.Left(t), " "); strings.Contains(left, ":v1-") {
						t.Errorf("the old tag is still there: %s", left)
					}
				},
			},
			{
				Config:            arguments(lock, `  labels = { team = "b" }`),
				ConfigPlanChecks:  expect(plancheck.ResourceActionCreateBeforeDestroy),
				ConfigStateChecks: []statecheck.StateCheck{known("tag", matching(`^v1-`))},
				PostApplyFunc: func() {
					if left := s.registry.Left(t); len(left) != 2 {
						t.Errorf("in the registry: %v, want one tag and one manifest", left)
					}
				},
			},
		},
	})
}

// onlyHeads checks that since the last reset the registry was only looked at.
func (s *stack) onlyHeads(t *testing.T) {
	t.Helper()
	for _, request := range s.registry.Requests() {
		if request.Method != "HEAD" {
			t.Errorf("%s was sent, want HEADs only", request)
		}
	}
}

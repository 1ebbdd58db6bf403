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

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

const baseAddress = "datalayer_base_image.b"

func knownBase(attribute string, value knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(baseAddress, tfjsonpath.New(attribute), value)
}

// rememberBase keeps an attribute of the base for a later step.
func rememberBase(attribute string, into *string) statecheck.StateCheck {
	return knownBase(attribute, knownvalue.StringFunc(func(value string) error {
		*into = value
		return nil
	}))
}

// withoutStatements gives what builds faster, and a digest that is equal for equal content.
const withoutStatements = "  attestations = { sbom = false, provenance = \"none\" }\n"

// baseConfig is one base image on Debian with these further arguments.
func (s *stack) baseConfig(from, arguments string) string {
	return fmt.Sprintf(`
resource "datalayer_base_image" "b" {
  name       = "base-a"
  repository = "%s/team/base"
  from       = %q
  python     = "apt"
%s%s
  lifecycle { create_before_destroy = true }
}
`, s.registry.Host, from, withoutStatements, arguments)
}

// plainRegistry is a registry of its own with plain Debian under a tag.
type plainRegistry struct {
	*enginetest.Registry
	image reference.Reference
}

func newPlainRegistry(t *testing.T) plainRegistry {
	t.Helper()
	plain := plainRegistry{Registry: enginetest.StartRegistry(t)}
	var err error
	plain.image, err = reference.ParsePinned(plain.PushPlainDebian(t))
	must(t, err)
	return plain
}

func (p plainRegistry) tag(t *testing.T, s *stack, tag, digest string) (from string) {
	t.Helper()
	must(t, s.images().Tag(t.Context(), p.image.Repository, digest, tag))
	return p.image.Repository.WithTag(tag).String()
}

func TestBaseImage_LifecycleFromCreateToDestroy(t *testing.T) {
	s, plain := newStack(t), newPlainRegistry(t)
	from := plain.tag(t, s, "trixie", plain.image.Digest)
	same := statecheck.CompareValue(compare.ValuesSame())
	act := func(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(baseAddress, action)}}
	}
	s.run(t,
		resource.TestStep{
			Config: s.baseConfig(from, ""),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectUnknownValue(baseAddress, tfjsonpath.New("from_digest")), plancheck.ExpectUnknownValue(baseAddress, tfjsonpath.New("cache_key")),
				plancheck.ExpectKnownValue(baseAddress, tfjsonpath.New("kernel_lock"), knownvalue.Null()),
				plancheck.ExpectKnownValue(baseAddress, tfjsonpath.New("kernel_lock_digest"), knownvalue.StringExact(shippedKernelLock(t))),
				plancheck.ExpectKnownValue(baseAddress, tfjsonpath.New("doctor_digest"), knownvalue.StringExact(doctor.Digest().String())),
			}},
			ConfigStateChecks: []statecheck.StateCheck{
				same.AddStateValue(baseAddress, tfjsonpath.New("digest")), s.holds(t),
				knownBase("from_digest", knownvalue.StringExact(plain.image.Digest)), knownBase("python_version", knownvalue.StringExact("3.13")), knownBase("libc", matching(`^glibc 2\.\d+$`)),
				knownBase("packages", knownvalue.MapPartial(map[string]knownvalue.Check{
					"ipykernel": matching(`^\d`), "jupyter-client": matching(`^\d`), "jupyter-server": matching(`^\d`),
				})),
				knownBase("reference", matching("^"+regexp.QuoteMeta(s.registry.Host)+"/team/base@sha256:[0-9a-f]{64}$")), knownBase("tag", matching(`^v1-[0-9a-f]{8}$`)),
				knownBase("cache_key", matching(`^sha256:`)), knownBase("kernel_lock_digest", knownvalue.StringExact(shippedKernelLock(t))), knownBase("kernel_lock", knownvalue.Null()), knownBase("retained", knownvalue.ListExact(nil)),
				knownBase("credential_expires_at", knownvalue.Null()), knownBase("built_at", matching(`^20`)), knownBase("manifests", knownvalue.MapExact(map[string]knownvalue.Check{"linux/amd64": matching("^sha256:")})),
			},
		},
		resource.TestStep{
			// The tag moves on, and no plan and no refresh asks for it.
			PreConfig: func() {
				plain.PushBase(t)
				must(t, s.images().Tag(t.Context(), reference.Repository{Host: plain.Host, Path: "base"}, digestOf(t, s.BaseReference), "trixie"))
				plain.ResetRequests()
			},
			Config:           s.baseConfig(from, ""),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			PostApplyFunc: func() {
				if asked := plain.Requests(); len(asked) > 0 {
					t.Errorf("the registry of the plain image was asked %v", asked)
				}
			},
		},
		resource.TestStep{
			// The default, written down: state takes the text, and nothing is built.
			Config: s.baseConfig(from, "  kernel_lock = "+fmt.Sprintf("%q", base.KernelLock)), ConfigPlanChecks: act(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{same.AddStateValue(baseAddress, tfjsonpath.New("digest")), knownBase("kernel_lock_digest", knownvalue.StringExact(shippedKernelLock(t))), s.holds(t)},
		},
		resource.TestStep{
			Config:           s.baseConfig(from, "  kernel_lock = "+fmt.Sprintf("%q", "# said again\n"+strings.ReplaceAll(base.KernelLock, "\n", "\r\n"))),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
		},
		resource.TestStep{
			Config:            strings.Replace(s.baseConfig(from, "  version = \"2\"\n  timeouts = { create = \"30m\" }"), "base-a", "another name", 1),
			ConfigPlanChecks:  act(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{same.AddStateValue(baseAddress, tfjsonpath.New("digest")), knownBase("tag", matching(`^v2-`)), s.holds(t)},
		},
		resource.TestStep{
			// The same image by its digest is the same base.
			Config:           s.baseConfig(plain.image.String(), "  version = \"2\""),
			ConfigPlanChecks: act(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{
				same.AddStateValue(baseAddress, tfjsonpath.New("digest")), knownBase("from_digest", knownvalue.StringExact(plain.image.Digest)),
			},
		},
		resource.TestStep{
			Config:            s.baseConfig(plain.image.String(), "  labels = { team = \"b\" }"),
			ConfigPlanChecks:  act(plancheck.ResourceActionCreateBeforeDestroy),
			ConfigStateChecks: []statecheck.StateCheck{knownBase("tag", matching(`^v1-`)), s.holds(t)},
		},
		resource.TestStep{
			Config:           s.baseConfig(plain.image.String(), "  labels = { team = \"b\" }"),
			Taint:            []string{baseAddress},
			ConfigPlanChecks: act(plancheck.ResourceActionCreateBeforeDestroy), ConfigStateChecks: []statecheck.StateCheck{s.holds(t)},
		},
	)
}

func digestOf(t *testing.T, pinned string) string {
	t.Helper()
	parsed, err := reference.ParsePinned(pinned)
	must(t, err)
	return parsed.Digest
}

// TestBaseImage_FeedsAnEnvironment builds a base and an environment on it, and changes what has no content.
func TestBaseImage_FeedsAnEnvironment(t *testing.T) {
	s := newStack(t)
	environment := strings.Replace(s.config(`
  python_version = datalayer_base_image.b.python_version
  base_packages  = datalayer_base_image.b.packages
  lock           = `+fmt.Sprintf("%q", testdata(t, "six.lock"))), fmt.Sprintf("base       = %q", s.BaseReference), "base = datalayer_base_image.b.reference", 1)
	config := func(arguments string) string { return s.baseConfig(s.PlainDebianReference, arguments) + environment }
	actions := func(ofBase, ofEnvironment plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectResourceAction(baseAddress, ofBase), plancheck.ExpectResourceAction(address, ofEnvironment),
		}}
	}
	s.run(t,
		resource.TestStep{
			Config: config(""), ConfigPlanChecks: actions(plancheck.ResourceActionCreate, plancheck.ResourceActionCreate),
			ConfigStateChecks: []statecheck.StateCheck{s.holds(t), known("python_version", knownvalue.StringExact("3.13")), known("packages", knownvalue.MapSizeExact(1))},
		},
		resource.TestStep{Config: config(""), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
		resource.TestStep{
			Config:            strings.Replace(config("  version = \"2\"\n  deletion_policy = \"delete\""), "base-a", "another name", 1),
			ConfigPlanChecks:  actions(plancheck.ResourceActionUpdate, plancheck.ResourceActionNoop),
			ConfigStateChecks: []statecheck.StateCheck{s.holds(t)},
		},
		resource.TestStep{
			Config:            config("  labels = { team = \"b\" }"),
			ConfigPlanChecks:  actions(plancheck.ResourceActionCreateBeforeDestroy, plancheck.ResourceActionCreateBeforeDestroy),
			ConfigStateChecks: []statecheck.StateCheck{s.holds(t)},
		},
	)
}

// TestBaseImage_GoneFromTheRegistryIsMadeAgain is on the default layout, Docker Official's.
func TestBaseImage_GoneFromTheRegistryIsMadeAgain(t *testing.T) {
	s := newStack(t)
	config := strings.Replace(s.baseConfig(s.OfficialPythonReference, ""), "  python     = \"apt\"\n", "", 1)
	var digest string
	s.run(t,
		resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{
			rememberBase("digest", &digest), knownBase("python", knownvalue.StringExact("image")), knownBase("python_version", knownvalue.StringExact("3.13")),
		}},
		resource.TestStep{
			PreConfig: func() {
				repository := reference.Repository{Host: s.registry.Host, Path: "team/base"}
				must(t, s.images().Delete(t.Context(), repository, digest))
			},
			Config:           config,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(baseAddress, plancheck.ResourceActionCreate)}},
			ConfigStateChecks: []statecheck.StateCheck{knownBase("digest", knownvalue.StringFunc(func(again string) error {
				if again != digest {
					return fmt.Errorf("the same content is %s now, and was %s", again, digest)
				}
				return nil
			})), s.holds(t)},
		},
	)
}

// shippedKernelLock is the digest of the default.
func shippedKernelLock(t *testing.T) string {
	t.Helper()
	locked, err := lock.Parse(base.KernelLock)
	must(t, err)
	return locked.Digest()
}

// otherKernelLock is a kernel stack that no release ships: six would come anyway, and colorama beside it.
const otherKernelLock = "colorama==0.4.6 --hash=sha256:4f1d9991f5acc0ca119f9d443620b77f9d6b33703e51011c16baf57afb285fc6\n"

// TestBaseImage_KeepsItsDefaults stands for another release of the provider, whose default lock is another one: it makes no
// build. That the digest alone keeps a default is TestCLI_StateKeepsTheKernelLockOfAnotherRelease's.
func TestBaseImage_KeepsItsDefaults(t *testing.T) {
	s := newStack(t)
	text := base.KernelLock + otherKernelLock
	kept := knownBase("kernel_lock", knownvalue.StringExact(text))
	s.run(t,
		resource.TestStep{Config: s.baseConfig(s.PlainDebianReference, fmt.Sprintf("  kernel_lock = %q", text)), ConfigStateChecks: []statecheck.StateCheck{
			kept, knownBase("packages", knownvalue.MapPartial(map[string]knownvalue.Check{"colorama": knownvalue.StringExact("0.4.6")})),
		}},
		resource.TestStep{
			Config:            s.baseConfig(s.PlainDebianReference, ""),
			ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			ConfigStateChecks: []statecheck.StateCheck{kept},
		},
		resource.TestStep{
			// Something else makes a build, and the plan shows what it brings.
			Config: s.baseConfig(s.PlainDebianReference, "  labels = { team = \"b\" }"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(baseAddress, plancheck.ResourceActionCreateBeforeDestroy),
				plancheck.ExpectKnownValue(baseAddress, tfjsonpath.New("kernel_lock"), knownvalue.Null()),
				plancheck.ExpectKnownValue(baseAddress, tfjsonpath.New("kernel_lock_digest"), knownvalue.StringExact(shippedKernelLock(t))),
			}},
			ConfigStateChecks: []statecheck.StateCheck{s.holds(t)},
		},
	)
}

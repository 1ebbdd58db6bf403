package provider_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
)

func TestBaseImage_ImportGivesItsContentBack(t *testing.T) {
	s, plain := newStack(t), newPlainRegistry(t)
	from := plain.tag(t, s, "trixie", plain.image.Digest)
	config := s.baseConfig(from, "")
	var imported string
	s.runUntil(t, func(*terraform.State) error { return nil }, resource.TestStep{
		Config:            s.baseConfig(from, "  deletion_policy = \"retain\""),
		ConfigStateChecks: []statecheck.StateCheck{rememberBase("reference", &imported)},
	})
	s.run(t,
		resource.TestStep{
			Config: fmt.Sprintf("import {\n  to = %s\n  id = %q\n}\n%s", baseAddress, imported, config),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(baseAddress, plancheck.ResourceActionUpdate),
			}},
			ConfigStateChecks: []statecheck.StateCheck{
				knownBase("reference", knownvalue.StringExact(imported)), knownBase("from_digest", knownvalue.StringExact(plain.image.Digest)), knownBase("kernel_lock", knownvalue.Null()), knownBase("kernel_lock_digest", knownvalue.StringExact(shippedKernelLock(t))),
				knownBase("python_version", knownvalue.StringExact("3.13")), knownBase("libc", matching(`^glibc 2\.\d+$`)), knownBase("packages", knownvalue.MapPartial(map[string]knownvalue.Check{"ipykernel": matching(`^\d`)})),
				knownBase("doctor_digest", knownvalue.StringExact(doctor.Digest().String())),
			},
		},
		resource.TestStep{Config: config, ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
		resource.TestStep{
			ResourceName: baseAddress, ImportState: true, ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "reference", ImportStateId: imported,
			ImportStateVerifyIgnore: []string{"name", "from", "python", "kernel_lock", "platforms", "labels", "attestations", "deletion_policy", "timeouts"},
		},
	)
}

// TestBaseImage_OfAnEnvironmentIsNotImported keeps the labels that an environment takes over from its base from passing for its own.
func TestBaseImage_OfAnEnvironmentIsNotImported(t *testing.T) {
	s := newStack(t)
	built, _ := s.retained(t, "")
	s.runUntil(t, func(*terraform.State) error { return nil }, resource.TestStep{
		Config:      fmt.Sprintf("import {\n  to = %s\n  id = %q\n}\n%s", baseAddress, built, s.baseConfig(s.PlainDebianReference, "")),
		ExpectError: says("Image to import is an environment", built),
	})
}

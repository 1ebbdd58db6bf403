package provider_test

import (
	"fmt"
	"strings"
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

// TestBaseImage_ForeignContentReplacesOnceItIsAdopted has an image without a key: the first plan takes the arguments as they are, and
// their next change builds.
func TestBaseImage_ForeignContentReplacesOnceItIsAdopted(t *testing.T) {
	s := newStackWithoutEngine(t)
	digest := s.foreignImage(t, [2]string{"linux", "amd64"}, map[string]any{"User": "1000:100"})
	c := s.newCLI(t)
	from := func(digit string) string { return "r.example.com/python@sha256:" + strings.Repeat(digit, 64) }
	config := func(from, arguments string) string {
		return strings.Replace(s.baseConfig(from, arguments), "team/base", "team/env", 1)
	}
	adopted := config(from("a"), "")
	c.write("main.tf", adopted)
	c.expect(0, "import", baseAddress, s.repository+"@"+digest)
	if o := c.apply(); !strings.Contains(o.stdout, "0 added, 1 changed, 0 destroyed") || !strings.Contains(o.stdout, "Content of the imported image is not checked") {
		t.Error(o.stdout)
	}
	c.planIsEmpty()
	for name, changed := range map[string]string{
		"from": config(from("c"), ""), "labels": config(from("a"), "  labels = { a = \"b\" }"), "python": strings.Replace(adopted, `"apt"`, `"image"`, 1),
		"platforms": config(from("a"), "  platforms = [\"linux/arm64\"]"),
	} {
		c.write("main.tf", changed)
		if o := c.expect(2, "plan", "-detailed-exitcode"); !strings.Contains(o.stdout, baseAddress+" must be replaced") {
			t.Errorf("%s: %s", name, o.stdout)
		}
	}
	c.write("main.tf", adopted)
	c.planIsEmpty()
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

package provider_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
)

func TestBaseImage_FailuresNameWhatToChange(t *testing.T) {
	s := newStack(t)
	on := func(from, python, arguments string) string {
		return strings.Replace(s.baseConfig(from, arguments), `python     = "apt"`, fmt.Sprintf("python     = %q", python), 1)
	}
	plain := s.PlainDebianReference
	kernelOnly := func(marker string) string {
		return regexp.MustCompile(`(?m)^ipykernel==\S+`).ReplaceAllString(base.KernelLock, "$0 ; "+marker)
	}
	tests := map[string]struct {
		config string
		want   *regexp.Regexp
	}{
		"no Python in the image": {on(plain, "image", ""), says("Parent image does not fit", `base image "base-a"`, "no python3 on its PATH", `python = "apt"`)},
		"no such tag":            {on(s.RegistryHost+"/debian:nowhere", "apt", ""), says("Parent image has no such tag", "debian:nowhere")},
		"no such digest":         {on(s.RegistryHost+"/debian@sha256:"+strings.Repeat("0", 64), "apt", ""), says("Parent image does not exist")},
		"other platform":         {on(plain, "apt", "  platforms = [\"linux/arm64\"]"), says("Parent image lacks the platform", "linux/arm64")},
		"a hash that does not fit": {on(plain, "apt", fmt.Sprintf("  kernel_lock = %q", base.KernelLock+"colorama==0.4.6 --hash=sha256:"+strings.Repeat("0", 64)+"\n")),
			says("Hash mismatch in the locked packages", "colorama")},
		"half a kernel stack":              {on(plain, "apt", fmt.Sprintf("  kernel_lock = %q", testdata(t, "six.lock"))), says("Kernel lock is not a whole kernel stack", "ipykernel, jupyter-client, jupyter-server")},
		"a kernel for another system":      {on(plain, "apt", fmt.Sprintf("  kernel_lock = %q", kernelOnly("sys_platform == 'win32'"))), says("Kernel lock is not a whole kernel stack", "lacks ipykernel on linux/amd64")},
		"a kernel for another Python":      {on(plain, "apt", fmt.Sprintf("  kernel_lock = %q", kernelOnly("python_full_version < '3.13'"))), says("Kernel lock is not a whole kernel stack", "kernel_lock", "lacks ipykernel on linux/amd64, Python 3.13")},
		"kernel stack of another Python":   {on(plain, "apt", fmt.Sprintf("  kernel_lock = %q", "# python: 3.12\n"+base.KernelLock)), says("Lock is for another Python", "kernel_lock", "resolved for Python 3.12", "the base has 3.13")},
		"kernel stack of another platform": {on(plain, "apt", fmt.Sprintf("  kernel_lock = %q", "# platform: aarch64-manylinux_2_28\n"+base.KernelLock)), says("Lock is for another platform", "kernel_lock", "resolved for linux/arm64", "linux/amd64")},
		"kernel stack for musl":            {on(plain, "apt", fmt.Sprintf("  kernel_lock = %q", "# platform: x86_64-unknown-linux-musl\n"+base.KernelLock)), says("Lock is for another C library", "kernel_lock", "it is for musl, and the base has glibc 2.")},
		"kernel stack for a newer glibc":   {on(plain, "apt", fmt.Sprintf("  kernel_lock = %q", "# platform: x86_64-manylinux_2_99\n"+base.KernelLock)), says("Lock is for another C library", "kernel_lock", "it needs glibc 2.99, and the base has glibc 2.")},
		"no kernel stack":                  {on(plain, "apt", "  kernel_lock = \"# nothing\""), says("Lock without requirements", "kernel_lock", "or leave the argument out")},
		"another file":                     {on(plain, "apt", fmt.Sprintf("  kernel_lock = %q", strings.Repeat("FROM debian\n", 40))), says("Unreadable line in the lock", "More offending lines in the lock", "the first 10 problems are shown, and 109 more are not")},
		"no tag and no digest":             {on(s.RegistryHost+"/debian", "apt", ""), says("Parent image without a tag or digest")},
		"unknown source":                   {on(plain, "conda", ""), says("Invalid python", `"image" or "apt"`)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s.run(t, resource.TestStep{Config: test.config, ExpectError: test.want})
		})
	}
}

// TestBaseImage_InputsThatAreNotKnownYet plans with what another resource makes first.
func TestBaseImage_InputsThatAreNotKnownYet(t *testing.T) {
	s := newStack(t)
	config := func(team string) string {
		return fmt.Sprintf(`
resource "terraform_data" "t" {
  input = { from = %q, lock = %q, team = %q }
}
`, s.PlainDebianReference, base.KernelLock, team) + strings.Replace(s.baseConfig("FROM", `
  kernel_lock = terraform_data.t.output.lock
  labels      = { team = terraform_data.t.output.team }
`), `"FROM"`, "terraform_data.t.output.from", 1)
	}
	unknown := func(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectResourceAction(baseAddress, action), plancheck.ExpectUnknownValue(baseAddress, tfjsonpath.New("cache_key")),
			plancheck.ExpectUnknownValue(baseAddress, tfjsonpath.New("reference")),
		}}
	}
	s.run(t,
		resource.TestStep{Config: config("a"), ConfigPlanChecks: unknown(plancheck.ResourceActionCreate), ConfigStateChecks: []statecheck.StateCheck{
			s.holds(t), knownBase("from_digest", knownvalue.StringExact(digestOf(t, s.PlainDebianReference))), knownBase("kernel_lock_digest", matching("^sha256:")),
		}},
		resource.TestStep{Config: config("a"), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
		resource.TestStep{Config: config("b"), ConfigPlanChecks: unknown(plancheck.ResourceActionCreateBeforeDestroy), ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}},
	)
}

// TestBaseImage_DefaultsAtPlan asks no registry and no daemon: there are none.
func TestBaseImage_DefaultsAtPlan(t *testing.T) {
	s := newStackWithoutEngine(t)
	value := func(attribute, want string) plancheck.PlanCheck {
		return plancheck.ExpectKnownValue(baseAddress, tfjsonpath.New(attribute), knownvalue.StringExact(want))
	}
	resource.UnitTest(t, resource.TestCase{ProtoV6ProviderFactories: s.factories(), Steps: []resource.TestStep{{
		Config:   fmt.Sprintf("resource \"datalayer_base_image\" \"b\" {\n  name = \"b\"\n  repository = %q\n}", s.repository),
		PlanOnly: true, ExpectNonEmptyPlan: true,
		ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{
			value("from", "docker.io/library/python:3.13-slim-bookworm"), value("python", "image"), value("kernel_lock_digest", shippedKernelLock(t)), value("version", "1"),
			plancheck.ExpectKnownValue(baseAddress, tfjsonpath.New("kernel_lock"), knownvalue.Null()),
			plancheck.ExpectUnknownValue(baseAddress, tfjsonpath.New("from_digest")), plancheck.ExpectUnknownValue(baseAddress, tfjsonpath.New("cache_key")),
			plancheck.ExpectKnownValue(baseAddress, tfjsonpath.New("retained"), knownvalue.ListExact(nil)),
		}},
	}}})
}

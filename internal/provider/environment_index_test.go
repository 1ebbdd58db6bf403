package provider_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// TestPackageIndex_RotationBuildsNothing installs from a private index, and then changes all about it but the packages.
func TestPackageIndex_RotationBuildsNothing(t *testing.T) {
	s := newStack(t)
	index := enginetest.StartIndex(t)
	arguments := func(url, version string) string {
		return passwordVariable + s.config(fmt.Sprintf(`
  lock          = %q
  package_index = { url = %q, ca_certificates = %q, username = %q, password_wo = var.password, password_wo_version = %s }
  build_secrets_wo         = { licence = var.password }
  build_secrets_wo_version = %s
  post_install = [{ command = "test -s /run/secrets/licence" }]
`, index.Lock, url, index.CA.PEM, index.Username, version, version))
	}
	password := func(text string) config.Variables { return config.Variables{"password": config.StringVariable(text)} }
	s.run(t,
		resource.TestStep{
			Config: arguments(index.URL, "1"), ConfigVariables: password(enginetest.IndexPassword),
			ConfigStateChecks: []statecheck.StateCheck{
				s.holds(t), known("packages", knownvalue.MapExact(map[string]knownvalue.Check{"private-tool": knownvalue.StringExact(index.Version)})),
				known("build_secrets_wo", knownvalue.Null()), known("package_index", knownvalue.ObjectPartial(map[string]knownvalue.Check{"password_wo": knownvalue.Null()})),
			},
			PostApplyFunc: s.registry.ResetRequests,
		},
		resource.TestStep{
			Config: arguments(index.URL, "1"), ConfigVariables: password("another-password"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
		},
		resource.TestStep{
			Config: arguments("https://mirror.example.com/simple/", "2"), ConfigVariables: password("another-password"),
			ConfigPlanChecks: expect(plancheck.ResourceActionUpdate), PostApplyFunc: func() { s.onlyHeads(t) },
		},
	)
}

func TestPackageIndex_RefusedLoginLeavesNothing(t *testing.T) {
	s := newStack(t)
	index := enginetest.StartIndex(t)
	s.run(t, resource.TestStep{
		Config:      s.config(fmt.Sprintf("lock = %q\n package_index = { url = %q, ca_certificates = %q, username = %q, password_wo = \"cnry-wrong\" }", index.Lock, index.URL, index.CA.PEM, index.Username)),
		ExpectError: says("Package index refused the login", "index answered 401", "package_index.username"),
	})
}

package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// credential_expires_at is planned as null only where no host of the build can be one of ECR: a value after such a plan would
// be an inconsistent result, and the image tainted.
func TestAWS_ExpiryIsPlannedForEveryHostOfTheBuild(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	s := newStackWithoutEngine(t)
	generator := fmt.Sprintf("%s/scanner@sha256:%s", ecrHost, strings.Repeat("c", 64))
	elsewhere := strings.Replace(generator, ecrHost, "r.example.com", 1)
	for name, tt := range map[string]struct {
		later, arguments string
		known            bool
	}{
		"nothing on ECR":          {"null", "", true},
		"no attestations":         {"null", `attestations = { sbom = false, provenance = "none" }`, true},
		"generator elsewhere":     {"null", fmt.Sprintf(`attestations = { sbom_generator = %q }`, elsewhere), true},
		"cache elsewhere":         {"null", `cache = { import = ["r.example.com/cache:main"] }`, true},
		"generator on ECR":        {"null", fmt.Sprintf(`attestations = { sbom_generator = %q }`, generator), false},
		"port 443":                {"null", fmt.Sprintf(`cache = { export = "%s:443/cache:main" }`, ecrHost), false},
		"unknown generator":       {fmt.Sprintf("%q", generator), `attestations = { sbom_generator = terraform_data.x.output }`, false},
		"unknown attestations":    {fmt.Sprintf(`{ sbom = true, sbom_generator = %q, provenance = "min" }`, generator), `attestations = terraform_data.x.output`, false},
		"cache on ECR":            {"null", fmt.Sprintf(`cache = { import = ["r.example.com/cache:main", "%s/cache:main"] }`, ecrHost), false},
		"export on ECR":           {"null", fmt.Sprintf(`cache = { export = "%s/cache:main" }`, ecrHost), false},
		"unknown cache":           {fmt.Sprintf(`{ import = ["%s/cache:main"], export = null }`, ecrHost), `cache = terraform_data.x.output`, false},
		"unknown imports":         {fmt.Sprintf(`["%s/cache:main"]`, ecrHost), `cache = { import = terraform_data.x.output }`, false},
		"unknown import":          {fmt.Sprintf(`"%s/cache:main"`, ecrHost), `cache = { import = [terraform_data.x.output] }`, false},
		"unknown export":          {fmt.Sprintf(`"%s/cache:main"`, ecrHost), `cache = { export = terraform_data.x.output }`, false},
		"unknown, and no imports": {`"min"`, `attestations = { sbom = false, provenance = terraform_data.x.output }`, true},
	} {
		t.Run(name, func(t *testing.T) {
			attribute := tfjsonpath.New("credential_expires_at")
			check := plancheck.ExpectUnknownValue(address, attribute)
			if tt.known {
				check = plancheck.ExpectKnownValue(address, attribute, knownvalue.Null())
			}
			s.run(t, resource.TestStep{
				Config: later("x", tt.later) + planOn("", "r.example.com/base", "r.example.com/team/env", tt.arguments), PlanOnly: true, ExpectNonEmptyPlan: true,
				ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{check}},
			})
		})
	}
}

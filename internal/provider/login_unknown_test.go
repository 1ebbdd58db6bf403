package provider_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// A role that is not known at plan may be none, so nothing is held against it there.
func TestAWS_UnknownRoleOfTheBasePlans(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	s := newStackWithoutEngine(t)
	for name, bases := range map[string][2]string{"one host": {ecrHost + "/base", ecrHost + "/team/env"}, "no ECR": {"r.example.com/base", ecrHost + "/team/env"}} {
		t.Run(name, func(t *testing.T) {
			s.run(t, resource.TestStep{Config: later("x", "null") + planOn("", bases[0], bases[1], `base_registry = { role_arn = terraform_data.x.output, username = "u", password_wo = "p" }`), PlanOnly: true, ExpectNonEmptyPlan: true})
		})
	}
}

// What could not be checked at plan is checked at apply, before anything is asked.
func TestAWS_LoginThatWasUnknownIsCheckedAtApply(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	s := newStackWithoutEngine(t)
	other := "444455556666.dkr.ecr.us-east-1.amazonaws.com/team/env"
	for name, tt := range map[string]struct {
		base, later, arguments string
		says                   []string
	}{
		"role elsewhere": {"r.example.com/base", someARN, `base_registry = { role_arn = terraform_data.x.output }`, []string{"Image to read is not on Amazon ECR", "r.example.com"}},
		"one host":       {"444455556666.dkr.ecr.us-east-1.amazonaws.com/base", someARN, `base_registry = { role_arn = terraform_data.x.output }`, []string{"Role for a registry that the build also pushes to"}},
		"both":           {ecrHost + "/base", someARN, `base_registry = { role_arn = terraform_data.x.output, username = "u", password_wo = "p" }`, []string{"Login and role for one registry"}},
		"AWS keys":       {ecrHost + "/base", "ASIAXXXXXXXXXXXXXXXX", `base_registry = { username = terraform_data.x.output, password_wo = "p" }`, []string{"AWS keys in place of a registry login", "AWS_SESSION_TOKEN"}},
	} {
		t.Run(name, func(t *testing.T) {
			s.run(t, resource.TestStep{Config: later("x", fmt.Sprintf("%q", tt.later)) + planOn("", tt.base, other, tt.arguments), ExpectError: says(tt.says...)})
		})
	}
}

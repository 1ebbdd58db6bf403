package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// TestPackageLock_FollowsItsBase has base, lock and environment in one configuration, as the quickstart has.
func TestPackageLock_FollowsItsBase(t *testing.T) {
	s := newStack(t)
	config := func(arguments string) string {
		return s.baseConfig(s.PlainDebianReference, arguments) + `
resource "datalayer_package_lock" "l" {
  requirements = ["six"]
  base         = datalayer_base_image.b.reference
}
` + strings.Replace(s.config(`
  lock           = datalayer_package_lock.l.content
  python_version = datalayer_base_image.b.python_version
  base_packages  = datalayer_base_image.b.packages
  base_libc      = datalayer_base_image.b.libc`), fmt.Sprintf("base       = %q", s.BaseReference), "base = datalayer_base_image.b.reference", 1)
	}
	actions := func(ofBase, ofLock, ofEnvironment plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectResourceAction(baseAddress, ofBase), plancheck.ExpectResourceAction(lockAddress, ofLock), plancheck.ExpectResourceAction(address, ofEnvironment),
		}}
	}
	// A base that is not known yet may turn out to be none: where uv runs is known with it.
	withoutRunner := func(checks resource.ConfigPlanChecks) resource.ConfigPlanChecks {
		checks.PreApply = append(checks.PreApply, plancheck.ExpectUnknownValue(lockAddress, tfjsonpath.New("base")), plancheck.ExpectUnknownValue(lockAddress, tfjsonpath.New("runner")))
		return checks
	}
	replaced, sameDigest := plancheck.ResourceActionCreateBeforeDestroy, statecheck.CompareValue(compare.ValuesSame())
	sameLock := statecheck.CompareValue(compare.ValuesSame())
	equal := statecheck.CompareValuePairs(lockAddress, tfjsonpath.New("digest"), address, tfjsonpath.New("lock_digest"), compare.ValuesSame())
	kept := func() []statecheck.StateCheck {
		return []statecheck.StateCheck{s.holds(t), equal, sameDigest.AddStateValue(baseAddress, tfjsonpath.New("digest")), sameLock.AddStateValue(lockAddress, tfjsonpath.New("resolved_at"))}
	}
	s.run(t,
		resource.TestStep{Config: config(""), ConfigPlanChecks: actions(plancheck.ResourceActionCreate, plancheck.ResourceActionCreate, plancheck.ResourceActionCreate), ConfigStateChecks: kept()},
		resource.TestStep{Config: config(""), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
		// The base is built anew to the same digest, which is seen at apply alone: the lock stays as it was.
		resource.TestStep{Config: config(""), Taint: []string{baseAddress}, ConfigPlanChecks: withoutRunner(actions(replaced, plancheck.ResourceActionUpdate, replaced)), ConfigStateChecks: kept()},
		resource.TestStep{Config: config("  labels = { team = \"b\" }"), ConfigPlanChecks: actions(replaced, plancheck.ResourceActionUpdate, replaced), ConfigStateChecks: []statecheck.StateCheck{s.holds(t), equal}},
	)
}

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

// destroyFirst is a configuration without create_before_destroy.
func destroyFirst(config string) string {
	return strings.Replace(config, "lifecycle { create_before_destroy = true }", "", 1)
}

func TestReplace_LeavesExactlyWhatStateNames(t *testing.T) {
	identity := func(config string) string { return config }
	orders := map[string]struct {
		config func(string) string
		action plancheck.ResourceActionType
	}{
		"create before destroy": {identity, plancheck.ResourceActionCreateBeforeDestroy},
		"destroy before create": {destroyFirst, plancheck.ResourceActionDestroyBeforeCreate},
	}
	// Where the inputs stay the same, so does the digest: destroying the old one must not take the new one along.
	causes := map[string]struct {
		before, after string
		taint         bool
		digests       compare.ValueComparer
	}{
		"changed inputs":                      {`files = [{ path = "/srv/a", content = "a" }]`, `files = [{ path = "/srv/a", content = "b" }]`, false, compare.ValuesDiffer()},
		"tainted, unchanged inputs":           {`env = { A = "1" }`, `env = { A = "1" }`, true, compare.ValuesSame()},
		"rebuild_trigger on unchanged inputs": {`rebuild_trigger = { n = "1" }`, `rebuild_trigger = { n = "2" }`, false, compare.ValuesSame()},
	}
	for orderName, order := range orders {
		for causeName, cause := range causes {
			t.Run(orderName+", "+causeName, func(t *testing.T) {
				s := newStack(t)
				digests, tags := statecheck.CompareValue(cause.digests), statecheck.CompareValue(compare.ValuesDiffer())
				checks := func() []statecheck.StateCheck {
					return []statecheck.StateCheck{
						digests.AddStateValue(address, tfjsonpath.New("digest")), tags.AddStateValue(address, tfjsonpath.New("tag")), s.holds(t),
					}
				}
				first := resource.TestStep{Config: order.config(s.config(cause.before)), ConfigStateChecks: checks()}
				second := resource.TestStep{Config: order.config(s.config(cause.after)), ConfigPlanChecks: expect(order.action), ConfigStateChecks: checks()}
				if cause.taint {
					second.Taint = []string{address}
				}
				s.run(t, first, second)
			})
		}
	}
}

func TestReplace_OfAnotherRepositoryCleansTheFirst(t *testing.T) {
	s := newStack(t)
	config := s.config("")
	s.run(t,
		resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}},
		resource.TestStep{
			Config:           strings.Replace(config, "/team/env", "/team/other", 1),
			ConfigPlanChecks: expect(plancheck.ResourceActionCreateBeforeDestroy), ConfigStateChecks: []statecheck.StateCheck{s.holds(t)},
		},
	)
}

func TestDestroy_OfTwoThatShareADigestLeavesNothing(t *testing.T) {
	s := newStack(t)
	config := s.config("")
	other := strings.Replace(config, `"datalayer_environment" "e"`, `"datalayer_environment" "other"`, 1)
	same := statecheck.CompareValuePairs(address, tfjsonpath.New("digest"), "datalayer_environment.other", tfjsonpath.New("digest"), compare.ValuesSame())
	s.run(t,
		resource.TestStep{Config: config + other, ConfigStateChecks: []statecheck.StateCheck{same, s.holds(t)}},
		resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}},
		resource.TestStep{Config: config + other, ConfigStateChecks: []statecheck.StateCheck{same, s.holds(t)}},
		resource.TestStep{Config: config + other, Destroy: true},
	)
}

func TestReplace_OfManyThatShareADigestInOneApply(t *testing.T) {
	s := newStack(t)
	config := func(trigger string) string {
		return s.config(fmt.Sprintf("count = 4\nrebuild_trigger = { n = %q }", trigger))
	}
	s.run(t,
		resource.TestStep{Config: config("1"), ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}},
		resource.TestStep{Config: config("2"), ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}},
	)
}

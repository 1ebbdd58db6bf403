package provider_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// C15: a name that is known at apply alone is held to the rule then, before any build is asked for.
func TestTemplate_NameThatIsKnownLater(t *testing.T) {
	for name, says := range map[string]*regexp.Regexp{
		"agent-env": nil,
		"Agent-Env": says("E2B would not take this template name", `"Agent-Env"`, `E2B would keep it as "agent-env"`),
		"env:prod":  says("E2B would not take this template name", `"env:prod"`, "after which E2B reads a tag"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			step := resource.TestStep{Config: later("x", fmt.Sprintf("%q", name)) + template("  name = terraform_data.x.output\n"), ExpectError: says}
			if says == nil {
				step.ConfigStateChecks = []statecheck.StateCheck{s.launches()}
			}
			s.run(t, step)
			if asked := s.Count(requestedAt); says != nil && asked > 0 {
				t.Errorf("%d builds were asked for", asked)
			}
		})
	}
}

// C15: E2B takes no template's id for a name. Its answer is quoted with the name, and nothing is made.
func TestTemplate_IDAsNameIsRefusedByE2B(t *testing.T) {
	s := newE2B(t)
	id, _ := s.AddTemplate(e2btest.Key, "theirs", "default")
	s.runAndKeep(t, resource.TestStep{Config: template(fmt.Sprintf("  name = %q\n", id)), ExpectError: says("E2B did not take the template build", id, "409 Conflict", "is already used")})
	if left := s.Left(); len(left) != 1 {
		t.Errorf("at E2B: %v", left)
	}
}

// C07: of two blocks with one name one makes the template, and the other is refused, deletes nothing and has nothing in state.
func TestCLIE2B_TwoBlocksOfOneName(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template("  count = 2\n"))
	o := c.expect(1, "apply", "-auto-approve")
	if !says("E2B template exists already").MatchString(o.stderr) && !says("E2B answered with a template of somebody else").MatchString(o.stderr) {
		t.Errorf("the CLI says:\n%s", o.stderr)
	}
	made := c.only().Attributes
	s.launch(t, fmt.Sprint(made["build_id"]))
	if left := s.Left(); len(left) != 1 || s.Count(deleteTemplate) != 0 {
		t.Errorf("at E2B: %v, after %d deletes", left, s.Count(deleteTemplate))
	}
	c.destroyE2B(s)
}

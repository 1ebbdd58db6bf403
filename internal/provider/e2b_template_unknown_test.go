package provider_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// notAsked checks at plan that E2B was asked nothing since the last Forget.
type notAsked struct{ s *e2bStack }

func (c notAsked) CheckPlan(_ context.Context, _ plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, request := range c.s.Requests() {
		resp.Error = fmt.Errorf("the plan asked %s", request.Name())
	}
}

// C41 for E2B: settings that another resource makes. Nothing is asked while they are not known, state is kept as it is, changes are
// planned all the same, and apply works.
func TestTemplate_UnknownProviderSettingsPlanAndWorkAtApply(t *testing.T) {
	for name, settings := range map[string]func(s *e2bStack) (e2b, value string){
		"key": func(*e2bStack) (string, string) {
			return "{ api_key = terraform_data.x.output }", fmt.Sprintf("%q", e2btest.Key)
		},
		"address": func(s *e2bStack) (string, string) {
			return fmt.Sprintf("{ api_key = %q, api_url = terraform_data.x.output }", e2btest.Key), fmt.Sprintf("%q", s.URL)
		},
		"all": func(s *e2bStack) (string, string) {
			return "terraform_data.x.output", fmt.Sprintf("{ api_key = %q, api_url = %q, domain = null, sandbox_url = null }", e2btest.Key, s.URL)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			t.Setenv("E2B_API_KEY", "")
			if name != "key" {
				t.Setenv("E2B_API_URL", nowhere)
			}
			e2b, value := settings(s)
			config := func(generation int, arguments string) string {
				return strings.Replace(later("x", value), "input =", fmt.Sprintf("triggers_replace = [%d]\n  input =", generation), 1) +
					fmt.Sprintf("provider \"datalayer\" {\n  e2b = %s\n}\n", e2b) + template(arguments)
			}
			forget := func() { s.Forget() }
			planned := func(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
				return templatePlan(notAsked{s}, templateAction(action))
			}
			notRefreshed := func() { s.warned(t, "E2B template was not refreshed", "is kept as it was", "not known yet") }
			s.run(t,
				resource.TestStep{Config: config(1, ""), ConfigPlanChecks: planned(plancheck.ResourceActionCreate), ConfigStateChecks: []statecheck.StateCheck{s.launches()}},
				resource.TestStep{PreConfig: forget, Config: config(2, ""), ConfigPlanChecks: planned(plancheck.ResourceActionNoop), PostApplyFunc: notRefreshed},
				resource.TestStep{PreConfig: forget, Config: config(3, "  memory_mb = 2048\n"), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
					ConfigStateChecks: []statecheck.StateCheck{s.launches()}, PostApplyFunc: notRefreshed},
				resource.TestStep{PreConfig: forget, Config: config(4, "  memory_mb = 2048\n  tags = [\"stable\"]\n"), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
					ConfigStateChecks: []statecheck.StateCheck{s.launches()}, PostApplyFunc: notRefreshed},
				resource.TestStep{Config: config(4, "  memory_mb = 2048\n  tags = [\"stable\"]\n"), PlanOnly: true},
			)
			if builds := len(s.Requests()); builds == 0 {
				t.Error("E2B was asked nothing at all")
			}
		})
	}
}

// An import reads the template at plan, so it cannot wait for settings.
func TestTemplate_ImportWithUnknownProviderSettingsSaysSo(t *testing.T) {
	s := newE2B(t)
	s.AddTemplate(e2btest.Key, "agent-env", "default")
	config := later("x", fmt.Sprintf("%q", e2btest.Key)) + "provider \"datalayer\" {\n  e2b = { api_key = terraform_data.x.output }\n}\n"
	s.runAndKeep(t, resource.TestStep{Config: config + fmt.Sprintf("import {\n  to = %s\n  id = \"agent-env\"\n}\n", templateAddress) + template(""),
		ExpectError: says("E2B settings are not known", "e2b settings hold values that are not known yet")})
	if len(s.Requests()) > 0 {
		t.Errorf("E2B was asked %d times", len(s.Requests()))
	}
}

// An empty setting hides neither its variable nor, worse, whose deployment the key goes to: it is an error at plan, with all
// variables set, and nothing is asked.
func TestTemplate_EmptySettingIsAnErrorThatNamesIt(t *testing.T) {
	for _, setting := range []string{"api_key", "domain", "api_url", "sandbox_url"} {
		for _, value := range []string{"", "  "} {
			t.Run(fmt.Sprintf("%s=%q", setting, value), func(t *testing.T) {
				s := newE2B(t)
				provider := fmt.Sprintf("provider \"datalayer\" {\n  e2b = { %s = %q }\n}\n", setting, value)
				s.run(t, resource.TestStep{Config: provider + template(""), PlanOnly: true, ExpectError: says("Empty E2B setting", fmt.Sprintf("e2b.%s = %q", setting, value), "to have its default")})
				if len(s.Requests()) > 0 {
					t.Errorf("E2B was asked %d times", len(s.Requests()))
				}
			})
		}
	}
}

// What is empty only at apply is an error there, not the default.
func TestTemplate_SettingThatTurnsOutEmptyIsAnError(t *testing.T) {
	s := newE2B(t)
	config := later("x", `""`) + "provider \"datalayer\" {\n  e2b = { api_url = terraform_data.x.output }\n}\n"
	s.run(t, resource.TestStep{Config: config + template(""), ExpectError: says("Empty E2B setting", `e2b.api_url = ""`)})
	if len(s.Requests()) > 0 {
		t.Errorf("E2B was asked %d times", len(s.Requests()))
	}
}

func TestTemplate_KeyThatIsNotGivenIsAnErrorThatNamesTheSetting(t *testing.T) {
	s := newE2B(t)
	t.Setenv("E2B_API_KEY", "")
	s.run(t, resource.TestStep{Config: template(""), ExpectError: says("No E2B API key", "api_key in the provider's e2b settings or E2B_API_KEY")})
	if len(s.Requests()) > 0 {
		t.Errorf("E2B was asked %d times", len(s.Requests()))
	}
}

// A template that was imported does not tell its Python before its next build, nor which packages a lock with markers gave it.
func TestTemplate_UnknownPythonAfterAnImport(t *testing.T) {
	marked := fmt.Sprintf("  lock = %q\n", strings.Replace(testdata(t, "six.lock"), "six==1.17.0", "six==1.17.0 ; python_version >= '3.9'", 1))
	for name, arguments := range map[string]string{"no lock": "", "lock with a marker": marked} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			c := s.newCLI(t)
			c.write("main.tf", template(arguments))
			c.apply()
			id := fmt.Sprint(c.template().Attributes["template_id"])
			c.expect(0, "state", "rm", templateAddress)
			c.expect(0, "import", templateAddress, id)
			c.apply()
			c.planIsEmpty()
			c.write("main.tf", knownLater("3.13", "1")+template(arguments+"  python_version = terraform_data.d.output\n"))
			c.apply()
			c.planIsEmpty()
			attributes := c.template().Attributes
			if attributes["python_version"] != "3.13" || len(s.Builds()) != 1 {
				t.Errorf("python_version is %v after %d builds", attributes["python_version"], len(s.Builds()))
			}
			if packages, _ := attributes["packages"].(map[string]any); arguments != "" && packages["six"] != "1.17.0" {
				t.Errorf("packages are %v", attributes["packages"])
			}
			c.destroyE2B(s)
		})
	}
}

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

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

func templatePlan(checks ...plancheck.PlanCheck) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: checks}
}

func templateAction(kind plancheck.ResourceActionType) plancheck.PlanCheck {
	return plancheck.ExpectResourceAction(templateAddress, kind)
}

// The lifecycle that the template is for: create, plan empty, another lock in place, a rebuild that fails, the repair,
// import, destroy.
func TestTemplate_Lifecycle(t *testing.T) {
	s := newE2B(t)
	var id, first, second, third, reference string
	env := "  env = { MODE = \"fast\" }\n"
	s.run(t,
		resource.TestStep{Config: template(env + withLock(sixLock)), ConfigStateChecks: []statecheck.StateCheck{
			rememberTemplate("template_id", &id), rememberTemplate("build_id", &first), rememberTemplate("reference", &reference), s.launches(),
			knownTemplate("team", knownvalue.StringExact(e2btest.DefaultTeam)),
			knownTemplate("python_version", knownvalue.StringExact("3.13")),
			knownTemplate("packages", knownvalue.MapExact(map[string]knownvalue.Check{"six": knownvalue.StringExact("1.17.0")})),
			knownTemplate("create_env", knownvalue.MapExact(map[string]knownvalue.Check{
				"LANG": knownvalue.StringExact("C.UTF-8"), "LC_ALL": knownvalue.StringExact("C.UTF-8"), "MODE": knownvalue.StringExact("fast"),
			})),
			knownTemplate("start_command", knownvalue.StringExact(e2b.StartCommand)),
			knownTemplate("code_interpreter", knownvalue.ObjectPartial(map[string]knownvalue.Check{"commit": knownvalue.StringExact(e2b.CarriedInterpreter().Commit)})),
			knownTemplate("retained", knownvalue.ListSizeExact(1)),
			s.byName(&first),
		}},
		resource.TestStep{Config: template(env + withLock(sixLock)), PlanOnly: true},
		// Comments and line ends are no content.
		resource.TestStep{Config: template(env + withLock("# made by hand\r\n"+sixLock+"\r\n")), PlanOnly: true},
		resource.TestStep{Config: template(env + withLock(otherLock)), ConfigPlanChecks: templatePlan(templateAction(plancheck.ResourceActionUpdate)),
			ConfigStateChecks: []statecheck.StateCheck{
				knownTemplate("template_id", knownvalue.StringFunc(func(value string) error { return equal(value, id) })),
				rememberTemplate("build_id", &second), s.launches(), s.byName(&second),
				stateCheckOf(func() error { return differ(first, second) }),
				stateCheckOf(func() error {
					if build, refused := s.Launches(e2btest.Key, reference); build != first {
						return fmt.Errorf("the old reference launches %q (%s)", build, refused)
					}
					return nil
				}),
				knownTemplate("build_ids", knownvalue.ListSizeExact(2)),
			}},
		resource.TestStep{PreConfig: func() {
			s.OnStep(e2btest.StepAnswer{Holds: "install.py", Exit: 1, Stderr: []string{"datalayer: pip install ended with status 1"}})
		}, Config: template(env + withLock(thirdLock)), ExpectError: says("E2B template build failed", "install the locked packages", "step 5", "/etc/pip.conf", "State is kept", "still launches")},
		resource.TestStep{PreConfig: func() { s.ForgetSteps(); s.reports() }, Config: template(env + withLock(otherLock)), PlanOnly: true},
		resource.TestStep{Config: template(env + withLock(thirdLock)), ConfigPlanChecks: templatePlan(templateAction(plancheck.ResourceActionUpdate)),
			ConfigStateChecks: []statecheck.StateCheck{rememberTemplate("build_id", &third), s.launches(), s.byName(&third), knownTemplate("build_ids", knownvalue.ListSizeExact(3))}},
		resource.TestStep{ResourceName: templateAddress, ImportState: true, ImportStateIdFunc: nil, ImportStateId: "agent-env", ImportStatePersist: false,
			ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "template_id", ImportStateVerifyIgnore: notRead},
	)
	kept := strings.Join(s.Retained(), "\n")
	if !strings.Contains(kept, "image "+templateBase) {
		t.Errorf("the team's cache holds %s", kept)
	}
}

// notRead are the arguments and outputs that E2B gives nobody back.
var notRead = []string{
	"base", "lock", "env", "python_version", "artifact", "spec_digest", "lock_digest", "packages", "create_env", "start_command", "ready_command",
	"code_interpreter", "deletion_policy", "force", "retained", "timeouts",
}

func equal(got, want string) error {
	if got != want {
		return fmt.Errorf("it is %q, want %q", got, want)
	}
	return nil
}

func differ(one, other string) error {
	if one == other || one == "" {
		return fmt.Errorf("both are %q", one)
	}
	return nil
}

var ownTag = regexp.MustCompile(`^dl-[0-9a-f]{64}-[0-9a-f]{8}$`)

func TestTemplate_EachBuildIsAskedForWithOneTagOfItsOwn(t *testing.T) {
	s := newE2B(t)
	s.run(t,
		resource.TestStep{Config: template("  tags = [\"stable\", \"v1.2\"]\n")},
		resource.TestStep{Config: template("  tags = [\"stable\", \"v1.2\"]\n  memory_mb = 2048\n")},
		resource.TestStep{Config: template("  tags = [\"stable\", \"v1.2\"]\n  memory_mb = 2048\n"), PlanOnly: true, ConfigStateChecks: nil},
		// The same content again: only the nonce differs.
		resource.TestStep{Config: template("  tags = [\"stable\", \"v1.2\"]\n  memory_mb = 2048\n  rebuild_trigger = { n = \"1\" }\n"), ConfigStateChecks: []statecheck.StateCheck{stateCheckOf(func() error {
			seen := map[string]bool{}
			if builds := s.Builds(); len(builds) != 3 || builds[1].Tags[0][:67] != builds[2].Tags[0][:67] {
				return fmt.Errorf("the last two of these builds should be of one content: %+v", builds)
			}
			for _, b := range s.Builds() {
				if len(b.Tags) != 1 || !ownTag.MatchString(b.Tags[0]) || seen[b.Tags[0]] {
					return fmt.Errorf("a build was asked for with the tags %q", b.Tags)
				}
				seen[b.Tags[0]] = true
			}
			for _, tag := range []string{"stable", "v1.2", "default"} {
				build, _ := s.Launches(e2btest.Key, "agent-env:"+tag)
				if last := s.Builds()[len(s.Builds())-1].BuildID; build != last {
					return fmt.Errorf("%s is on %s, want %s", tag, build, last)
				}
			}
			return nil
		})}},
	)
}

package provider_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// refuseAll is a fault that all requests of a route meet, with an answer that is not asked again.
func refuseAll(route string) e2btest.Fault {
	return e2btest.Fault{Route: route, Times: -1, Status: http.StatusForbidden, Message: "team is blocked"}
}

// C01: whatever call of a create fails after the first answer, the ids are in state, tainted, and destroy removes them.
func TestTemplate_CreateThatFailsLaterIsTaintedAndLeavesNothing(t *testing.T) {
	for name, fault := range map[string]e2btest.Fault{
		"whether it is ours": refuseAll("GET /templates/{templateID}"),
		"upload target":      refuseAll("GET /templates/{templateID}/files/{hash}"),
		"upload":             {Route: "PUT /upload/{team}/{hash}", Times: -1, Status: http.StatusForbidden, Body: "<Error/>"},
		"start":              refuseAll("POST /v2/templates/{templateID}/builds/{buildID}"),
		"status":             refuseAll("GET /templates/{templateID}/builds/{buildID}/status"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			c := s.newCLI(t)
			c.write("main.tf", template(withLock(sixLock)))
			s.Inject(fault)
			c.expect(1, "apply", "-auto-approve").says(t, "Error: ")
			all := c.instances()
			if len(all) != 1 || all[0].Status != "tainted" || all[0].Attributes["template_id"] == nil || all[0].Attributes["reference"] != nil || all[0].Attributes["cache_key"] != nil {
				t.Fatalf("in state: %v", all)
			}
			if retained, _ := all[0].Attributes["retained"].([]any); len(retained) != 1 {
				t.Errorf("retained is %v, and the team's cache holds %q", retained, s.Retained())
			}
			s.Heal()
			s.Forget()
			c.expect(0, "destroy", "-auto-approve")
			if deletes := s.Count("DELETE /templates/{templateID}"); deletes != 1 {
				t.Errorf("%d deletes", deletes)
			}
			s.empty(t)
		})
	}
}

func TestTemplate_FailedBuildSaysWhyAndWhere(t *testing.T) {
	for name, tt := range map[string]struct {
		answer e2btest.StepAnswer
		says   []string
	}{
		"the base": {e2btest.StepAnswer{Holds: "prepare.py", Exit: 1, Stderr: []string{"datalayer: the base has no user datalayer"}},
			[]string{"E2B template build failed", "look at the base", "the base has no user datalayer"}},
		"the server": {e2btest.StepAnswer{Holds: "server.py", Exit: 1}, []string{"install the code-interpreter server"}},
		"a command":  {e2btest.StepAnswer{Holds: "make it", Exit: 3, Stderr: []string{"make: no rule"}}, []string{"post_install[1]", "exit status 3", "make: no rule"}},
		"the start":  {e2btest.StepAnswer{Holds: "code-interpreter/start", Exit: 1}, []string{"run the start command", "start command failed"}},
		"no reason":  {e2btest.StepAnswer{Holds: "finish.py", Silent: true}, []string{"E2B gave no reason", "dashboard"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			s.OnStep(tt.answer)
			s.run(t, resource.TestStep{Config: template("  post_install = [{ command = \"true\" }, { command = \"make it\" }]\n"), ExpectError: says(tt.says...)})
		})
	}
}

// C06: an answer that was lost is looked up by this create's own tag, and adopted; nothing is asked for twice.
func TestTemplate_LostAnswersMakeOneBuild(t *testing.T) {
	for _, route := range []string{"POST /v3/templates", "POST /v2/templates/{templateID}/builds/{buildID}", "POST /templates/tags"} {
		t.Run(route, func(t *testing.T) {
			s := newE2B(t)
			s.Inject(e2btest.Fault{Route: route, Lose: true})
			s.run(t, resource.TestStep{Config: template(""), ConfigStateChecks: []statecheck.StateCheck{s.launches(), stateCheckOf(func() error {
				if builds := s.Builds(); len(builds) != 1 || s.Count("POST /v3/templates") != 1 {
					return fmt.Errorf("%d builds after %d requests", len(builds), s.Count("POST /v3/templates"))
				}
				return nil
			})}})
		})
	}
}

// C07: a name that the team has is never taken over by a create.
func TestTemplate_NameThatIsThereIsRefused(t *testing.T) {
	s := newE2B(t)
	id, _ := s.AddTemplate(e2btest.Key, "agent-env", "default")
	s.runAndKeep(t, resource.TestStep{Config: template(""), ExpectError: says("E2B template exists already", `"agent-env" is template `+id, "If another block has this name", "give this one another", "terraform import datalayer_e2b_template.NAME agent-env")})
	if s.Count("POST /v3/templates") != 0 || s.Count("DELETE /templates/{templateID}") != 0 {
		t.Error("a template of somebody else was touched")
	}
}

// C07: two creates at once. The loser's build is not started, and its state is empty, so that it deletes nothing.
func TestTemplate_NameTakenMeanwhileIsLeftAlone(t *testing.T) {
	s := newE2B(t)
	var id string
	s.Inject(e2btest.Fault{Route: "POST /v3/templates", Pass: true, Before: func(e2btest.Request) { id, _ = s.AddTemplate(e2btest.Key, "agent-env", "default") }})
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.expect(1, "apply", "-auto-approve").says(t, "E2B answered with a template of somebody else", "template "+id, "which waits to be started", "tag dl-")
	if all := c.instances(); len(all) != 0 {
		t.Errorf("in state: %v", all)
	}
	if s.Count("POST /v2/templates/{templateID}/builds/{buildID}") != 0 || s.Count("DELETE /templates/{templateID}") != 0 {
		t.Error("the other's template was touched")
	}
	if build, _ := s.Launches(e2btest.Key, "agent-env"); build == "" {
		t.Error("the other's template no longer launches")
	}
}

func (s *e2bStack) runAndKeep(t *testing.T, steps ...resource.TestStep) {
	t.Helper()
	resource.UnitTest(t, resource.TestCase{ProtoV6ProviderFactories: s.factories(), Steps: steps})
}

// C03: only "not found" means gone.
func TestTemplate_OnlyNotFoundMeansGone(t *testing.T) {
	const route = "GET /templates/{templateID}"
	for name, tt := range map[string]struct {
		fault e2btest.Fault
		says  []string
	}{
		"401":       {e2btest.Fault{Route: route, Times: -1, Status: 401, Message: "Invalid API key"}, []string{"401", "api_key", "State is kept"}},
		"403":       {refuseAll(route), []string{"403", "State is kept", "-refresh=false"}},
		"429":       {e2btest.Fault{Route: route, Times: -1, Status: 429, Header: map[string]string{"Retry-After": "600"}, Message: "Rate limit exceeded"}, []string{"429", "State is kept"}},
		"other 404": {e2btest.Fault{Route: route, Times: -1, Status: 404, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>nope</html>"}, []string{"404", "api_url"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			config := template("  timeouts = { read = \"20s\" }\n")
			s.run(t,
				resource.TestStep{Config: config},
				resource.TestStep{PreConfig: func() { s.Inject(tt.fault) }, Config: config, ExpectError: says(tt.says...)},
				resource.TestStep{PreConfig: func() { s.Heal() }, Config: config, PlanOnly: true},
			)
		})
	}
}

func TestTemplate_ThatVanishedIsMadeAgain(t *testing.T) {
	s := newE2B(t)
	var id string
	s.run(t,
		resource.TestStep{Config: template(""), ConfigStateChecks: []statecheck.StateCheck{rememberTemplate("template_id", &id)}},
		resource.TestStep{PreConfig: func() { s.Vanish(fullName) }, Config: template(""), ConfigPlanChecks: templatePlan(templateAction(plancheck.ResourceActionCreate)),
			ConfigStateChecks: []statecheck.StateCheck{knownTemplate("template_id", knownvalue.StringFunc(func(value string) error { return differ(value, id) }))}},
	)
}

// A rebuild of a template that is gone makes E2B answer with another: one that the request made does not stay, and one
// that somebody made is left alone, even where E2B lists no build of it because they lost their tags.
func TestTemplate_RebuildOfOneThatIsGone(t *testing.T) {
	for name, remade := range map[string]string{"gone": "", "made again by somebody": "default", "made again, its build untagged": "v1"} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			c := s.newCLI(t)
			c.write("main.tf", template(""))
			c.apply()
			s.Vanish(fullName)
			c.write("main.tf", template("  memory_mb = 2048\n"))
			if remade != "" {
				id, _ := s.AddTemplate(e2btest.Key, "agent-env", remade)
				if remade != e2b.DefaultTag {
					must(t, s.somebody(t).RemoveTags(t.Context(), "agent-env", remade))
				}
				o := c.expect(1, "apply", "-auto-approve", "-refresh=false")
				builds := s.Builds()
				o.says(t, "E2B template was replaced by another", "template "+id, "Build "+builds[len(builds)-1].BuildID, "was not started")
				if left := s.Left(); len(left) != 1 || s.Count(deleteTemplate) != 0 {
					t.Errorf("at E2B: %v, after %d deletes", left, s.Count(deleteTemplate))
				}
				if build, refused := s.Launches(e2btest.Key, "agent-env"); remade == e2b.DefaultTag && build == "" {
					t.Errorf("the other's template launches no more: %s", refused)
				}
				return
			}
			o := c.expect(1, "apply", "-auto-approve", "-refresh=false")
			o.says(t, "E2B template is gone", "Plan with refresh")
			if strings.Contains(o.stderr, "still launches") {
				t.Errorf("what is gone launches nothing:\n%s", o.stderr)
			}
			s.empty(t)
			c.apply().says(t, "1 added, 0 changed, 0 destroyed")
			c.planIsEmpty()
			c.destroyE2B(s)
		})
	}
}

func TestTemplate_MovedDefaultTagIsDriftOnlyWhereItIsManaged(t *testing.T) {
	for _, managed := range []bool{true, false} {
		t.Run(fmt.Sprint(managed), func(t *testing.T) {
			s := newE2B(t)
			var first, second string
			config := func(memory int) string {
				return template(fmt.Sprintf("  move_default_tag = %t\n  memory_mb = %d\n", managed, memory))
			}
			again := resource.TestStep{PreConfig: func() { s.MoveTag(fullName, "default", first) }, Config: config(2048), PlanOnly: true}
			if managed {
				again = resource.TestStep{PreConfig: func() { s.MoveTag(fullName, "default", first) }, Config: config(2048),
					ConfigPlanChecks:  templatePlan(templateAction(plancheck.ResourceActionUpdate), plancheck.ExpectKnownValue(templateAddress, tfjsonpath.New("build_id"), knownvalue.StringFunc(func(v string) error { return equal(v, second) }))),
					ConfigStateChecks: []statecheck.StateCheck{s.byName(&second)}}
			}
			s.run(t,
				resource.TestStep{Config: config(1024), ConfigStateChecks: []statecheck.StateCheck{rememberTemplate("build_id", &first)}},
				resource.TestStep{Config: config(2048), ConfigStateChecks: []statecheck.StateCheck{rememberTemplate("build_id", &second)}},
				again,
			)
		})
	}
}

// C13: looks that fail in passing do not end a build.
func TestTemplate_BadLooksDoNotEndABuild(t *testing.T) {
	s := newE2B(t, slow(100*time.Millisecond))
	const route = "GET /templates/{templateID}/builds/{buildID}/status"
	s.Inject(
		e2btest.Fault{Route: route, Reset: true},
		e2btest.Fault{Route: route, Status: 502, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>bad gateway</html>"},
		e2btest.Fault{Route: route, Status: 429, Header: map[string]string{"Retry-After": "1"}, Message: "Rate limit exceeded"},
		e2btest.Fault{Route: route, Status: 500, Message: "Internal error"},
	)
	s.run(t, resource.TestStep{Config: template(""), ConfigStateChecks: []statecheck.StateCheck{s.launches(), stateCheckOf(func() error {
		if posts, starts := s.Count("POST /v3/templates"), s.Count("POST /v2/templates/{templateID}/builds/{buildID}"); posts != 1 || starts != 1 {
			return fmt.Errorf("%d requests and %d starts", posts, starts)
		}
		return nil
	})}})
}

// C14: time runs out while the build goes on.
func TestTemplate_BuildThatTakesTooLongIsTaintedAndSaysSo(t *testing.T) {
	s := newE2B(t)
	s.BuildsTake("agent-env", time.Hour)
	s.run(t, resource.TestStep{Config: template("  timeouts = { create = \"3s\" }\n"), ExpectError: says("E2B template build took too long", `last status "building"`, "after 3s")})
}

// What took too long says so once.
func TestTemplate_RebuildThatTakesTooLongSaysSoOnce(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	const limits = "  timeouts = { update = \"3s\", delete = \"3s\" }\n"
	c.write("main.tf", template(limits))
	c.apply()
	s.BuildsTake("agent-env", time.Hour)
	c.write("main.tf", template(limits+"  memory_mb = 2048\n"))
	once := func(o outcome, words string) {
		t.Helper()
		o.says(t, words)
		said := strings.Join(strings.Fields(strings.ReplaceAll(o.stderr, "│", " ")), " ")
		if n := strings.Count(said, "after 3s"); n != 1 {
			t.Errorf("it says %d times after how long:\n%s", n, o.stderr)
		}
	}
	once(c.expect(1, "apply", "-auto-approve"), "timeouts.update")
	s.AddSandbox(fullName, false)
	once(c.expect(1, "destroy", "-auto-approve"), "timeouts.delete")
	s.EndSandboxes()
	c.destroyE2B(s)
}

// Time that runs out before there is a slot for the build is told like any other: what was asked for, for how long, and
// which setting bounds it.
func TestTemplate_NoSlotWithinTheTime(t *testing.T) {
	s := newE2B(t, func(o *e2btest.Options) {
		o.Teams = map[string]e2btest.Team{e2btest.Key: {Slug: e2btest.DefaultTeam, MaxBuilds: 1}}
	})
	other := s.newCLI(t)
	s.BuildsTake("other", time.Hour)
	reached := make(chan struct{})
	s.Inject(e2btest.Fault{Route: "GET /templates/{templateID}/builds/{buildID}/status", Pass: true, Before: func(e2btest.Request) { close(reached) }})
	other.write("main.tf", template("  name = \"other\"\n"))
	run := other.start("apply", "-auto-approve")
	<-reached
	c := s.newCLI(t)
	c.write("main.tf", template("  timeouts = { create = \"3s\" }\n"))
	c.expect(1, "apply", "-auto-approve").says(t, "E2B did not take the template build", "maximum number of concurrent template builds (1)", "after 3s", "timeouts.create")
	if all := c.instances(); len(all) != 0 {
		t.Errorf("in state: %v", all)
	}
	run.interrupt()
	run.wait(30 * time.Second)
	other.destroyE2B(s)
}

// C23: a template that sandboxes use stays, and no sandbox is ended by us.
func TestTemplate_UsedBySandboxesIsKept(t *testing.T) {
	for name, asleep := range map[string]bool{"running": false, "paused": true} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			config := template("  timeouts = { delete = \"3s\" }\n")
			s.run(t,
				resource.TestStep{Config: config},
				resource.TestStep{PreConfig: func() { s.AddSandbox(fullName, asleep) }, Config: config, Destroy: true,
					ExpectError: says("E2B template is still used by sandboxes", "because there are "+name+" sandboxes using it", "never ends sandboxes")},
				resource.TestStep{PreConfig: func() {
					if s.Count("DELETE /sandboxes/{sandboxID}") != 0 {
						t.Error("a sandbox was ended")
					}
					s.EndSandboxes()
				}, Config: config, PlanOnly: true},
			)
		})
	}
}

// A good build is never tainted by what fails after it.
func TestTemplate_TagsThatCannotBePutAreAWarningAndDrift(t *testing.T) {
	s := newE2B(t)
	s.Inject(refuseAll("POST /templates/tags"))
	s.run(t,
		resource.TestStep{Config: template("  tags = [\"stable\"]\n"), ExpectNonEmptyPlan: true, ConfigStateChecks: []statecheck.StateCheck{s.launches()}},
		resource.TestStep{PreConfig: func() {
			s.warned(t, "Tags could not be put on the E2B build", "is ready and launches by its id")
			s.Heal()
		}, Config: template("  tags = [\"stable\"]\n"), ConfigPlanChecks: templatePlan(templateAction(plancheck.ResourceActionUpdate)), ConfigStateChecks: []statecheck.StateCheck{stateCheckOf(func() error {
			for _, tag := range []string{"stable", "default"} {
				if build, refused := s.Launches(e2btest.Key, "agent-env:"+tag); build == "" {
					return fmt.Errorf("%s: %s", tag, refused)
				}
			}
			return nil
		})}},
	)
}

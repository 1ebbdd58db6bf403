package provider_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// C15: names, and what else is refused at plan.
func TestTemplate_RefusedAtPlan(t *testing.T) {
	for name, tt := range map[string]struct {
		arguments string
		says      []string
	}{
		"upper case":        {`  name = "Agent-Env"`, []string{"E2B would not take this template name", `E2B would keep it as "agent-env"`}},
		"blanks":            {`  name = " agent-env "`, []string{`E2B would keep it as "agent-env"`}},
		"a tag":             {`  name = "env:prod"`, []string{"reads a tag", "Give tags in tags"}},
		"a team":            {`  name = "team/env"`, []string{"The team is that of the API key"}},
		"a dot":             {`  name = "env.1"`, []string{"E2B would not take this template name"}},
		"a letter":          {`  name = "ümlaut"`, []string{"E2B would not take this template name"}},
		"129 characters":    {`  name = "` + strings.Repeat("a", 129) + `"`, []string{"129 characters"}},
		"no name":           {`  name = ""`, []string{"it is empty"}},
		"a UUID as tag":     {`  tags = ["3f6c0a1e-2a53-4a35-8f0b-0b1f8b5d6c11"]`, []string{"reads as a UUID"}},
		"default as tag":    {`  tags = ["default"]`, []string{"Tag is the provider's own", "move_default_tag"}},
		"Default as tag":    {`  tags = ["Default"]`, []string{"Tag is the provider's own", "move_default_tag"}},
		"our own in upper":  {`  tags = [" DL-foo"]`, []string{"Tag is the provider's own"}},
		"a UUID in upper":   {`  tags = ["3F6C0A1E-2A53-4A35-8F0B-0B1F8B5D6C11"]`, []string{"reads as a UUID"}},
		"our own tag":       {`  tags = ["dl-1"]`, []string{"Tag is the provider's own"}},
		"three cores":       {`  cpu_count = 3`, []string{"Number that E2B does not take", "cpu_count is 3"}},
		"odd memory":        {`  memory_mb = 1025`, []string{"Number that E2B does not take"}},
		"half a core":       {`  cpu_count = 2.5`, []string{"Number that E2B does not take", "cpu_count is 2.5. Write 1 or an even number up to 32."}},
		"half a MiB":        {`  memory_mb = 1024.5`, []string{"Number that E2B does not take", "memory_mb is 1024.5. Write an even number from 128."}},
		"little memory":     {`  memory_mb = 64`, []string{"Number that E2B does not take", "an even number from 128"}},
		"beyond all":        {`  memory_mb = 1e30`, []string{"Number that E2B does not take", "memory_mb is 1e+30"}},
		"cut off":           {`  post_install = [{ command = "true", network = false }]`, []string{"E2B cannot cut a command off the network", "post_install[0].network"}},
		"another commit":    {`  code_interpreter = { commit = "main" }`, []string{"Commit of the code-interpreter server is not carried", e2b.CarriedInterpreter().Commit}},
		"an empty commit":   {`  code_interpreter = { commit = "" }`, []string{"Commit of the code-interpreter server is not carried", e2b.CarriedInterpreter().Commit}},
		"an empty edit":     {`  code_interpreter = { edit_digest = "" }`, []string{"Edit of the code-interpreter server is not carried", "code_interpreter.edit_digest"}},
		"a source by http":  {`  code_interpreter = { source = "http://mirror.example.com" }`, []string{"Not a source of the code-interpreter server"}},
		"a source by scp":   {`  code_interpreter = { source = "git@github.com:e2b-dev/code-interpreter" }`, []string{"Not a source of the code-interpreter server", "Git repository"}},
		"a login in a lock": {`  lock = "six @ https://user:cnry@example.com/six.whl --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274"`, []string{"lock"}},
		"an empty command":  {`  start_command = " "`, []string{"Empty command for E2B"}},
		"a secret":          {`  env = { API_TOKEN = "cnry" }`, []string{"API_TOKEN"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			s.run(t, resource.TestStep{Config: template(tt.arguments), PlanOnly: true, ExpectError: says(tt.says...)})
			if len(s.Requests()) > 0 {
				t.Errorf("E2B was asked %d times", len(s.Requests()))
			}
		})
	}
}

func TestTemplate_NamesThatE2BKeeps(t *testing.T) {
	s := newE2B(t)
	for _, name := range []string{"agent_env-2", strings.Repeat("a", 128), "0"} {
		config := template(fmt.Sprintf("  name = %q\n", name))
		s.run(t, resource.TestStep{Config: config}, resource.TestStep{Config: config, PlanOnly: true})
	}
}

// What is not known at plan decides at apply whether anything is built.
func TestTemplate_UnknownContent(t *testing.T) {
	s := newE2B(t)
	var first string
	config := func(value, trigger string) string {
		return fmt.Sprintf("\nresource \"terraform_data\" \"d\" {\n  input = %q\n  triggers_replace = %q\n}\n", value, trigger) +
			template("  env = { MODE = terraform_data.d.output }\n")
	}
	kept := stateCheckOf(func() error {
		if n := len(s.Builds()); n != 1 {
			return fmt.Errorf("%d builds", n)
		}
		return nil
	})
	s.run(t,
		resource.TestStep{Config: config("a", "1"), ConfigStateChecks: []statecheck.StateCheck{rememberTemplate("build_id", &first), kept, s.launches()}},
		// The new object gives the same value, which is known at apply alone.
		resource.TestStep{Config: config("a", "2"), ConfigPlanChecks: templatePlan(templateAction(plancheck.ResourceActionUpdate), plancheck.ExpectUnknownValue(templateAddress, tfjsonpath.New("build_id"))),
			ConfigStateChecks: []statecheck.StateCheck{kept, s.launches()}},
		resource.TestStep{Config: config("b", "2"), ConfigPlanChecks: templatePlan(templateAction(plancheck.ResourceActionUpdate)), ConfigStateChecks: []statecheck.StateCheck{
			knownTemplate("build_id", knownvalue.StringFunc(func(value string) error { return differ(value, first) })), s.launches()}},
	)
}

// A change in place that is no content builds nothing.
func TestTemplate_WhatBuildsNothing(t *testing.T) {
	s := newE2B(t)
	var build string
	same := func(arguments string) resource.TestStep {
		return resource.TestStep{Config: template(arguments), ConfigStateChecks: []statecheck.StateCheck{
			knownTemplate("build_id", knownvalue.StringFunc(func(value string) error { return equal(value, build) })), s.launches()}}
	}
	mirror := strings.Replace(template(""), "base.example.com/base", "mirror.example.com/copy", 1)
	s.run(t,
		resource.TestStep{Config: template(""), ConfigStateChecks: []statecheck.StateCheck{rememberTemplate("build_id", &build)}},
		same("  tags = [\"stable\"]\n"), same("  tags = [\"other\"]\n  public = true\n"), same("  force = true\n"), same("  deletion_policy = \"delete\"\n  public = false\n"),
		same("  code_interpreter = { source = \"https://mirror.example.com/{commit}\" }\n"),
		same("  start_command = \""+e2b.StartCommand+"\"\n"),
		resource.TestStep{Config: mirror, ConfigStateChecks: []statecheck.StateCheck{knownTemplate("build_id", knownvalue.StringFunc(func(value string) error { return equal(value, build) }))}},
		resource.TestStep{Config: template("  rebuild_trigger = { a = \"1\" }\n"), ConfigPlanChecks: templatePlan(templateAction(plancheck.ResourceActionUpdate)),
			ConfigStateChecks: []statecheck.StateCheck{knownTemplate("build_id", knownvalue.StringFunc(func(value string) error { return differ(value, build) })), s.launches()}},
	)
}

// The team's cache of layers holds all steps of equal content: a new trigger runs anew what fetches, and -replace nothing.
func TestTemplate_RebuildTriggerRunsAnewWhatFetches(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	config := func(trigger string) string {
		return template("  apt_packages = [\"git\"]\n  rebuild_trigger = { at = \"" + trigger + "\" }\n")
	}
	ran := func() bool {
		builds := s.Builds()
		return strings.Contains(strings.Join(s.Log(builds[len(builds)-1].BuildID), "\n"), "\n[builder 4/7] RUN sh /opt/datalayer/build/apt.sh git")
	}
	c.write("main.tf", config("1"))
	c.apply()
	if !ran() {
		t.Fatal("the first build did not run apt.sh, so nothing is tested")
	}
	c.apply("-replace=" + templateAddress)
	if ran() {
		t.Error("-replace ran apt.sh anew")
	}
	c.write("main.tf", config("2"))
	c.apply()
	if !ran() {
		t.Error("a new trigger took apt.sh from the cache")
	}
	c.planIsEmpty()
	c.destroyE2B(s)
}

func TestTemplate_AnotherNameIsAnotherTemplate(t *testing.T) {
	s := newE2B(t)
	s.run(t,
		resource.TestStep{Config: template("")},
		resource.TestStep{Config: template("  name = \"other-env\"\n"), ConfigPlanChecks: templatePlan(templateAction(plancheck.ResourceActionDestroyBeforeCreate)), ConfigStateChecks: []statecheck.StateCheck{s.launches()}},
	)
}

func TestTemplate_RefreshAsksAsLittleAsItCan(t *testing.T) {
	for managed, want := range map[bool]int{true: 2, false: 1} {
		t.Run(fmt.Sprint(managed), func(t *testing.T) {
			s := newE2B(t)
			config := template(fmt.Sprintf("  move_default_tag = %t\n", managed))
			c := s.newCLI(t)
			c.write("main.tf", config)
			c.apply()
			s.Forget()
			c.planIsEmpty()
			if got := len(s.Requests()); got != want {
				t.Errorf("a refresh took %d requests, want %d", got, want)
			}
			c.expect(0, "destroy", "-auto-approve")
			s.empty(t)
		})
	}
}

// C40: every documented form of an id ends with the same state, and content decides what the next plan does.
func TestTemplate_Import(t *testing.T) {
	s := newE2B(t)
	maker := s.newCLI(t)
	maker.write("main.tf", template("  tags = [\"stable\"]\n"+withLock(sixLock)))
	maker.apply()
	made := maker.only().Attributes
	id, build := fmt.Sprint(made["template_id"]), fmt.Sprint(made["build_id"])
	for _, form := range []string{"agent-env", id, id + ":" + build, id + ":" + strings.ToUpper(build), fullName, fullName + ":" + build, " agent-env "} {
		t.Run(form, func(t *testing.T) {
			s.Forget()
			c := s.newCLI(t)
			c.write("main.tf", template("  tags = [\"stable\"]\n"+withLock(sixLock)))
			c.expect(0, "import", templateAddress, form)
			got := c.only().Attributes
			for _, attribute := range []string{"template_id", "build_id", "reference", "cache_key", "name", "team", "cpu_count", "memory_mb", "move_default_tag"} {
				if got[attribute] != made[attribute] {
					t.Errorf("%s is %v, want %v", attribute, got[attribute], made[attribute])
				}
			}
			c.apply()
			if fresh := c.only().Attributes["build_id"]; fresh != build {
				t.Errorf("an import with equal content was built anew: %v", fresh)
			}
			// What destroy leaves is known by then too.
			if got, want := c.only().Attributes["retained"], made["retained"]; !reflect.DeepEqual(got, want) {
				t.Errorf("retained is %v, want %v", got, want)
			}
			c.planIsEmpty()
			if s.Count("POST /v3/templates") != 0 {
				t.Error("a build was asked for")
			}
		})
	}
	t.Run("other content", func(t *testing.T) {
		c := s.newCLI(t)
		c.write("main.tf", template(withLock(otherLock)))
		c.expect(0, "import", templateAddress, "agent-env")
		c.expect(2, "plan", "-detailed-exitcode").says(t, "Imported template has other content", "it will be built anew in place", "0 to add, 1 to change, 0 to destroy")
		c.apply()
		c.planIsEmpty()
	})
	for name, form := range map[string]string{"an unknown name": "nobody", "an unknown build": id + ":3f6c0a1e-2a53-4a35-8f0b-0b1f8b5d6c11"} {
		t.Run(name, func(t *testing.T) {
			c := s.newCLI(t)
			c.write("main.tf", template(""))
			_, wanted, found := strings.Cut(form, ":")
			if !found {
				wanted = form
			}
			c.expect(1, "import", templateAddress, form).says(t, wanted)
			if all := c.instances(); len(all) != 0 {
				t.Errorf("in state: %v", all)
			}
		})
	}
	for form, words := range map[string][]string{
		"":             {"Empty import id for a template", "Import by the template's name"},
		":" + build:    {"Import id of the template not understood", "it names no template before the"},
		id + ":":       {"Import id of the template not understood", "it names no build after the"},
		id + ":stable": {"Import id of the template not understood", `"stable" is no build id, which is a UUID; a tag is none`},
	} {
		t.Run("not understood: "+form, func(t *testing.T) {
			s.Forget()
			c := s.newCLI(t)
			c.write("main.tf", template(""))
			c.expect(1, "import", templateAddress, form).says(t, words...)
			if all := c.instances(); len(all) != 0 || len(s.Requests()) != 0 {
				t.Errorf("in state: %v, after %d requests", all, len(s.Requests()))
			}
		})
	}
	// The builds of the import with other content are in the template too: destroy takes all.
	maker.expect(0, "destroy", "-auto-approve")
	s.empty(t)
}

// What is not known yet is not said to differ.
func TestTemplate_ImportWithUnknownContent(t *testing.T) {
	s := newE2B(t)
	maker := s.newCLI(t)
	maker.write("main.tf", template("  env = { MODE = \"a\" }\n"))
	maker.apply()
	c := s.newCLI(t)
	c.write("main.tf", knownLater("a", "1")+template("  env = { MODE = terraform_data.d.output }\n"))
	c.expect(0, "import", templateAddress, "agent-env")
	o := c.expect(2, "plan", "-detailed-exitcode")
	if said := o.stdout + o.stderr; strings.Contains(said, "other content") {
		t.Errorf("the plan says:\n%s", said)
	}
	c.apply()
	if builds := len(s.Builds()); builds != 1 {
		t.Errorf("%d builds", builds)
	}
	c.planIsEmpty()
	c.destroyE2B(s)
}

func TestTemplate_ImportOfSomebodyElsesIsBuiltAnew(t *testing.T) {
	s := newE2B(t)
	id, old := s.AddTemplate(e2btest.Key, "agent-env", "default")
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.expect(0, "import", templateAddress, "agent-env").says(t, "Imported template has no ready build of this provider", "destroy will forget the template")
	if got := c.only().Attributes; got["cache_key"] != nil || got["reference"] != nil || got["template_id"] != id {
		t.Errorf("in state: %v", got)
	}
	c.apply().says(t, "0 added, 1 changed, 0 destroyed")
	if build, refused := s.Launches(e2btest.Key, "agent-env:"+old); build != old {
		t.Errorf("the old build launches %q (%s)", build, refused)
	}
	c.planIsEmpty()
	c.forgets(s)
	if build, refused := s.Launches(e2btest.Key, "agent-env:"+old); build != old {
		t.Errorf("the old build launches %q (%s)", build, refused)
	}
}

// What this provider did not make it does not remove: not right after the import, not by another state that takes the
// template over with the builds of the first.
func TestTemplate_ImportOfSomebodyElsesIsForgottenByDestroy(t *testing.T) {
	s := newE2B(t)
	s.AddTemplate(e2btest.Key, "agent-env", "default")
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.expect(0, "import", templateAddress, "agent-env")
	c.forgets(s)
	c.expect(0, "import", templateAddress, "agent-env")
	c.apply()
	c.forgets(s)
	c.expect(0, "import", templateAddress, "agent-env").says(t, "Imported template may have been made by others", "destroy will forget the template")
	s.Inject(refuseAll("GET /templates/{templateID}/tags"))
	c.expect(1, "destroy", "-auto-approve", "-refresh=false").says(t, "Tags of the E2B template could not be read", "State is kept")
	s.Heal()
	c.forgets(s)
	c.expect(0, "import", templateAddress, "agent-env")
	s.Vanish(fullName)
	c.expect(0, "destroy", "-auto-approve", "-refresh=false")
	s.empty(t)
}

// That no build of others is listed any more does not make the template this provider's: they may have lost their tags.
func TestTemplate_ImportOfOneWhoseBuildsLostTheirTagsIsForgottenByDestroy(t *testing.T) {
	s := newE2B(t)
	s.AddTemplate(e2btest.Key, "agent-env", "v1")
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.expect(0, "import", templateAddress, "agent-env")
	c.apply()
	must(t, s.somebody(t).RemoveTags(t.Context(), "agent-env", "v1"))
	c.forgets(s)
}

// forgets checks that destroy leaves the one template at E2B and says so.
func (c *cli) forgets(s *e2bStack) {
	c.t.Helper()
	s.Forget()
	c.expect(0, "destroy", "-auto-approve").says(c.t, "E2B template was forgotten", "is not known to be made by this provider", "stays at E2B with all its builds")
	if left := s.Left(); len(left) != 1 || s.Count(deleteTemplate) != 0 || len(c.instances()) != 0 {
		c.t.Errorf("at E2B: %v, after %d deletes; in state: %v", left, s.Count(deleteTemplate), c.instances())
	}
}

// After untaint, a create that failed is built anew in place.
func TestTemplate_TaintedCreate(t *testing.T) {
	s := newE2B(t)
	s.OnStep(e2btest.StepAnswer{Holds: "server.py", Exit: 1})
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.expect(1, "apply", "-auto-approve")
	id := c.instances()[0].Attributes["template_id"]
	s.ForgetSteps()
	s.reports()
	c.expect(0, "untaint", templateAddress)
	c.apply().says(t, "0 added, 1 changed, 0 destroyed")
	if now := c.only().Attributes; now["template_id"] != id || now["reference"] == nil {
		t.Errorf("in state: %v", now)
	}
	c.planIsEmpty()
	c.expect(0, "destroy", "-auto-approve")
	s.empty(t)
}

// Where a create could not see that the template is its own, it is asked again before anything is built in it.
func TestTemplate_UntaintedWhileUnsure(t *testing.T) {
	const route = "GET /templates/{templateID}"
	t.Run("ours", func(t *testing.T) {
		s := newE2B(t)
		c := s.newCLI(t)
		c.write("main.tf", template(""))
		s.Inject(refuseAll(route))
		c.expect(1, "apply", "-auto-approve")
		s.Heal()
		c.expect(0, "untaint", templateAddress)
		c.apply().says(t, "0 added, 1 changed, 0 destroyed")
		c.planIsEmpty()
		c.destroyE2B(s)
	})
	t.Run("somebody else's", func(t *testing.T) {
		s := newE2B(t)
		c := s.newCLI(t)
		c.write("main.tf", template(""))
		s.Inject(refuseAll(route), e2btest.Fault{Route: "POST /v3/templates", Pass: true, Before: func(e2btest.Request) { s.AddTemplate(e2btest.Key, "agent-env", "default") }})
		c.expect(1, "apply", "-auto-approve")
		s.Heal()
		c.expect(0, "untaint", templateAddress)
		c.expect(1, "apply", "-auto-approve").says(t, "E2B answered with a template of somebody else")
		if asked := s.Count("POST /v3/templates"); asked != 1 {
			t.Errorf("%d builds were asked for", asked)
		}
		c.expect(0, "destroy", "-auto-approve").says(t, "E2B template was forgotten")
		if build, refused := s.Launches(e2btest.Key, "agent-env"); build == "" {
			t.Errorf("the other's template launches no more: %s", refused)
		}
	})
}

func TestTemplate_DeletionPolicyRetain(t *testing.T) {
	s := newE2B(t)
	s.runAndKeep(t, resource.TestStep{Config: template("  deletion_policy = \"retain\"\n")})
	s.warned(t, "E2B template was kept", `deletion_policy is "retain"`)
	if len(s.Left()) != 1 || s.Count("DELETE /templates/{templateID}") != 0 {
		t.Errorf("left at E2B: %v", s.Left())
	}
}

// C07: create_before_destroy meets its own template, and refuses.
func TestTemplate_CreateBeforeDestroyIsRefusedWithTheWayOut(t *testing.T) {
	s := newE2B(t)
	config := func(memory int) string {
		return template(fmt.Sprintf("  memory_mb = %d\n  lifecycle {\n    create_before_destroy = true\n  }\n", memory))
	}
	c := s.newCLI(t)
	c.write("main.tf", config(1024))
	c.apply()
	made := c.only()
	c.expect(1, "apply", "-auto-approve", "-replace="+templateAddress).says(t, "E2B template exists already", "remove create_before_destroy")
	if now := c.only(); now.Attributes["build_id"] != made.Attributes["build_id"] {
		t.Errorf("in state: %v", now)
	}
	// A change of content is no replacement, so it works with the setting too.
	c.write("main.tf", config(2048))
	c.apply().says(t, "0 added, 1 changed, 0 destroyed")
	if left := s.Left(); len(left) != 1 {
		t.Errorf("at E2B: %v", left)
	}
	c.expect(0, "destroy", "-auto-approve")
	s.empty(t)
}

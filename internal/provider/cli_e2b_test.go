package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// destroyE2B checks that afterwards E2B has nothing.
func (c *cli) destroyE2B(s *e2bStack) {
	c.t.Helper()
	c.expect(0, "destroy", "-auto-approve")
	s.empty(c.t)
}

// The team may have three builds at once, and 25 templates are asked for: each waits for its slot.
func TestCLIE2B_ManyTemplatesShareFewSlots(t *testing.T) {
	s := newE2B(t, func(o *e2btest.Options) {
		o.Teams = map[string]e2btest.Team{e2btest.Key: {Slug: e2btest.DefaultTeam, MaxBuilds: 3}}
	})
	config := template("  name = \"t-${count.index}\"\n  count = 25\n")
	for i := range 25 {
		s.BuildsTake(fmt.Sprintf("t-%d", i), 300*time.Millisecond)
	}
	c := s.newCLI(t)
	c.write("main.tf", config)
	c.apply("-parallelism=25")
	if left := s.Left(); len(left) != 25 {
		t.Errorf("%d templates at E2B", len(left))
	}
	refused := 0
	for _, request := range s.Requests() {
		if request.Name() == "POST /v3/templates" && request.Status == 429 {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no build had to wait for a slot, so nothing was tested")
	}
	enginetest.Figure(t, "%d requests were refused for want of a slot", refused)
	c.planIsEmpty()
	c.destroyE2B(s)
}

// Two runs build one template of the same content at once. Both builds become ready, and each state launches its own.
func TestCLIE2B_ConcurrentAppliesSupersedeNothing(t *testing.T) {
	s := newE2B(t)
	one := s.newCLI(t)
	one.write("main.tf", template(withLock(sixLock)))
	one.apply()
	other := s.newCLI(t)
	other.write("main.tf", template(withLock(sixLock)))
	other.expect(0, "import", templateAddress, "agent-env")
	other.apply()
	s.BuildsTake("agent-env", 3*time.Second)
	one.write("main.tf", template(withLock(otherLock)))
	other.write("main.tf", template(withLock(otherLock)))
	runs := []*cliRun{one.start("apply", "-auto-approve"), other.start("apply", "-auto-approve")}
	for _, run := range runs {
		if o := run.wait(cliLimit); o.code != 0 {
			t.Errorf("an apply ended with %d:\n%s%s", o.code, o.stdout, o.stderr)
		}
	}
	builds := map[any]bool{}
	for _, c := range []*cli{one, other} {
		got := c.only().Attributes
		builds[got["build_id"]] = true
		if build, refused := s.Launches(e2btest.Key, fmt.Sprint(got["reference"])); build != got["build_id"] {
			t.Errorf("%v launches %q (%s)", got["reference"], build, refused)
		}
	}
	for _, b := range s.Builds() {
		if b.Status != "ready" {
			t.Errorf("build %s is %s", b.BuildID, b.Status)
		}
	}
	asked := map[string]int{}
	for _, b := range s.Builds() {
		key, _, _ := e2b.SplitOwnTag(b.Tags[0])
		asked[key]++
	}
	if len(asked) != 2 || asked[fmt.Sprint(one.only().Attributes["cache_key"])] != 2 {
		t.Errorf("builds of each content: %v, so nothing was tested", asked)
	}
	if len(builds) != 2 {
		t.Error("both states have one build")
	}
	one.destroyE2B(s)
}

// C02: Ctrl-C while the build runs, and while its request has no answer: never an object without state.
func TestCLIE2B_InterruptKeepsWhatIsThereInState(t *testing.T) {
	for name, fault := range map[string]*e2btest.Fault{
		"while the build runs":       nil,
		"while nothing was answered": {Route: "POST /v3/templates"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			s.BuildsTake("agent-env", time.Minute)
			c := s.newCLI(t)
			c.write("main.tf", template(""))
			reached := make(chan struct{})
			once := sync.OnceFunc(func() { close(reached) })
			if fault == nil {
				fault = &e2btest.Fault{Route: "GET /templates/{templateID}/builds/{buildID}/status", Pass: true, Before: func(e2btest.Request) { once() }}
			} else {
				fault.Lose, fault.After = true, once
			}
			s.Inject(*fault)
			run := c.start("apply", "-auto-approve")
			<-reached
			run.interrupt()
			o := run.wait(30 * time.Second)
			if o.code == 0 {
				t.Error("an interrupted apply succeeded")
			}
			if all := c.instances(); len(s.Left()) != len(all) || len(all) == 1 && (all[0].Status != "tainted" || all[0].Attributes["template_id"] == nil) {
				t.Errorf("in state: %v; at E2B: %v\n%s%s", all, s.Left(), o.stdout, o.stderr)
			}
			c.destroyE2B(s)
			c.noFilesLeft()
		})
	}
}

// A build that is ready gets its tags although the run is interrupted: what is not taken off an earlier build now, no
// later plan would know of.
func TestCLIE2B_InterruptWhileTagsArePut(t *testing.T) {
	for _, route := range []string{"POST /templates/tags", "DELETE /templates/tags"} {
		t.Run(strings.ReplaceAll(route, "/", "."), func(t *testing.T) {
			s := newE2B(t)
			c := s.newCLI(t)
			c.write("main.tf", template("  tags = [\"stable\"]\n"))
			c.apply()
			c.write("main.tf", template("  tags = [\"other\"]\n  memory_mb = 2048\n"))
			reached := make(chan struct{})
			once := sync.OnceFunc(func() { close(reached) })
			s.Inject(e2btest.Fault{Route: route, Hold: true, Before: func(e2btest.Request) { once() }})
			run := c.start("apply", "-auto-approve")
			<-reached
			run.interrupt()
			run.waitForLog("StopProvider")
			s.Release()
			run.wait(30 * time.Second)
			build := c.only().Attributes["build_id"]
			for _, tag := range []string{"other", "default"} {
				if got, refused := s.Launches(e2btest.Key, "agent-env:"+tag); got != build {
					t.Errorf("%s launches %q (%s)", tag, got, refused)
				}
			}
			if got, _ := s.Launches(e2btest.Key, "agent-env:stable"); got != "" {
				t.Errorf("stable is still on %s", got)
			}
			c.planIsEmpty()
			c.destroyE2B(s)
		})
	}
}

// The secrets of a template reach E2B alone: not the state, a plan, an output, a log or a file.
func TestCLIE2B_SecretsGoNowhere(t *testing.T) {
	key := "e2b_" + strings.Repeat("5ec3e7", 7)
	password := enginetest.Canary("pull")
	secrets := enginetest.Canaries{"the API key": key, "the pull password": password}
	s := newE2B(t, func(o *e2btest.Options) {
		o.Teams = map[string]e2btest.Team{key: {Slug: e2btest.DefaultTeam}}
		o.Registries = map[string]map[string]string{"base.example.com": {"robot": password}}
	})
	c := s.newCLI(t)
	c.env["E2B_API_KEY"], c.env["TF_VAR_password"] = key, password
	config := "\nvariable \"password\" {\n  type = string\n  ephemeral = true\n}\n"
	login := "  base_registry = { username = \"robot\", password_wo = var.password }\n"
	c.write("main.tf", config+template(login))
	var outcomes []outcome
	outcomes = append(outcomes, c.expect(0, "plan", "-out=plan.tfplan"), c.expect(0, "show", "-json", "plan.tfplan"), c.expect(0, "apply", "plan.tfplan"))
	// A step that prints the password fails, and the error shows the log.
	s.OnStep(e2btest.StepAnswer{Holds: "install.py", Exit: 1, Stderr: []string{"login " + password + " of " + key + " was refused"}})
	c.write("main.tf", config+template(login+withLock(sixLock)))
	outcomes = append(outcomes, c.expect(1, "apply", "-auto-approve"))
	outcomes[len(outcomes)-1].says(t, "was refused")
	outcomes = append(outcomes, c.expect(0, "show", "-json"), c.expect(0, "destroy", "-auto-approve"))
	s.empty(t)
	sent := false
	for _, request := range s.Requests() {
		if strings.Contains(string(request.Body), "\"username\":\"robot\"") {
			sent = true
		}
	}
	if !sent {
		t.Error("E2B was given no login, so nothing was tested")
	}
	for i, o := range outcomes {
		for what, text := range map[string]string{"stdout": o.stdout, "stderr": o.stderr, "log": o.log} {
			if found := secrets.Found([]byte(text)); len(found) > 0 {
				t.Errorf("%s of run %d holds %q", what, i+1, found)
			}
		}
	}
	if looked := secrets.NowhereIn(t, c.dir); looked == 0 {
		t.Error("no file was looked at")
	}
	if _, err := os.Stat(filepath.Join(c.dir, "terraform.tfstate")); err != nil {
		t.Error(err)
	}
}

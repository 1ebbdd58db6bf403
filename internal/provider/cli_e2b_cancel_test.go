package provider_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

const (
	readStatus  = "GET /templates/{templateID}/builds/{buildID}/status"
	requestedAt = "POST /v3/templates"
	readAlias   = "GET /templates/aliases/{alias}"
)

// reach adds a fault, and gives a channel that is closed when it first hits.
func (s *e2bStack) reach(fault e2btest.Fault) <-chan struct{} {
	reached := make(chan struct{})
	once := sync.OnceFunc(func() { close(reached) })
	if fault.Lose {
		fault.After = once
	} else {
		fault.Before = func(e2btest.Request) { once() }
	}
	s.Inject(fault)
	return reached
}

func await(t *testing.T, reached <-chan struct{}) {
	t.Helper()
	select {
	case <-reached:
	case <-time.After(cliLimit):
		t.Fatal("the request did not come")
	}
}

// converges checks that whatever a stopped run left, the next apply makes one template of it, or names it with the way to import it,
// names the builds that are not in state, and that destroy then takes all.
func (c *cli) converges(s *e2bStack) {
	c.t.Helper()
	var o outcome
	if len(c.instances()) > 0 || len(s.Left()) == 0 {
		o = c.apply()
	} else {
		c.expect(1, "apply", "-auto-approve").says(c.t, "E2B template exists already", "terraform import datalayer_e2b_template.NAME agent-env")
		c.expect(0, "import", templateAddress, "agent-env")
		o = c.apply()
	}
	c.namesOthers(s, o)
	if left := s.Left(); len(left) != 1 {
		c.t.Errorf("at E2B: %v", left)
	}
	reference := fmt.Sprint(c.only().Attributes["reference"])
	if build, refused := s.Launches(e2btest.Key, reference); build != c.only().Attributes["build_id"] {
		c.t.Errorf("%s launches %q (%s)", reference, build, refused)
	}
	c.planIsEmpty()
	c.destroyE2B(s)
}

// namesOthers checks that an apply which built names each build that runs or launches and is not in state.
func (c *cli) namesOthers(s *e2bStack, o outcome) {
	c.t.Helper()
	if strings.Contains(o.stdout, "0 added, 0 changed") {
		return
	}
	ours := c.buildIDs()
	for _, b := range s.Builds() {
		if b.Status != "error" && !slices.Contains(ours, b.BuildID) {
			o.says(c.t, "E2B has a build of this content that is not in state", "build "+b.BuildID, "terraform state rm datalayer_e2b_template.NAME", fmt.Sprintf("NAME %s:%s", b.TemplateID, b.BuildID))
		}
	}
}

// C02: after one Ctrl-C while a new template is built, state has the ids, tainted; the next apply destroys it, build and all, and makes
// another.
func TestCLIE2B_ApplyAfterAnInterruptedCreateReplaces(t *testing.T) {
	s := newE2B(t)
	s.BuildsTake("agent-env", time.Minute)
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	reached := s.reach(e2btest.Fault{Route: readStatus, Skip: 1, Pass: true})
	run := c.start("apply", "-auto-approve")
	await(t, reached)
	run.interrupt()
	o := run.wait(cancelLimit)
	all := c.instances()
	if o.code == 0 || len(all) != 1 || all[0].Status != "tainted" || all[0].Attributes["reference"] != nil {
		t.Fatalf("ended with %d, in state: %v", o.code, all)
	}
	id, build := fmt.Sprint(all[0].Attributes["template_id"]), fmt.Sprint(all[0].Attributes["build_id"])
	o.says(t, "Wait for the E2B template build was cancelled", "template "+id+", build "+build, `last status "building"`, "the build goes on and may still become ready")
	s.BuildsTake("agent-env", 0)
	c.apply().says(t, "1 added, 0 changed, 1 destroyed")
	if now := c.only().Attributes["template_id"]; now == id {
		t.Errorf("the tainted template %s was kept", id)
	}
	c.noFilesLeft()
	c.converges(s)
}

// C02: a rebuild that is interrupted leaves the build that state pins, with its tags. What E2B makes of the other build is in the
// template, under our own tag alone, and goes with it.
func TestCLIE2B_InterruptedRebuildKeepsTheBuildBefore(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.apply()
	before := c.only().Attributes
	s.BuildsTake("agent-env", 3*time.Second)
	c.write("main.tf", template("  memory_mb = 2048\n"))
	reached := s.reach(e2btest.Fault{Route: readStatus, Pass: true})
	run := c.start("apply", "-auto-approve")
	await(t, reached)
	run.interrupt()
	o := run.wait(cancelLimit)
	if o.code == 0 {
		t.Errorf("an interrupted apply ended with 0:\n%s", o.stdout)
	}
	o.says(t, "Wait for the E2B template build was cancelled", fmt.Sprintf("State is kept: %v still launches", before["reference"]))
	for _, attribute := range []string{"template_id", "build_id", "reference", "cache_key"} {
		if now := c.only().Attributes[attribute]; now != before[attribute] {
			t.Errorf("%s is %v, want %v", attribute, now, before[attribute])
		}
	}
	eventually(t, cancelLimit, func() error {
		if all := s.Builds(); len(all) != 2 || all[1].Status != "ready" {
			return fmt.Errorf("builds: %+v", all)
		}
		return nil
	})
	s.launch(t, fmt.Sprint(before["build_id"]), s.Builds()[1].BuildID)
	for _, tag := range s.Tags(fullName) {
		if tag.Tag == "default" && tag.BuildID != before["build_id"] {
			t.Errorf("default is on %s", tag.BuildID)
		}
	}
	o = c.apply()
	o.says(t, "0 added, 1 changed, 0 destroyed")
	c.namesOthers(s, o)
	if made := c.buildIDs(); len(made) != 2 || made[0] != before["build_id"] || made[1] == s.Builds()[1].BuildID {
		t.Errorf("build_ids is %q", made)
	}
	// What the warning says takes the other build over.
	other, builds := s.Builds()[1], len(s.Builds())
	c.expect(0, "state", "rm", templateAddress)
	c.expect(0, "import", templateAddress, other.TemplateID+":"+other.BuildID)
	c.apply()
	if now := c.only().Attributes["build_id"]; now != other.BuildID || len(s.Builds()) != builds {
		t.Errorf("build %v is in state, want %s; %d builds at E2B, want %d", now, other.BuildID, len(s.Builds()), builds)
	}
	c.converges(s)
}

// C02, the hard stop: Terraform may not write state. What E2B has then is named by the next apply, and never there twice.
func TestCLIE2B_SecondInterruptLeavesNothingUnknown(t *testing.T) {
	tests := map[string]struct {
		faults []e2btest.Fault // the last is waited for
		built  bool            // a rebuild is what is stopped
	}{
		"while the build runs":                 {[]e2btest.Fault{{Route: readStatus, Pass: true}}, false},
		"while a rebuild runs":                 {[]e2btest.Fault{{Route: readStatus, Pass: true}}, true},
		"while a lost create is looked up":     {[]e2btest.Fault{{Route: requestedAt, Lose: true}, {Route: readAlias, Skip: 1, Hold: true}}, false},
		"while a lost rebuild is looked up":    {[]e2btest.Fault{{Route: requestedAt, Lose: true}, {Route: readAlias, Hold: true}}, true},
		"while a create is not answered":       {[]e2btest.Fault{{Route: requestedAt, Hold: true}}, false},
		"while it is asked whether it is ours": {[]e2btest.Fault{{Route: readTemplate, Hold: true}}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			c := s.newCLI(t)
			c.write("main.tf", template(""))
			if tt.built {
				c.apply()
				c.write("main.tf", template("  memory_mb = 2048\n"))
			}
			s.BuildsTake("agent-env", time.Minute)
			var reached <-chan struct{}
			for _, fault := range tt.faults {
				reached = s.reach(fault)
			}
			run := c.start("apply", "-auto-approve")
			await(t, reached)
			run.interrupt()
			run.waitForOutput("Stopping operation")
			run.interrupt()
			if o := run.wait(cancelLimit); o.code == 0 {
				t.Errorf("an interrupted apply ended with 0:\n%s", o.stdout)
			}
			s.heal()
			s.BuildsTake("agent-env", 0)
			// A Terraform that is stopped while it writes leaves an empty file.
			if all := c.instances(); tt.built && len(all) > 0 && (all[0].Status != "" || all[0].Attributes["reference"] == nil) {
				t.Errorf("in state: %v", all)
			}
			c.noFilesLeft()
			c.converges(s)
		})
	}
}

// Ctrl-C while destroy waits for sandboxes to end: nothing is deleted, no sandbox is ended, and state is kept.
func TestCLIE2B_InterruptedDestroyKeepsState(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.apply()
	s.AddSandbox(fullName, true)
	run := c.start("destroy", "-auto-approve")
	eventually(t, cliLimit, func() error {
		if s.Count(deleteTemplate) == 0 {
			return errors.New("no delete was asked")
		}
		return nil
	})
	run.interrupt()
	o := run.wait(cancelLimit)
	if o.code == 0 {
		t.Errorf("an interrupted destroy ended with 0:\n%s", o.stdout)
	}
	o.says(t, "E2B template is still used by sandboxes", "0 running and 1 paused sandboxes", "it was interrupted", "State is kept")
	if says("raise timeouts").MatchString(o.stderr) || says("context canceled").MatchString(o.stderr) {
		t.Errorf("time is blamed, or nobody:\n%s", o.stderr)
	}
	if c.only().Attributes["reference"] == nil || s.Count("DELETE /sandboxes/{sandboxID}") != 0 {
		t.Errorf("in state: %v", c.instances())
	}
	s.EndSandboxes()
	c.planIsEmpty()
	c.destroyE2B(s)
}

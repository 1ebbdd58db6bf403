package provider_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// once checks that E2B was asked for one build, and to start it, once.
func (s *e2bStack) once() statecheck.StateCheck {
	return stateCheckOf(func() error {
		if posts, starts := s.Count(requestedAt), s.Count("POST /v2/templates/{templateID}/builds/{buildID}"); posts != 1 || starts != 1 {
			return fmt.Errorf("%d requests and %d starts", posts, starts)
		}
		return nil
	})
}

// C13: a word for the status that this release does not know, and a build that E2B does not know yet, are waited out.
func TestTemplate_OddStatusIsWaitedOut(t *testing.T) {
	for name, fault := range map[string]e2btest.Fault{
		"unknown word": {Times: 2, Status: http.StatusOK, Body: `{"templateID":"t","buildID":"b","status":"queued","logs":[],"logEntries":[]}`},
		"not known":    {Times: 2, Status: http.StatusBadRequest, Message: "Build '9c0c6a1e-2a53-4a35-8f0b-0b1f8b5d6c11' not found"},
		"404":          {Times: 2, Status: http.StatusNotFound, Message: "Build not found"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			fault.Route = readStatus
			s.Inject(fault)
			s.run(t, resource.TestStep{Config: template(""), ConfigStateChecks: []statecheck.StateCheck{s.launches(), s.once()}})
		})
	}
}

// C13 and C14: a build that cannot be watched to its end is an error that names it and how it was last seen, and is tainted, whatever
// becomes of it. A key that is no longer taken ends the wait at once.
func TestTemplate_BuildThatIsLostSightOfIsTainted(t *testing.T) {
	const limit = 4 * time.Second
	for name, tt := range map[string]struct {
		fault  e2btest.Fault
		before func(s *e2bStack) func(e2btest.Request)
		says   []string
		atOnce bool
	}{
		"gateway":  {e2btest.Fault{Skip: 1, Times: -1, Status: http.StatusBadGateway, Header: aPage, Body: "<html>bad gateway</html>"}, nil, []string{"E2B template build took too long", `last status "building"`, "after 4s"}, false},
		"key":      {e2btest.Fault{Skip: 1, Status: http.StatusUnauthorized, Message: "Invalid API key"}, nil, []string{"E2B no longer takes the API key", `last status "building"`, "401 Unauthorized: Invalid API key", "api_key in the provider's e2b settings or E2B_API_KEY"}, true},
		"vanished": {e2btest.Fault{Skip: 1, Pass: true}, func(s *e2bStack) func(e2btest.Request) { return func(e2btest.Request) { s.Vanish(fullName) } }, []string{"E2B template build took too long", `last status "building"`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			s.BuildsTake("agent-env", time.Hour)
			tt.fault.Route = readStatus
			if tt.before != nil {
				tt.fault.Before = tt.before(s)
			}
			s.Inject(tt.fault)
			c := s.newCLI(t)
			c.write("main.tf", template(fmt.Sprintf("  timeouts = { create = %q }\n", limit)))
			began := time.Now()
			o := c.expect(1, "apply", "-auto-approve")
			if took := time.Since(began); tt.atOnce && took > limit {
				t.Errorf("it took %s", took)
			}
			all := c.instances()
			if len(all) != 1 || all[0].Status != "tainted" || all[0].Attributes["reference"] != nil {
				t.Fatalf("in state: %v", all)
			}
			o.says(t, append(tt.says, fmt.Sprintf("template %v, build %v", all[0].Attributes["template_id"], all[0].Attributes["build_id"]))...)
			s.Heal()
			c.destroyE2B(s)
		})
	}
}

// C14: all lines of a log come through, in order and once, though E2B gives a hundred at a time and the build was ready before any was
// read.
func TestCLIE2B_WholeLogIsRead(t *testing.T) {
	s := newE2B(t)
	lines := make([]string, 230)
	for i := range lines {
		lines[i] = fmt.Sprintf("the-line-%03d.", i)
	}
	s.OnStep(e2btest.StepAnswer{Holds: "make it", Stdout: lines})
	c := s.newCLI(t)
	c.write("main.tf", template("  post_install = [{ command = \"make it\" }]\n"))
	o := c.apply()
	var seen []string
	for line := range strings.Lines(o.log) {
		if _, rest, found := strings.Cut(line, "the-line-"); found && strings.Contains(line, "E2B build") {
			seen = append(seen, "the-line-"+rest[:4])
		}
	}
	if !slices.Equal(seen, lines) {
		t.Errorf("the log shows %d lines, want %d: %q", len(seen), len(lines), seen)
	}
	c.destroyE2B(s)
}

// C14: a build that is ready is a success, though its log cannot be read to the end.
func TestTemplate_LogThatIsLostIsAWarning(t *testing.T) {
	s := newE2B(t)
	s.OnStep(e2btest.StepAnswer{Holds: "make it", Stdout: make([]string, 120)})
	s.Inject(e2btest.Fault{Route: readStatus, Skip: 1, Times: -1, Status: http.StatusInternalServerError, Message: "no logs"})
	config := template("  post_install = [{ command = \"make it\" }]\n")
	s.run(t, resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{s.launches(), s.once()}, PostApplyFunc: func() {
		s.warned(t, "Log of the E2B build was not read to its end", "is ready", "500 Internal Server Error: no logs")
		s.Heal()
	}}, resource.TestStep{Config: config, PlanOnly: true})
}

package provider_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

const (
	readTemplate   = "GET /templates/{templateID}"
	readTags       = "GET /templates/{templateID}/tags"
	deleteTemplate = "DELETE /templates/{templateID}"
)

// nowhere is an address that refuses connections.
const nowhere = "http://127.0.0.1:1"

var aPage = map[string]string{"Content-Type": "text/html"}

// unhelpful are the answers of C03 that say nothing of whether a template is there, and what an error makes of each. Those that
// may pass are asked for again.
var unhelpful = map[string]struct {
	fault  e2btest.Fault
	passes bool
	says   []string
}{
	"401":             {e2btest.Fault{Status: http.StatusUnauthorized, Message: "Invalid API key, please visit https://e2b.dev/docs/api-key for more information."}, false, []string{"401 Unauthorized: Invalid API key", "api_key", "E2B_API_KEY"}},
	"403":             {e2btest.Fault{Status: http.StatusForbidden, Message: "team is banned"}, false, []string{"403 Forbidden: team is banned", "API key is valid at 127.0.0.1"}},
	"404 of a proxy":  {e2btest.Fault{Status: http.StatusNotFound, Header: aPage, Body: "<html>nope</html>"}, false, []string{"404 Not Found: a page of HTML", "api_url"}},
	"404 of no route": {e2btest.Fault{Status: http.StatusNotFound, Message: "validation error: no matching operation was found"}, false, []string{"404 Not Found: validation error", "api_url"}},
	"429":             {e2btest.Fault{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "600"}, Message: "Rate limit exceeded"}, false, []string{"429 Too Many Requests: Rate limit exceeded", "-parallelism=1"}},
	"500":             {e2btest.Fault{Status: http.StatusInternalServerError, Message: "Error when getting template"}, true, []string{"500 Internal Server Error: Error when getting template", "status.e2b.dev"}},
	"502 of HTML":     {e2btest.Fault{Status: http.StatusBadGateway, Header: aPage, Body: "<html>bad gateway</html>"}, true, []string{"502 Bad Gateway: a page of HTML", "status.e2b.dev"}},
	"200 of HTML":     {e2btest.Fault{Status: http.StatusOK, Header: aPage, Body: "<html>log in</html>"}, true, []string{"a page of HTML", "can be reached"}},
	"reset":           {e2btest.Fault{Reset: true}, true, []string{"EOF", "can be reached"}},
	"no answer":       {e2btest.Fault{Hold: true}, false, []string{"The time of timeouts."}},
}

// C03: only "not found" means gone. After any other answer state is what it was to the byte, nothing is planned or asked for, and the
// error names the template, E2B's words and what to do.
func TestCLIE2B_RefreshThatFailsKeepsState(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template("  timeouts = { read = \"3s\" }\n"))
	c.apply()
	id, kept := fmt.Sprint(c.only().Attributes["template_id"]), c.stateFile()
	check := func(t *testing.T, says ...string) {
		t.Helper()
		s.Forget()
		c.expect(1, "apply", "-auto-approve").says(t, append(says, `E2B template "agent-env"`, id, "State is kept as it was", "-refresh=false")...)
		for _, request := range s.Requests() {
			if request.Method != http.MethodGet {
				t.Errorf("%s %s was asked", request.Method, request.Path)
			}
		}
		if now := c.stateFile(); !bytes.Equal(now, kept) {
			t.Errorf("state was\n%s\nand is\n%s", kept, now)
		}
	}
	answers := maps.Clone(unhelpful)
	cut := answers["reset"]
	cut.fault, cut.says = e2btest.Fault{Truncate: true}, []string{"the answer was cut short", "can be reached"}
	answers["cut short"] = cut
	for _, route := range []string{readTemplate, readTags} {
		for _, name := range slices.Sorted(maps.Keys(answers)) {
			t.Run(route[strings.LastIndex(route, "/")+1:]+" "+name, func(t *testing.T) {
				answer := answers[name]
				answer.fault.Route, answer.fault.Times = route, -1
				s.Inject(answer.fault)
				defer s.heal()
				check(t, answer.says...)
				if asked := s.Count(route); answer.passes != (asked > 1) {
					t.Errorf("asked %d times", asked)
				}
			})
		}
	}
	t.Run("another object", func(t *testing.T) {
		s.Inject(e2btest.Fault{Route: readTemplate, Times: -1, Status: http.StatusOK, Body: `{"ok":true}`})
		defer s.heal()
		check(t, "is not the JSON that it should be")
	})
	t.Run("connection refused", func(t *testing.T) {
		c.env["E2B_API_URL"] = nowhere
		defer func() { c.env["E2B_API_URL"] = s.URL }()
		check(t, "connection refused", "127.0.0.1:1 can be reached")
	})
	c.planIsEmpty()
	c.destroyE2B(s)
}

// C03 at destroy: what was not surely deleted stays in state, and the next destroy takes it.
func TestCLIE2B_DestroyThatFailsKeepsState(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template("  timeouts = { delete = \"3s\" }\n"))
	c.apply()
	id := fmt.Sprint(c.only().Attributes["template_id"])
	check := func(t *testing.T, says ...string) {
		t.Helper()
		s.Forget()
		c.expect(1, "destroy", "-auto-approve", "-refresh=false").says(t, append(says, `E2B template "agent-env"`, id, "State is kept", `deletion_policy = "retain"`)...)
		if now := c.only(); now.Status != "" || now.Attributes["template_id"] != id || now.Attributes["reference"] == nil {
			t.Errorf("in state: %v", now)
		}
		if len(s.Left()) != 1 {
			t.Errorf("at E2B: %v", s.Left())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unhelpful)) {
		t.Run(name, func(t *testing.T) {
			answer := unhelpful[name]
			answer.fault.Route, answer.fault.Times = deleteTemplate, -1
			s.Inject(answer.fault)
			defer s.heal()
			check(t, answer.says...)
			if asked := s.Count(deleteTemplate); answer.passes != (asked > 1) {
				t.Errorf("asked %d times", asked)
			}
		})
	}
	t.Run("connection refused", func(t *testing.T) {
		c.env["E2B_API_URL"] = nowhere
		defer func() { c.env["E2B_API_URL"] = s.URL }()
		check(t, "connection refused")
	})
	c.planIsEmpty()
	c.destroyE2B(s)
}

// C03: 404 is success at destroy, whether somebody else removed the template or our own request was not answered; where E2B shows it
// all the same, it is named.
func TestCLIE2B_DestroyOfWhatIsGone(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(s *e2bStack)
		shown  bool
	}{
		"removed by another": {func(s *e2bStack) { s.Vanish(fullName) }, false},
		"the answer is lost": {func(s *e2bStack) { s.Inject(e2btest.Fault{Route: deleteTemplate, Lose: true}) }, false},
		"shown all the same": {func(s *e2bStack) {
			s.Inject(e2btest.Fault{Route: deleteTemplate, Times: -1, Status: http.StatusNotFound, Message: "template not found"})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			c := s.newCLI(t)
			c.write("main.tf", template(""))
			c.apply()
			id := fmt.Sprint(c.only().Attributes["template_id"])
			tt.before(s)
			o := c.expect(0, "destroy", "-auto-approve", "-refresh=false")
			if all := c.instances(); len(all) != 0 {
				t.Errorf("in state: %v", all)
			}
			if !tt.shown {
				s.empty(t)
				if strings.Contains(o.stdout, "may still be there") {
					t.Errorf("there is a warning:\n%s", o.stdout)
				}
				return
			}
			o.says(t, "Warning: E2B template may still be there", id)
		})
	}
}

// heal takes faults away, and with them what they still hold of a run that has ended.
func (s *e2bStack) heal() {
	s.Drop()
	s.Heal()
}

// stateFile is the state as it is on disk.
func (c *cli) stateFile() []byte {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	must(c.t, err)
	return data
}

// A default that launches another build is drift, even while the tag's newest row is a build that is not ready. E2B's list
// tells it then, and is asked in no other case.
func TestCLIE2B_DefaultThatLaunchesAnotherBuildIsDrift(t *testing.T) {
	const list = "GET /v2/templates"
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.apply()
	first := fmt.Sprint(c.only().Attributes["build_id"])
	c.write("main.tf", template("  memory_mb = 2048\n"))
	c.apply()
	ours := fmt.Sprint(c.only().Attributes["build_id"])
	untagged := func() {
		_, err := s.somebody(t).RequestBuild(t.Context(), e2b.BuildRequest{Name: "agent-env"})
		must(t, err)
		s.Forget()
	}
	asked := func(want int) {
		t.Helper()
		if got := s.Count(list); got != want {
			t.Errorf("the list was asked for %d times, want %d", got, want)
		}
	}
	untagged()
	c.planIsEmpty() // It launches ours still.
	asked(1)
	s.MoveTag(fullName, "default", first)
	untagged()
	c.expect(2, "plan", "-detailed-exitcode").says(t, "0 to add, 1 to change, 0 to destroy")
	asked(1)
	s.Inject(refuseAll(list))
	c.expect(1, "plan").says(t, "Default build of the E2B template could not be read", "State is kept as it was")
	s.heal()
	c.apply()
	if build, refused := s.Launches(e2btest.Key, "agent-env"); build != ours {
		t.Errorf("the bare name launches %q (%s), want %s", build, refused, ours)
	}
	s.Forget()
	c.planIsEmpty()
	asked(0)
	c.destroyE2B(s)
}

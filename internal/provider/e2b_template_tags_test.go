package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// A tag that is no longer wanted is taken off, whether or not something is built by the same apply.
func TestTemplate_TagsThatAreNoLongerWantedGo(t *testing.T) {
	for name, rest := range map[string]string{"in place": "", "with a rebuild": "  memory_mb = 2048\n"} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t)
			c := s.newCLI(t)
			c.write("main.tf", template("  tags = [\"stable\", \"v1\"]\n"))
			c.apply()
			first := fmt.Sprint(c.only().Attributes["reference"])
			c.write("main.tf", template("  tags = [\"v1\"]\n"+rest))
			c.apply()
			if build, _ := s.Launches(e2btest.Key, "agent-env:stable"); build != "" {
				t.Errorf("stable is still on %s", build)
			}
			if build, refused := s.Launches(e2btest.Key, "agent-env:v1"); build != c.only().Attributes["build_id"] {
				t.Errorf("v1 launches %q (%s)", build, refused)
			}
			if build, refused := s.Launches(e2btest.Key, first); build == "" {
				t.Errorf("the first build launches no more: %s", refused)
			}
			c.planIsEmpty()
			c.destroyE2B(s)
		})
	}
}

// A tag that somebody moved to another build is theirs.
func TestTemplate_TagThatWasMovedIsLeft(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template("  tags = [\"stable\"]\n"))
	c.apply()
	first := fmt.Sprint(c.only().Attributes["build_id"])
	c.write("main.tf", template("  tags = [\"stable\"]\n  memory_mb = 2048\n"))
	c.apply()
	s.MoveTag(fullName, "stable", first)
	c.write("main.tf", template("  memory_mb = 2048\n"))
	c.apply("-refresh=false").says(t, "Tag of the E2B template was left", `"stable" of template`, "it points to build "+first)
	if build, refused := s.Launches(e2btest.Key, "agent-env:stable"); build != first {
		t.Errorf("stable launches %q (%s)", build, refused)
	}
	c.planIsEmpty()
	c.destroyE2B(s)
}

// E2B removes a tag with its history. A build that somebody made under that tag alone would launch no more.
func TestTemplate_LastTagOfABuildIsNeverRemoved(t *testing.T) {
	s := newE2B(t)
	_, theirs := s.AddTemplate(e2btest.Key, "agent-env", "prod")
	c := s.newCLI(t)
	c.write("main.tf", template("  tags = [\"prod\"]\n"))
	c.expect(0, "import", templateAddress, "agent-env")
	c.apply()
	ours := fmt.Sprint(c.only().Attributes["build_id"])
	c.write("main.tf", template(""))
	c.apply().says(t, "Tag of the E2B template was left", "build "+theirs+" may have no other tag")
	for _, build := range []string{theirs, ours} {
		if got, refused := s.Launches(e2btest.Key, "agent-env:"+build); got != build {
			t.Errorf("build %s launches %q (%s)", build, got, refused)
		}
	}
	c.planIsEmpty()
	c.forgets(s)
}

// E2B caches that it does not know a name, and the create asks for just that: tags are put by the template's id.
func TestTemplate_TagsDoNotWaitForTheName(t *testing.T) {
	s := newE2B(t)
	for _, route := range []string{"POST /templates/tags", "DELETE /templates/tags"} {
		s.Inject(e2btest.Fault{Route: route, Times: -1, Status: 404, Message: "template 'acme-team/agent-env' not found",
			If: func(r e2btest.Request) bool { return strings.Contains(string(r.Body), "agent-env") }})
	}
	c := s.newCLI(t)
	for _, tags := range []string{`"stable", "v1"`, `"v1"`} {
		c.write("main.tf", template("  tags = ["+tags+"]\n"))
		c.apply()
		c.planIsEmpty()
	}
	c.destroyE2B(s)
}

// State cannot hold a tag that was to go and did not: the warning says what is left to do.
func TestTemplate_TagThatCannotBeTakenOffSaysSo(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template("  tags = [\"stable\"]\n"))
	c.apply()
	s.Inject(refuseAll("DELETE /templates/tags"))
	c.write("main.tf", template("  memory_mb = 2048\n"))
	c.apply().says(t, "Tags could not be removed from the E2B template", "is ready and launches by its id", "tags stable", "Remove them by hand")
	s.Heal()
	c.planIsEmpty()
	c.destroyE2B(s)
}

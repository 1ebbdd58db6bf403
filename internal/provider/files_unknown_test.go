package provider_test

import (
	"fmt"
	"strings"
	"testing"
)

// filesLater is an entry of files of which nothing is known before apply, with a mode that is not the default.
func filesLater(trigger, mode string) string {
	return fmt.Sprintf("resource \"terraform_data\" \"f\" {\n  input = { path = \"/srv/a\", content = \"a\", content_base64 = null, mode = %q }\n  triggers_replace = %q\n}\n", mode, trigger)
}

// The default of mode is not planned for an entry that is not known as a whole.
func TestTemplate_UnknownFileHasNoModeYet(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	for i, step := range []struct {
		trigger, mode string
		builds        int
	}{{"1", "0755", 1}, {"2", "0755", 1}, {"3", "0600", 2}, {"4", "0644", 3}, {"5", "0755", 4}} {
		c.write("main.tf", filesLater(step.trigger, step.mode)+template("  files = [terraform_data.f.output, { path = \"/srv/b\", content = \"b\" }]\n"))
		c.apply()
		if builds := len(s.Builds()); builds != step.builds {
			t.Errorf("step %d: %d builds, want %d", i, builds, step.builds)
		}
		c.planIsEmpty()
	}
	c.destroyE2B(s)
}

func TestEnvironment_UnknownFileHasNoModeYet(t *testing.T) {
	s := newStackWithoutEngine(t)
	digest := s.foreignImage(t, [2]string{"linux", "amd64"}, map[string]any{"User": "1000:100"})
	c := s.newCLI(t)
	config := func(trigger string) string {
		return filesLater(trigger, "0755") + s.config("  files = [terraform_data.f.output]")
	}
	c.write("main.tf", config("1"))
	c.expect(0, "apply", "-auto-approve", "-target=terraform_data.f")
	c.expect(0, "import", address, s.repository+"@"+digest)
	c.apply()
	c.planIsEmpty()
	c.write("main.tf", config("2"))
	if o := c.expect(2, "plan", "-detailed-exitcode"); !strings.Contains(o.stdout, address+" must be replaced") {
		t.Error(o.stdout)
	}
}

// An image that is not ours does not tell its Python.
func TestEnvironment_UnknownPythonAfterAnImport(t *testing.T) {
	s := newStackWithoutEngine(t)
	digest := s.foreignImage(t, [2]string{"linux", "amd64"}, map[string]any{"User": "1000:100"})
	c := s.newCLI(t)
	c.write("main.tf", s.config(""))
	c.expect(0, "import", address, s.repository+"@"+digest)
	c.apply()
	c.write("main.tf", knownLater("3.13", "1")+s.config("  python_version = terraform_data.d.output"))
	c.apply()
	c.planIsEmpty()
	for _, one := range c.instances() {
		if python, ok := one.Attributes["python_version"]; ok && python != "3.13" {
			t.Errorf("python_version is %v", python)
		}
	}
}

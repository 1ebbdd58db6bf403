package provider_test

import (
	"fmt"
	"strings"
	"testing"
)

// unresolvedLock is a lock that an import gives, so that nothing has to resolve it.
func unresolvedLock(arguments string) string {
	return "\nresource \"datalayer_package_lock\" \"l\" {\n  python_version = \"3.13\"\n  python_platform = \"x86_64-manylinux_2_28\"\n" + arguments + "}\n"
}

// What a plan says of arguments does not change at apply, when others have become known: another spelling of a value meets one
// of another that is not known yet.
func TestPackageLock_UnknownValueBesideAnotherSpelling(t *testing.T) {
	const later = "  constraints = [terraform_data.d.output]\n"
	requirements := func(list string) string { return "  requirements = [" + list + "]\n" }
	for name, tt := range map[string]struct{ first, second string }{
		"order of another argument":    {requirements(`"six", "six>1"`) + later, requirements(`"six>1", "six"`) + later},
		"comment of another argument":  {requirements(`"six"`) + later, requirements(`"# all", "six"`) + later},
		"spelling of another argument": {requirements(`"six>1,<3"`) + later, requirements(`"Six <3, >1"`) + later},
		"instant": {
			requirements(`"six"`) + "  exclude_newer = \"2026-11-30T00:00:00Z\"\n" + later,
			requirements(`"six"`) + "  exclude_newer = \"2026-11-30T00:00:00+00:00\"\n" + later,
		},
		"index": {
			requirements(`"six", "six>1"`) + "  index = { url = \"https://${terraform_data.d.output}.example.com\" }\n",
			requirements(`"six>1", "six"`) + "  index = { url = \"https://${terraform_data.d.output}.example.com\" }\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCLI(t)
			config := func(trigger, arguments string) string {
				return knownLater("six", trigger) + unresolvedLock(arguments)
			}
			c.write("main.tf", config("1", tt.first))
			c.expect(0, "apply", "-auto-approve", "-target=terraform_data.d")
			c.expect(0, "import", lockAddress, sixLock)
			c.apply()
			c.write("main.tf", config("1", tt.second))
			c.planIsEmpty()
			c.write("main.tf", config("2", tt.second))
			c.apply()
			c.planIsEmpty()
		})
	}
}

// Terraform takes a list of texts as one value. So a spelling that changed beside a text that is not known yet is refused at apply,
// and a second one settles it; beside another change it is what is configured.
func TestPackageLock_UnknownTextBesideAnotherSpellingSettles(t *testing.T) {
	c := newCLI(t)
	config := func(trigger, first string) string {
		return knownLater("six<2", trigger) + unresolvedLock("  requirements = [\"six\"]\n  constraints = ["+first+", terraform_data.d.output]\n")
	}
	c.write("main.tf", config("1", `"six>1"`))
	c.expect(0, "apply", "-auto-approve", "-target=terraform_data.d")
	c.expect(0, "import", lockAddress, sixLock)
	c.apply()
	c.write("main.tf", config("1", `"Six > 1"`))
	c.planIsEmpty()
	c.write("main.tf", config("2", `"Six > 1"`))
	if o := c.expect(1, "apply", "-auto-approve"); !strings.Contains(o.stderr, "inconsistent final plan") {
		t.Error(o.stderr)
	}
	c.apply()
	c.planIsEmpty()
	c.write("main.tf", strings.Replace(config("2", `"Six > 1"`), "terraform_data.d.output", `"six<3"`, 1))
	c.expect(2, "plan", "-detailed-exitcode")
}

// A base that is not known yet may turn out to be none, and then the other runner is the default.
func TestPackageLock_RunnerIsUnknownWhileItsBaseIs(t *testing.T) {
	c := newCLI(t)
	base := fmt.Sprintf("%q", "r.example.com/b@sha256:"+strings.Repeat("b", 64))
	const requirements = "  requirements = [\"six\"]\n"
	c.write("main.tf", unresolvedLock(requirements+"  base = "+base+"\n"))
	c.expect(0, "import", lockAddress, sixLock)
	c.apply()
	c.write("main.tf", knownLater("x", "1")+unresolvedLock(requirements+"  base = terraform_data.d.output == \"x\" ? null : "+base+"\n"))
	c.env["PATH"] = c.temp // It fails for want of uv, and not before that.
	if o := c.expect(1, "apply", "-auto-approve"); strings.Contains(o.stderr, "inconsistent") || !strings.Contains(o.stderr, "uv is not on this machine") {
		t.Error(o.stderr)
	}
}

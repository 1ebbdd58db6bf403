package provider_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// A setting that the environment gives is blamed by its variable, and only where E2B is asked.
func TestTemplate_SettingOfTheEnvironmentIsNamed(t *testing.T) {
	for variable, tt := range map[string]struct{ value, title string }{
		"E2B_API_KEY":     {e2btest.Key + "\n", "Control character in the E2B API key"},
		"E2B_DOMAIN":      {"https://e2b.app", "Not an E2B domain"},
		"E2B_API_URL":     {"api.e2b.app", "Not an address of the E2B API"},
		"E2B_SANDBOX_URL": {"ftp://x", "Not an address of E2B sandboxes"},
	} {
		t.Run(variable, func(t *testing.T) {
			s := newE2B(t)
			t.Setenv(variable, tt.value)
			refused := says(tt.title, variable)
			s.run(t,
				resource.TestStep{Config: template(""), ExpectError: refused},
				resource.TestStep{Config: "provider \"datalayer\" {\n  e2b = {}\n}\n" + template(""), ExpectError: refused},
			)
			for _, d := range s.errors() {
				if d.Attribute != nil || strings.Contains(d.Detail, e2btest.Key) {
					t.Errorf("the error is at %s: %s", d.Attribute, d.Detail)
				}
			}
			if len(s.Requests()) > 0 {
				t.Errorf("E2B was asked %d times", len(s.Requests()))
			}
		})
	}
}

// Resources that E2B has no part in do not meet its variables.
func TestTemplate_SettingOfTheEnvironmentIsNoMatterOfOthers(t *testing.T) {
	newE2B(t)
	t.Setenv("E2B_DOMAIN", "https://e2b.app")
	s := newStackWithoutEngine(t)
	s.run(t, resource.TestStep{Config: s.config(""), PlanOnly: true, ExpectNonEmptyPlan: true})
}

// State stays as it is where a refresh meets a bad setting.
func TestTemplate_SettingThatTurnsBadKeepsState(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.apply()
	c.env["E2B_DOMAIN"] = "https://e2b.app"
	c.expect(1, "plan").says(t, "Not an E2B domain", "E2B_DOMAIN")
	c.expect(1, "destroy", "-auto-approve", "-refresh=false").says(t, "Not an E2B domain", "E2B_DOMAIN")
	delete(c.env, "E2B_DOMAIN")
	c.planIsEmpty()
	c.destroyE2B(s)
}

// A base that cannot be pulled: the message says which login E2B had, and where it came from.
func TestTemplate_PullThatIsRefusedNamesTheLogin(t *testing.T) {
	const login = "base_registry = { username = \"robot\", password_wo = \"cnry-1\" }\n"
	for name, tt := range map[string]struct {
		provider, arguments string
		says                []string
	}{
		"none":           {"", "", []string{"E2B had no login for the registry", "base_registry", "the provider's registries"}},
		"the resource's": {"", login, []string{`the user "robot" from the resource's base_registry`, "Check that this login may pull"}},
		"the provider's": {"provider \"datalayer\" {\n  registries = { \"base.example.com\" = { username = \"ci\", password = \"cnry-2\" } }\n}\n", "", []string{`the user "ci" from the provider's registries`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newE2B(t, func(o *e2btest.Options) {
				o.Registries = map[string]map[string]string{"base.example.com": {"robot": "another"}}
			})
			s.run(t, resource.TestStep{Config: tt.provider + template(tt.arguments), ExpectError: says(append([]string{"E2B template build failed", "pull the base (base)", "access denied to"}, tt.says...)...)})
		})
	}
}

// A failed step names the argument that made it, and a failed create what becomes of the template.
func TestTemplate_FailedCreateSaysWhatIsNext(t *testing.T) {
	s := newE2B(t)
	s.OnStep(e2btest.StepAnswer{Holds: "server.py", Exit: 1, Stderr: []string{"datalayer: https://raw.example.com did not answer"}})
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	o := c.expect(1, "apply", "-auto-approve")
	id := c.instances()[0].Attributes["template_id"]
	o.says(t, "install the code-interpreter server (code_interpreter)", "did not answer", "set source to a mirror", "/etc/pip.conf", fmt.Sprintf("Template %s is in state, tainted", id), "destroys it and makes another")
	c.destroyE2B(s)
}

// A rebuild that ran out of time says what the next apply does, and a destroy that sandboxes keep waiting that it is they,
// not a slow service.
func TestTemplate_TimeThatRanOutSaysWhatIsNext(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	config := "  timeouts = { update = \"2s\", delete = \"2s\" }\n"
	c.write("main.tf", template(config))
	c.apply()
	s.BuildsTake("agent-env", time.Hour)
	c.write("main.tf", template(config+"  memory_mb = 2048\n"))
	c.expect(1, "apply", "-auto-approve").says(t, "E2B template build took too long", "State is kept", "The next apply makes a build of its own")
	s.AddSandbox(fullName, false)
	o := c.expect(1, "destroy", "-auto-approve")
	o.says(t, "E2B template is still used by sandboxes", "raise timeouts.delete")
	if says("if the service is slow").MatchString(o.stderr) {
		t.Errorf("a slow service is blamed:\n%s", o.stderr)
	}
	s.EndSandboxes()
	c.destroyE2B(s)
}

// An object that has the operation's name is not named twice.
func TestTemplate_NameIsSaidOnce(t *testing.T) {
	s := newE2B(t)
	s.Inject(e2btest.Fault{Route: "GET /templates/aliases/{alias}", Times: -1, Status: http.StatusUnauthorized, Message: "Invalid API key"})
	s.run(t, resource.TestStep{Config: template(""), ExpectError: says(`E2B template "agent-env" GET /templates/aliases/agent-env: 401`)})
}

// What the developer's own Docker configuration has reaches E2B, and somebody is told.
func TestTemplate_LoginOfTheDockerConfigurationIsToldOf(t *testing.T) {
	s := newE2B(t, func(o *e2btest.Options) {
		o.Registries = map[string]map[string]string{"base.example.com": {"me": "cnry-1"}}
	})
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "config.json"), []byte(`{"auths":{"base.example.com":{"auth":"`+base64.StdEncoding.EncodeToString([]byte("me:cnry-1"))+`"}}}`), 0o600))
	t.Setenv("DOCKER_CONFIG", folder)
	s.run(t,
		resource.TestStep{Config: template("")},
		resource.TestStep{PreConfig: func() {
			s.warned(t, "E2B is given a login of the Docker configuration", "base.example.com", `"me"`, "base_registry")
		}, Config: template("  base_registry = { username = \"me\", password_wo = \"cnry-1\" }\n  memory_mb = 2048\n")},
	)
}

// The key goes over plain http to this machine alone without a word.
func TestTemplate_KeyInTheClearIsToldOf(t *testing.T) {
	s := newE2B(t)
	for address, warned := range map[string]bool{"http://e2b.internal.example": true, "http://10.0.0.1:3000": true, "https://api.e2b.app": false, "http://localhost:3000": false, "http://[::1]:3000": false} {
		s.forget()
		s.runAndKeep(t, resource.TestStep{Config: fmt.Sprintf("provider \"datalayer\" {\n  e2b = { api_url = %q }\n}\n", address) + template(""), PlanOnly: true, ExpectNonEmptyPlan: true})
		if got := len(s.warnings()) > 0; got != warned {
			t.Errorf("%s: warned is %t", address, got)
		}
	}
}

// What the team may not have points to the argument.
func TestTemplate_LimitOfTheTeamNamesTheArgument(t *testing.T) {
	for arguments, words := range map[string][]string{
		"  cpu_count = 16\n":    {"E2B did not take the template build", "cpu_count = 16", "CPU count can't be higher than 8", "Lower it"},
		"  memory_mb = 16384\n": {"E2B did not take the template build", "memory_mb = 16384", "Memory can't be higher than 8192 MiB", "Lower it"},
	} {
		s := newE2B(t)
		s.run(t, resource.TestStep{Config: template(arguments), ExpectError: says(words...)})
	}
}

// A key of E2B's that a step prints is shown nowhere, and none is taken as a variable.
func TestTemplate_KeyOfE2BInEnvIsRefused(t *testing.T) {
	s := newE2B(t)
	s.run(t, resource.TestStep{Config: template(fmt.Sprintf("  env = { V = %q }\n", e2btest.Key)), PlanOnly: true, ExpectError: says("Environment variable holds a credential", "an E2B API key", "anyone who can launch it")})
}

// A run that changes nothing uses no login, so it needs no value of a variable that is given to each run anew.
func TestTemplate_PasswordIsNeededByWhatBuildsAlone(t *testing.T) {
	s := newE2B(t, func(o *e2btest.Options) {
		o.Registries = map[string]map[string]string{"base.example.com": {"robot": "cnry-1"}}
	})
	c := s.newCLI(t)
	config := "variable \"password\" {\n  type = string\n  ephemeral = true\n  default = null\n}\n"
	login := "  base_registry = { username = \"robot\", password_wo = var.password }\n"
	c.write("main.tf", config+template(login))
	c.expect(1, "plan").says(t, "Missing registry password", "base_registry.password_wo is null", "set the variable")
	c.env["TF_VAR_password"] = "cnry-1"
	c.apply()
	delete(c.env, "TF_VAR_password")
	c.planIsEmpty()
	c.write("main.tf", config+template(login+"  memory_mb = 2048\n"))
	c.expect(1, "plan").says(t, "Missing registry password")
	c.write("main.tf", config+template(login))
	c.destroyE2B(s)
}

// What stays at E2B is the same after a rebuild on the same base, so the plan does not show it.
func TestTemplate_RebuildPlansWhatStaysAtE2B(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.apply()
	c.write("main.tf", template("  memory_mb = 2048\n"))
	if o := c.expect(2, "plan", "-detailed-exitcode"); strings.Contains(o.stdout, "retained") || !strings.Contains(o.stdout, "build_id ") {
		t.Errorf("the plan is\n%s", o.stdout)
	}
	c.apply()
	c.write("main.tf", strings.Replace(template("  memory_mb = 2048\n"), "/base@", "/mirror@", 1))
	c.apply()
	c.planIsEmpty()
	c.destroyE2B(s)
}

// E2B's build holds no lock against a C library: what the plan knows of the base does.
func TestTemplate_LockForAnotherCLibrary(t *testing.T) {
	s := newE2B(t)
	lock := withLock("# platform: x86_64-manylinux_2_40\nsix==1.17.0 --hash=sha256:" + strings.Repeat("a", 64) + "\n")
	s.run(t, resource.TestStep{Config: template(lock + "  base_libc = \"glibc 2.36\"\n"), ExpectError: says("Lock is for another C library", "it needs glibc 2.40, and the base has glibc 2.36")})
	if len(s.Requests()) > 0 {
		t.Errorf("E2B was asked %d times", len(s.Requests()))
	}
}

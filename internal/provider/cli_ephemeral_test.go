package provider_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// isAtLeast tells whether the CLI under test is at least this version, of Terraform or OpenTofu alike.
func (c *cli) isAtLeast(major, minor int) (version string, ok bool) {
	c.t.Helper()
	var found struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal([]byte(c.expect(0, "version", "-json").stdout), &found); err != nil {
		c.t.Fatal(err)
	}
	var has [2]int
	if _, err := fmt.Sscanf(found.Version, "%d.%d.", &has[0], &has[1]); err != nil {
		c.t.Fatalf("version %q: %v", found.Version, err)
	}
	return found.Version, has[0] > major || has[0] == major && has[1] >= minor
}

// needsCLI checks that the CLI under test is at least this version.
func (c *cli) needsCLI(major, minor int) {
	c.t.Helper()
	version, ok := c.isAtLeast(major, minor)
	if ok {
		return
	}
	said := fmt.Sprintf("%s: NOT RUN: it needs a CLI >= %d.%d, and %s has %s", c.t.Name(), major, minor, c.program, version)
	if os.Getenv(enginetest.RequiredVariable) == "1" {
		c.t.Fatal(said)
	}
	fmt.Fprintln(os.Stderr, said)
	c.t.Skip(said)
}

// eitherPassword lets a user in with the second password as with the first, as while one is being changed.
func eitherPassword(user, first, second string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if name, password, ok := r.BasicAuth(); ok && name == user && password == second {
				r.SetBasicAuth(user, first)
			}
			next.ServeHTTP(w, r)
		})
	}
}

func TestCLI_EphemeralLoginIsKeptNowhere(t *testing.T) {
	secrets := enginetest.Canaries{"first password": enginetest.Canary("first"), "second password": enginetest.Canary("second")}
	s := newStack(t, eitherPassword("writer", secrets["first password"], secrets["second password"]), enginetest.BasicAuth(map[string]string{"writer": secrets["first password"]}, nil))
	c := s.newCLI(t)
	c.needsCLI(1, 11)
	logIn := func(password string) {
		c.env["DATALAYER_REGISTRIES"] = fmt.Sprintf(`{%q: {"username": "writer", "password": %q}}`, s.registry.Host, password)
	}
	config := func(version int) string {
		return fmt.Sprintf(`
ephemeral "datalayer_registry_credentials" "r" {
  host   = %q
  grants = [{ repository = %q, actions = ["pull", "push"] }]
}
`, s.registry.Host, s.repository) + s.config(fmt.Sprintf(`
  registry = {
    username            = "writer"
    password_wo         = ephemeral.datalayer_registry_credentials.r.password
    password_wo_version = %d
  }
  attestations = { sbom = false, provenance = "max" }`, version))
	}
	logIn(secrets["first password"])
	c.write("main.tf", config(1))
	unseen := func(code int, arguments ...string) outcome {
		t.Helper()
		o := c.expect(code, arguments...)
		unsaid(t, secrets, fmt.Sprint(arguments), o)
		if files := secrets.NowhereIn(t, c.dir); files == 0 {
			t.Error("no file is in the working directory")
		}
		c.noFilesLeft()
		return o
	}
	unseen(0, "plan", "-out=plan").says(t, "Grants do not narrow this login")
	unseen(0, "show", "-json", "plan")
	unseen(0, "apply", "plan")
	unseen(0, "show", "-json")
	before := c.only()
	if kinds := s.registry.Sweep(t, secrets); len(kinds) < 4 {
		t.Errorf("%v is in the registry's storage, want an index, manifests, configs, layers and a statement", kinds)
	}

	logIn(secrets["second password"])
	unseen(0, "plan", "-detailed-exitcode").says(t, "No changes")
	s.registry.ResetRequests()
	c.write("main.tf", config(2))
	unseen(0, "apply", "-auto-approve").says(t, "0 added, 1 changed, 0 destroyed")
	s.onlyHeads(t)
	unseen(0, "plan", "-detailed-exitcode").says(t, "No changes")
	s.holdsOnly(t, before)

	c.write("output.tf", "output \"password\" {\n  value = ephemeral.datalayer_registry_credentials.r.password\n}\n")
	unseen(1, "plan").says(t, "phemeral value")
	c.write("output.tf", "")
	unseen(0, "destroy", "-auto-approve")
	if left := s.registry.Left(t); len(left) > 0 {
		t.Errorf("left in the registry: %v", left)
	}
}

// An ephemeral resource cannot configure the provider that opens it; another instance of the same provider can.
func TestCLI_EphemeralLoginForAnotherInstance(t *testing.T) {
	c := newCLI(t)
	c.needsCLI(1, 11)
	c.env["DATALAYER_REGISTRIES"] = `{"registry.example.com": {"username": "ci", "password": "p-1"}}`
	login := func(provider string) string {
		return fmt.Sprintf(`
ephemeral "datalayer_registry_credentials" "r" {
  provider = %s
  host     = "registry.example.com"
}

provider "datalayer" {
  registries = { "other.example.com" = { username = "ci", password = ephemeral.datalayer_registry_credentials.r.password } }
}

provider "datalayer" {
  alias = "logins"
}

ephemeral "datalayer_registry_credentials" "used" {
  host = "other.example.com"
}
`, provider)
	}
	c.write("main.tf", login("datalayer"))
	c.expect(1, "plan").says(t, "Cycle")
	c.write("main.tf", login("datalayer.logins"))
	c.apply()
}

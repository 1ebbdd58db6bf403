package provider_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

const passwordVariable = `
variable "password" {
  type      = string
  ephemeral = true
}
`

// newLocked is a stack whose registry asks for a login, and a CLI that has none but what the resource brings.
func newLocked(t *testing.T) (*stack, *cli) {
	s := newStack(t, enginetest.BasicAuth(map[string]string{"writer": "first-password", "reader": "second-password"}, func(user, method, _ string) bool {
		return user == "writer" || method != http.MethodPost && method != http.MethodPut
	}))
	c := s.newCLI(t)
	c.env["TF_VAR_password"] = "first-password"
	c.write("main.tf", passwordVariable+s.config(`  registry = { username = "writer", password_wo = var.password }`))
	return s, c
}

// login is DATALAYER_REGISTRIES for the stack's registry.
func (s *stack) login() string {
	return fmt.Sprintf(`{%q: {"username": "reader", "password": "second-password"}}`, s.registry.Host)
}

func TestCLI_ChangedPasswordPlansNothing(t *testing.T) {
	s, c := newLocked(t)
	c.env["DATALAYER_REGISTRIES"] = s.login()
	c.apply()
	before := c.only()
	s.registry.ResetRequests()

	c.env["TF_VAR_password"] = "changed-password"
	c.planIsEmpty()
	c.write("main.tf", passwordVariable+s.config(`  registry = { username = "writer", password_wo = var.password, password_wo_version = 2 }`))
	c.apply().says(t, "0 added, 1 changed, 0 destroyed")
	c.planIsEmpty()
	s.onlyHeads(t)
	s.holdsOnly(t, before)
	c.destroy(s)
}

// Terraform does not keep write-only values, so a refresh and a destroy do not have the login that the create had.
func TestCLI_LoginOfTheResourceAloneIsForCreate(t *testing.T) {
	s, c := newLocked(t)
	c.apply()
	s.holdsOnly(t, c.only())
	before := c.instances()

	for _, arguments := range [][]string{{"plan"}, {"destroy", "-auto-approve"}, {"destroy", "-auto-approve", "-refresh=false"}} {
		o := c.expect(1, arguments...)
		o.says(t, "401 Unauthorized", "registry.password_wo is used at create and update only", "DATALAYER_REGISTRIES", "Docker configuration")
		if arguments[len(arguments)-1] != "-refresh=false" {
			o.says(t, "State is kept as it was", "`-refresh=false`")
		}
		if after := c.instances(); !reflect.DeepEqual(after, before) {
			t.Errorf("a failed %v changed the state from %v to %v", arguments, before, after)
		}
	}
	c.planIsEmpty("-refresh=false")

	c.env["DATALAYER_REGISTRIES"] = s.login()
	c.planIsEmpty()
	c.destroy(s)
}

// What changes nothing and what destroys use no write-only password, so they run without the variable that it comes from.
func TestCLI_PasswordIsNeededByWhatChangesAlone(t *testing.T) {
	s, c := newLocked(t)
	c.env["DATALAYER_REGISTRIES"] = s.login()
	config := func(further string) string {
		return strings.Replace(passwordVariable, "ephemeral = true", "ephemeral = true\n  default   = null", 1) + s.config("  registry = { username = \"writer\", password_wo = var.password }\n  build_secrets_wo = { a = var.password }\n  post_install = [{ command = \"true\" }]\n"+further)
	}
	c.write("main.tf", config(""))
	c.apply()
	delete(c.env, "TF_VAR_password")
	c.planIsEmpty()
	for _, change := range []string{"  version = \"2\"\n", "  rebuild_trigger = { n = \"2\" }\n"} {
		c.write("main.tf", config(change))
		c.expect(1, "plan").says(t, "Missing registry password", "registry.password_wo is null", "set the variable", "Build secret without a value")
	}
	c.write("main.tf", config(""))
	c.destroy(s)
}

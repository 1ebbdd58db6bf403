package provider_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/echoprovider"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// opened is a login with these arguments, and what shows it to a test: an ephemeral value is in no state.
func opened(arguments string) string {
	return fmt.Sprintf(`
ephemeral "datalayer_registry_credentials" "r" {
%s
}

provider "echo" {
  data = ephemeral.datalayer_registry_credentials.r
}

resource "echo" "r" {}
`, arguments)
}

// opening tests a login without any engine, from a clean environment.
type opening struct{ recorder }

func newOpening(t *testing.T) *opening {
	t.Helper()
	t.Setenv("DATALAYER_REGISTRIES", "")
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	o := &opening{}
	t.Cleanup(func() {
		for _, warning := range o.warnings() {
			t.Errorf("nobody expected the warning %q: %s", warning.Summary, warning.Detail)
		}
	})
	return o
}

func (o *opening) run(t *testing.T, steps ...resource.TestStep) {
	t.Helper()
	factories := o.factories()
	factories["echo"] = echoprovider.NewProviderServer()
	resource.UnitTest(t, resource.TestCase{ProtoV6ProviderFactories: factories, Steps: steps})
}

// gives checks what the login's consumer was given.
func gives(attribute string, value knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue("echo.r", tfjsonpath.New("data").AtMapKey(attribute), value)
}

func login(username, password string) []statecheck.StateCheck {
	return []statecheck.StateCheck{
		gives("username", knownvalue.StringExact(username)), gives("password", knownvalue.StringExact(password)), gives("expires_at", knownvalue.Null()),
	}
}

func TestRegistryCredentials_AreThoseThatTheHostHas(t *testing.T) {
	const host = "registry.example.com:5000"
	sources := map[string]func(t *testing.T) (config string){
		"provider registries": func(*testing.T) string {
			return fmt.Sprintf("provider \"datalayer\" {\n  registries = { %q = { username = \"ci\", password = \"p-1\" } }\n}\n", host)
		},
		"DATALAYER_REGISTRIES": func(t *testing.T) string {
			t.Setenv("DATALAYER_REGISTRIES", fmt.Sprintf(`{%q: {"username": "ci", "password": "p-1"}}`, host))
			return ""
		},
		"Docker configuration": func(t *testing.T) string {
			dockerLogin(t, host, "ci:p-1")
			return ""
		},
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			o := newOpening(t)
			config := source(t)
			for _, address := range []string{host, "https://" + host + "/team/env"} {
				o.run(t, resource.TestStep{Config: config + opened(fmt.Sprintf("  host = %q", address)), ConfigStateChecks: login("ci", "p-1")})
			}
		})
	}
}

func dockerLogin(t *testing.T, host, userAndPassword string) {
	t.Helper()
	text := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host, base64.StdEncoding.EncodeToString([]byte(userAndPassword)))
	must(t, os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(text), 0o600))
}

func TestRegistryCredentials_WarnWhereGrantsNarrowNothing(t *testing.T) {
	o := newOpening(t)
	t.Setenv("DATALAYER_REGISTRIES", `{"registry.example.com": {"username": "ci", "password": "p-1"}}`)
	o.run(t, resource.TestStep{
		Config: opened(`
  host   = "registry.example.com"
  grants = [{ repository = "team/env", actions = ["pull", "push"] }, { repository = "registry.example.com/team/base", actions = ["pull"] },
    { repository = "registry.example.com:443/team/cache", actions = ["pull"] }]`),
		ConfigStateChecks: login("ci", "p-1"),
	})
	o.warned(t, "Grants do not narrow this login", "registry.example.com", `the login of "ci" from DATALAYER_REGISTRIES`, "Only the login of an ECR registry is narrowed")
}

func TestRegistryCredentials_SayWhyThereAreNone(t *testing.T) {
	o := newOpening(t)
	t.Setenv("DATALAYER_REGISTRIES", `{"known.example.com": {"username": "ci", "password": "p-1"}}`)
	o.run(t,
		resource.TestStep{Config: opened(`  host = "registry.example.com"`), ExpectError: says("No login for this registry", "registry.example.com",
			"in the provider's registries[\"registry.example.com\"] and DATALAYER_REGISTRIES, then in the Docker configuration", "Logins are configured for known.example.com.")},
		resource.TestStep{Config: opened(fmt.Sprintf("  host = %q", ecrHost)), ExpectError: says("No login for this registry", ecrHost, "aws = {}", "then at AWS, where")},
		resource.TestStep{PreConfig: func() {
			must(t, os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(`{"auths": {"registry.example.com": {"identitytoken": "cnry-token"}}}`), 0o600))
		}, Config: opened(`  host = "registry.example.com"`), ExpectError: says("Registry login is an identity token", "registry.example.com", "Give a login in the provider's registries")},
		resource.TestStep{PreConfig: func() {
			must(t, os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(`{"auths": [`), 0o600))
		}, Config: opened(`  host = "registry.example.com"`), ExpectError: says("Docker configuration cannot be read")},
	)
}

func TestRegistryCredentials_ArgumentsAreChecked(t *testing.T) {
	o := newOpening(t)
	var steps []resource.TestStep
	for arguments, want := range map[string][]string{
		`host = "REG ISTRY"`:                 {"Registry address not understood"},
		`host = "user@registry.example.com"`: {"Registry address with a user name"},
		`host = "r.example.com"
		 grants = [{ repository = "team/env", actions = ["pull", "admin"] }]`: {"Unknown action of a grant", `"admin" is none of`, "`pull`, `push`, `delete`, `describe`"},
		`host = "r.example.com"
		 grants = [{ repository = "team/env", actions = ["pull", null] }]`: {"Null in a list", "grants[0].actions[1] is null"},
		`host = "r.example.com"
		 grants = [{ repository = "team/env", actions = [] }]`: {"Grant without actions"},
		`host = "r.example.com"
		 grants = [{ repository = "team/env" }]`: {"Grant without actions"},
		`host = "r.example.com"
		 grants = [{ actions = ["pull"] }]`: {"Grant without a repository"},
		`host = "r.example.com"
		 grants = [{ repository = "other.example.com/team/env", actions = ["pull"] }]`: {"Grant for another registry", "host is r.example.com"},
		`host = "r.example.com"
		 grants = [{ repository = "Team/Env", actions = ["pull"] }]`: {"Upper-case letters in a repository name"},
	} {
		steps = append(steps, resource.TestStep{Config: opened(arguments), ExpectError: says(want...)})
	}
	o.run(t, steps...)
}

// A host that is known after apply only leaves the login unopened at plan.
func TestRegistryCredentials_WaitForWhatIsUnknown(t *testing.T) {
	o := newOpening(t)
	t.Setenv("DATALAYER_REGISTRIES", `{"registry.example.com": {"username": "ci", "password": "p-1"}}`)
	o.run(t, resource.TestStep{
		Config: "resource \"terraform_data\" \"host\" {\n  input = \"registry.example.com\"\n}\n" + opened(`  host   = terraform_data.host.output
  grants = [{ repository = terraform_data.host.id, actions = ["pull"] }]`),
		ConfigStateChecks: login("ci", "p-1"),
	})
	o.warned(t, "Grants do not narrow this login")
}

// A role that is not known at plan is no reason to ask without it: the login would reach all that the identity may.
func TestRegistryCredentials_AreNotOpenedWiderThanConfigured(t *testing.T) {
	asked := 0
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(endpoint.Close)
	for variable, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIAXXXXXXXXXXXXXXXX", "AWS_SECRET_ACCESS_KEY": "cnry-secret", "AWS_SESSION_TOKEN": "", "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": endpoint.URL,
	} {
		t.Setenv(variable, value)
	}
	unknown := later("x", fmt.Sprintf("%q", someARN))
	wide := opened(fmt.Sprintf("  host   = %q\n  grants = [{ repository = \"team/env\", actions = [\"pull\"] }]", ecrHost))
	for name, provider := range map[string]string{
		"role of the host": fmt.Sprintf(`registries = { %q = { ecr = { role_arn = terraform_data.x.output } } }`, ecrHost),
		"beside aws":       fmt.Sprintf("aws = {}\n  registries = { %q = { ecr = { role_arn = terraform_data.x.output } } }", ecrHost),
		"role of aws":      fmt.Sprintf("aws = { role_arn = terraform_data.x.output }\n  registries = { %q = { ecr = { session_duration = \"20m\" } } }", ecrHost),
		"aws alone":        `aws = { role_arn = terraform_data.x.output }`,
		"all registries":   fmt.Sprintf("aws = {}\n  registries = terraform_data.x.output == \"\" ? {} : { %q = { username = terraform_data.x.output, password = \"p\", ecr = null } }", ecrHost),
	} {
		t.Run(name, func(t *testing.T) {
			o := newOpening(t)
			o.run(t, resource.TestStep{Config: unknown + fmt.Sprintf("provider \"datalayer\" {\n  %s\n}\n", provider) + wide, ExpectError: says("Registry login is not known yet", ecrHost, "opened at plan too")})
			if asked > 0 {
				t.Errorf("AWS was asked %d times", asked)
			}
		})
	}
	// What is not known of one registry is nothing to another.
	o := newOpening(t)
	o.run(t, resource.TestStep{
		Config: unknown + fmt.Sprintf("provider \"datalayer\" {\n  aws = { role_arn = terraform_data.x.output }\n  registries = { %q = { username = \"robot\", password = \"p-2\" }, \"r.example.com\" = { username = \"ci\", password = terraform_data.x.output } }\n}\n", ecrHost) +
			opened(fmt.Sprintf("  host = %q", ecrHost)),
		ConfigStateChecks: login("robot", "p-2"),
	})
}

func TestRegistryCredentials_RenewSaysThatTheEndIsNear(t *testing.T) {
	s, _ := server(t)
	// Private data are the framework's: a JSON object of JSON texts.
	private := fmt.Sprintf(`{"expiry": %q}`, base64.StdEncoding.EncodeToString([]byte(`{"host": "registry.example.com", "at": "2026-11-30T12:00:00Z"}`)))
	renewed, err := s.RenewEphemeralResource(t.Context(), &tfprotov6.RenewEphemeralResourceRequest{TypeName: "datalayer_registry_credentials", Private: []byte(private)})
	must(t, err)
	if len(renewed.Diagnostics) != 1 || renewed.Diagnostics[0].Severity != tfprotov6.DiagnosticSeverityWarning || !renewed.RenewAt.IsZero() {
		t.Fatalf("renewed until %s with %v", renewed.RenewAt, renewed.Diagnostics)
	}
	if said := renewed.Diagnostics[0]; said.Summary != "Registry login is about to expire" || !says("registry.example.com", "works until 2026-11-30T12:00:00Z", "apply again").MatchString(said.Detail) {
		t.Errorf("%s: %s", said.Summary, said.Detail)
	}
}

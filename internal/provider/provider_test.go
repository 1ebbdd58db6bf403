package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/provider"
)

// server is the provider as Terraform would start it, without Terraform.
func server(t *testing.T) (tfprotov6.ProviderServer, *tfprotov6.GetProviderSchemaResponse) {
	t.Helper()
	s, err := providerserver.NewProtocol6WithError(provider.New("test")())()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := s.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return s, schema
}

func noErrors(t *testing.T, diagnostics []*tfprotov6.Diagnostic) {
	t.Helper()
	for _, d := range diagnostics {
		t.Errorf("%s: %s", d.Summary, d.Detail)
	}
}

func TestProvider_SchemaIsSoundAndDescribed(t *testing.T) {
	_, schema := server(t)
	noErrors(t, schema.Diagnostics)
	blocks := map[string]*tfprotov6.SchemaBlock{"provider": schema.Provider.Block}
	for name, s := range schema.ResourceSchemas {
		blocks[name] = s.Block
	}
	for name, s := range schema.DataSourceSchemas {
		blocks["data."+name] = s.Block
	}
	for name, s := range schema.EphemeralResourceSchemas {
		blocks["ephemeral."+name] = s.Block
	}
	for _, name := range []string{"datalayer_environment", "data.datalayer_image", "ephemeral.datalayer_registry_credentials"} {
		if blocks[name] == nil {
			t.Fatalf("there is no %s", name)
		}
	}
	for name, block := range blocks {
		if len(block.BlockTypes) > 0 {
			t.Errorf("%s has blocks; nested attributes are the rule", name)
		}
		sound(t, name, block.Attributes)
	}
}

// sound checks that every attribute is described, and that secrets are nowhere but in what is given.
func sound(t *testing.T, at string, attributes []*tfprotov6.SchemaAttribute) {
	t.Helper()
	for _, a := range attributes {
		path := at + "." + a.Name
		if a.Description == "" {
			t.Errorf("%s has no description", path)
		}
		if strings.Contains(a.Name, "password") && a.Name != "password_wo_version" {
			// What an ephemeral resource gives is in no state.
			given := strings.HasPrefix(at, "ephemeral.")
			if !a.Sensitive || a.Computed != given || !a.WriteOnly && !given && !strings.HasPrefix(at, "provider") {
				t.Errorf("%s: sensitive %t, computed %t, write-only %t", path, a.Sensitive, a.Computed, a.WriteOnly)
			}
		}
		if a.NestedType != nil {
			if a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSet {
				t.Errorf("%s is a set", path)
			}
			sound(t, path, a.NestedType.Attributes)
		}
	}
}

// providerConfig is the provider's configuration with these attributes; the others are null.
func providerConfig(t *testing.T, schema *tfprotov6.GetProviderSchemaResponse, values map[string]tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	kind, ok := schema.Provider.ValueType().(tftypes.Object)
	if !ok {
		t.Fatalf("the provider's configuration is %s, want an object", schema.Provider.ValueType())
	}
	attributes := map[string]tftypes.Value{}
	for name, t := range kind.AttributeTypes {
		attributes[name] = tftypes.NewValue(t, nil)
		if value, ok := values[name]; ok {
			attributes[name] = value
		}
	}
	config, err := tfprotov6.NewDynamicValue(kind, tftypes.NewValue(kind, attributes))
	if err != nil {
		t.Fatal(err)
	}
	return &config
}

func configure(t *testing.T, values map[string]tftypes.Value) []*tfprotov6.Diagnostic {
	t.Helper()
	s, schema := server(t)
	config := providerConfig(t, schema, values)
	validated, err := s.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	configured, err := s.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	return append(validated.Diagnostics, configured.Diagnostics...)
}

var ecrType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"role_arn": tftypes.String, "external_id": tftypes.String, "session_duration": tftypes.String, "profile": tftypes.String}}

// registries is the provider's argument: host → username, password.
func registries(logins map[string][2]any) map[string]tftypes.Value {
	login := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"username": tftypes.String, "password": tftypes.String, "ecr": ecrType}}
	elements := map[string]tftypes.Value{}
	for host, l := range logins {
		elements[host] = tftypes.NewValue(login, map[string]tftypes.Value{
			"username": tftypes.NewValue(tftypes.String, l[0]), "password": tftypes.NewValue(tftypes.String, l[1]), "ecr": tftypes.NewValue(ecrType, nil),
		})
	}
	return map[string]tftypes.Value{"registries": tftypes.NewValue(tftypes.Map{ElementType: login}, elements)}
}

func TestProvider_ConfiguresWithoutASetting(t *testing.T) {
	for _, variable := range []string{"BUILDKIT_HOST", "DATALAYER_REGISTRIES", "HOME", "DOCKER_CONFIG"} {
		t.Setenv(variable, "")
	}
	noErrors(t, configure(t, nil))
}

func TestProvider_TakesLoginsFromArgumentAndVariable(t *testing.T) {
	for _, variable := range []string{"", `{"h.example": {"username": "u", "password": "cnry-1"}}`} {
		t.Setenv("DATALAYER_REGISTRIES", variable)
		noErrors(t, configure(t, registries(map[string][2]any{"h.example": {"u", "cnry-2"}, "https://other.example/": {"u", tftypes.UnknownValue}})))
	}
}

func TestProvider_ArgumentGoesBeforeTheVariable(t *testing.T) {
	s := newStack(t, enginetest.BasicAuth(map[string]string{"robot": "cnry-right"}, nil))
	t.Setenv("DATALAYER_REGISTRIES", fmt.Sprintf(`{%q: {"username": "robot", "password": "cnry-wrong"}}`, s.registry.Host))
	argument := fmt.Sprintf("provider \"datalayer\" {\n  registries = { \"http://%s/team\" = { username = \"robot\", password = \"cnry-right\" } }\n}\n", s.registry.Host)
	s.run(t,
		resource.TestStep{Config: s.config(""), ExpectError: says("Push to the repository is not possible", "401 Unauthorized", "credentials for "+s.registry.Host)},
		resource.TestStep{Config: argument + s.config(""), ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}},
	)
}

func TestProvider_RefusesTwoSpellingsOfOneHost(t *testing.T) {
	t.Setenv("DATALAYER_REGISTRIES", "")
	for _, d := range configure(t, registries(map[string][2]any{"h.example": {"u", "cnry-1"}, "h.example:443": {"u", "cnry-2"}})) {
		if strings.Contains(d.Summary+d.Detail, "h.example") {
			return
		}
	}
	t.Error("which of the two is used is left to chance")
}

func TestProvider_NamesTheKeyOfABadVariableAndNeverAValue(t *testing.T) {
	tests := map[string]struct{ text, says string }{
		"not JSON":      {`{"h.example": cnry-1}`, "JSON"},
		"a list":        {`["cnry-1"]`, "object"},
		"unknown key":   {`{"h.example": {"username": "cnry-1", "pass": "cnry-1"}}`, `"pass"`},
		"no password":   {`{"h.example": {"username": "cnry-1"}}`, "password is missing"},
		"not a host":    {`{"team/env": {"username": "u", "password": "cnry-1"}}`, "team/env"},
		"login is text": {`{"h.example": "cnry-1"}`, "h.example"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DATALAYER_REGISTRIES", tt.text)
			diagnostics := configure(t, nil)
			if len(diagnostics) != 1 {
				t.Fatalf("got %d diagnostics, want one error", len(diagnostics))
			}
			text := diagnostics[0].Summary + "\n" + diagnostics[0].Detail
			if !containsAll(text, []string{"DATALAYER_REGISTRIES", tt.says}) || strings.Contains(text, "cnry") {
				t.Errorf("got %s", text)
			}
		})
	}
}

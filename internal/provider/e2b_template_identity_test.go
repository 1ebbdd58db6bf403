package provider_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

var templateIdentityType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"template_id": tftypes.String}}

func templateIdentity(t *testing.T, id string) *tfprotov6.ResourceIdentityData {
	t.Helper()
	value, err := tfprotov6.NewDynamicValue(templateIdentityType, tftypes.NewValue(templateIdentityType, map[string]tftypes.Value{"template_id": tftypes.NewValue(tftypes.String, id)}))
	must(t, err)
	return &tfprotov6.ResourceIdentityData{IdentityData: &value}
}

// templateOf reads an identity that the provider answered.
func templateOf(t *testing.T, data *tfprotov6.ResourceIdentityData) (id string) {
	t.Helper()
	if data == nil || data.IdentityData == nil {
		t.Fatal("there is no identity")
	}
	value, err := data.IdentityData.Unmarshal(templateIdentityType)
	must(t, err)
	attributes := map[string]tftypes.Value{}
	must(t, value.As(&attributes))
	must(t, attributes["template_id"].As(&id))
	return id
}

func TestTemplateIdentity_IsTheTemplateID(t *testing.T) {
	s, _ := server(t)
	schemas, err := s.GetResourceIdentitySchemas(t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	must(t, err)
	schema := schemas.IdentitySchemas["datalayer_e2b_template"]
	if schema == nil || len(schema.IdentityAttributes) != 1 {
		t.Fatalf("the identity is %v", schema)
	}
	if a := schema.IdentityAttributes[0]; a.Name != "template_id" || !a.RequiredForImport || a.Description == "" {
		t.Errorf("%s: required %t, description %q", a.Name, a.RequiredForImport, a.Description)
	}
}

// C40, by the protocol, which an older Terraform does not drive: the identity ends with the state that the name and the id end with.
func TestTemplateIdentity_ImportsAsTheIdDoesAndARefreshWithoutOneGivesIt(t *testing.T) {
	s := newE2B(t)
	maker := s.newCLI(t)
	maker.write("main.tf", template("  tags = [\"stable\"]\n"))
	maker.apply()
	id := fmt.Sprint(maker.only().Attributes["template_id"])
	provider, schema := server(t)
	configured, err := provider.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: providerConfig(t, schema, nil)})
	must(t, err)
	noErrors(t, configured.Diagnostics)
	states := map[string]tftypes.Value{}
	for name, req := range map[string]*tfprotov6.ImportResourceStateRequest{
		"name": {ID: "agent-env"}, "id": {ID: id}, "identity": {Identity: templateIdentity(t, id)},
	} {
		req.TypeName = "datalayer_e2b_template"
		imported, err := provider.ImportResourceState(t.Context(), req)
		must(t, err)
		noErrors(t, imported.Diagnostics)
		if len(imported.ImportedResources) != 1 {
			t.Fatalf("import by %s gives %d resources", name, len(imported.ImportedResources))
		}
		one := imported.ImportedResources[0]
		if got := templateOf(t, one.Identity); got != id {
			t.Errorf("import by %s gives the identity %q, want %q", name, got, id)
		}
		if states[name], err = one.State.Unmarshal(schema.ResourceSchemas[req.TypeName].ValueType()); err != nil {
			t.Fatal(err)
		}
		for _, current := range []*tfprotov6.ResourceIdentityData{nil, one.Identity} {
			read, err := provider.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: req.TypeName, CurrentState: one.State, CurrentIdentity: current})
			must(t, err)
			noErrors(t, read.Diagnostics)
			if got := templateOf(t, read.NewIdentity); got != id {
				t.Errorf("refresh gives the identity %q, want %q", got, id)
			}
		}
	}
	for name, state := range states {
		if !state.Equal(states["identity"]) {
			t.Errorf("the states differ: by %s\n%s\nby identity\n%s", name, state, states["identity"])
		}
	}
	maker.destroyE2B(s)
}

// An identity is an id: a name in its place is not looked up, nor is what nobody or somebody else has.
func TestTemplateIdentity_ToImportThatIsNoneIsAnError(t *testing.T) {
	const strangers = "e2b_00000000000000000000000000000000000000b0"
	s := newE2B(t, func(o *e2btest.Options) {
		o.Teams = map[string]e2btest.Team{e2btest.Key: {Slug: e2btest.DefaultTeam}, strangers: {Slug: "strangers"}}
	})
	s.AddTemplate(e2btest.Key, "agent-env", "default")
	foreign, _ := s.AddTemplate(strangers, "agent-env", "default")
	provider, schema := server(t)
	configured, err := provider.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: providerConfig(t, schema, nil)})
	must(t, err)
	noErrors(t, configured.Diagnostics)
	for id, summary := range map[string]string{
		"":          "Empty import id for a template",
		"agent-env": "E2B template to import does not exist",
		"nobody":    "E2B template to import does not exist",
		foreign:     "E2B template could not be read",
	} {
		imported, err := provider.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: "datalayer_e2b_template", Identity: templateIdentity(t, id)})
		must(t, err)
		if len(imported.Diagnostics) != 1 || imported.Diagnostics[0].Summary != summary {
			t.Errorf("identity %q: got %v, want one error %q", id, imported.Diagnostics, summary)
		}
	}
}

// identified runs steps on what keeps identities: OpenTofu and Terraform, each from 1.12 on.
func (s *e2bStack) identified(t *testing.T, steps ...resource.TestStep) {
	t.Helper()
	resource.UnitTest(t, resource.TestCase{
		TerraformVersionChecks: []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)}, ProtoV6ProviderFactories: s.factories(), Steps: steps,
	})
}

func TestTemplateIdentity_StaysOverRebuildsAndFollowsAnotherName(t *testing.T) {
	s := newE2B(t)
	kept := statecheck.ExpectIdentityValueMatchesState(templateAddress, tfjsonpath.New("template_id"))
	s.identified(t,
		resource.TestStep{Config: template(""), ConfigStateChecks: []statecheck.StateCheck{kept}},
		resource.TestStep{Config: template("  memory_mb = 2048\n"), ConfigPlanChecks: templatePlan(templateAction(plancheck.ResourceActionUpdate)), ConfigStateChecks: []statecheck.StateCheck{kept}},
		resource.TestStep{Config: template("  memory_mb = 2048\n  tags = [\"stable\"]\n"), ConfigPlanChecks: templatePlan(templateAction(plancheck.ResourceActionUpdate)), ConfigStateChecks: []statecheck.StateCheck{kept}},
		resource.TestStep{Config: template("  name = \"other-env\"\n"), ConfigPlanChecks: templatePlan(templateAction(plancheck.ResourceActionDestroyBeforeCreate)), ConfigStateChecks: []statecheck.StateCheck{kept}},
	)
	s.empty(t)
}

// C40: an import block with an identity, by a run that did not make the template.
func TestTemplateIdentity_ImportsByABlock(t *testing.T) {
	s := newE2B(t)
	var id, build, reference string
	s.identified(t, resource.TestStep{Config: template("  deletion_policy = \"retain\"\n"), ConfigStateChecks: []statecheck.StateCheck{
		rememberTemplate("template_id", &id), rememberTemplate("build_id", &build), rememberTemplate("reference", &reference)}})
	s.warned(t, "E2B template was kept")
	block := func(id string) string {
		return fmt.Sprintf("import {\n  to = %s\n  identity = { template_id = %q }\n}\n", templateAddress, id)
	}
	s.Forget()
	same := func(attribute string, want *string) statecheck.StateCheck {
		return knownTemplate(attribute, knownvalue.StringFunc(func(value string) error { return equal(value, *want) }))
	}
	s.identified(t,
		resource.TestStep{Config: block("agent-env") + template(""), ExpectError: says("E2B template to import does not exist", `"agent-env"`, "404 Not Found")},
		resource.TestStep{Config: block(id) + template(""), ConfigPlanChecks: templatePlan(templateAction(plancheck.ResourceActionUpdate)), ConfigStateChecks: []statecheck.StateCheck{
			same("build_id", &build), same("reference", &reference), s.launches(),
			statecheck.ExpectIdentity(templateAddress, map[string]knownvalue.Check{"template_id": knownvalue.StringExact(id)}),
		}},
		resource.TestStep{Config: template(""), PlanOnly: true},
	)
	if s.Count("POST /v3/templates") != 0 {
		t.Error("a build was asked for")
	}
	s.empty(t)
}

package provider_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"
)

var identityType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"repository": tftypes.String, "digest": tftypes.String}}

func identityData(t *testing.T, repository, digest string) *tfprotov6.ResourceIdentityData {
	t.Helper()
	value, err := tfprotov6.NewDynamicValue(identityType, tftypes.NewValue(identityType, map[string]tftypes.Value{
		"repository": tftypes.NewValue(tftypes.String, repository), "digest": tftypes.NewValue(tftypes.String, digest),
	}))
	if err != nil {
		t.Fatal(err)
	}
	return &tfprotov6.ResourceIdentityData{IdentityData: &value}
}

// identityOf reads an identity that the provider answered.
func identityOf(t *testing.T, data *tfprotov6.ResourceIdentityData) map[string]string {
	t.Helper()
	if data == nil || data.IdentityData == nil {
		t.Fatal("there is no identity")
	}
	value, err := data.IdentityData.Unmarshal(identityType)
	if err != nil {
		t.Fatal(err)
	}
	attributes := map[string]tftypes.Value{}
	must(t, value.As(&attributes))
	result := map[string]string{}
	for name, attribute := range attributes {
		var text string
		must(t, attribute.As(&text))
		result[name] = text
	}
	return result
}

func TestIdentity_IsRepositoryAndDigest(t *testing.T) {
	s, _ := server(t)
	schemas, err := s.GetResourceIdentitySchemas(t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	must(t, err)
	noErrors(t, schemas.Diagnostics)
	schema := schemas.IdentitySchemas["datalayer_environment"]
	if schema == nil {
		t.Fatal("datalayer_environment has no identity")
	}
	var names []string
	for _, a := range schema.IdentityAttributes {
		names = append(names, a.Name)
		if !a.RequiredForImport || a.Description == "" {
			t.Errorf("%s: required %t, description %q", a.Name, a.RequiredForImport, a.Description)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"digest", "repository"}) {
		t.Errorf("attributes are %q", names)
	}
}

func TestIdentity_ImportsAsTheIdDoesAndARefreshWithoutOneGivesIt(t *testing.T) {
	s := newStackWithoutEngine(t)
	digest := s.foreignImage(t, [2]string{"linux", "amd64"}, map[string]any{"User": "1000:100"})
	server, schema := server(t)
	configured, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: providerConfig(t, schema, nil)})
	must(t, err)
	noErrors(t, configured.Diagnostics)
	imports := map[string]*tfprotov6.ImportResourceStateRequest{
		"id":       {ID: s.repository + "@" + digest},
		"identity": {Identity: identityData(t, s.repository, digest)},
	}
	want := map[string]string{"repository": s.repository, "digest": digest}
	states := map[string]tftypes.Value{}
	for name, req := range imports {
		req.TypeName = "datalayer_environment"
		imported, err := server.ImportResourceState(t.Context(), req)
		must(t, err)
		for _, d := range imported.Diagnostics {
			if d.Severity == tfprotov6.DiagnosticSeverityError {
				t.Fatalf("import by %s: %s: %s", name, d.Summary, d.Detail)
			}
		}
		one := imported.ImportedResources[0]
		if got := identityOf(t, one.Identity); !maps.Equal(got, want) {
			t.Errorf("import by %s gives the identity %v, want %v", name, got, want)
		}
		if states[name], err = one.State.Unmarshal(schema.ResourceSchemas[req.TypeName].ValueType()); err != nil {
			t.Fatal(err)
		}
		for _, current := range []*tfprotov6.ResourceIdentityData{nil, one.Identity} {
			read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: req.TypeName, CurrentState: one.State, CurrentIdentity: current})
			must(t, err)
			noErrors(t, read.Diagnostics)
			if got := identityOf(t, read.NewIdentity); !maps.Equal(got, want) {
				t.Errorf("refresh gives the identity %v, want %v", got, want)
			}
		}
	}
	if !states["id"].Equal(states["identity"]) {
		t.Errorf("the states differ:\n%s\n%s", states["id"], states["identity"])
	}
}

func TestIdentity_ToImportThatIsMalformedIsAnError(t *testing.T) {
	s := newStackWithoutEngine(t)
	server, _ := server(t)
	digest := "sha256:" + strings.Repeat("0", 64)
	tests := map[string]struct{ repository, digest, says string }{
		"no host":       {"team/env", digest, "Image reference without a registry host"},
		"a tag":         {s.repository + ":v1", digest, "Repository with a tag or digest"},
		"a tag as both": {s.repository, "v1", "Image digest not understood"},
		"no digest":     {s.repository, "", "Image reference without a digest"},
		"no repository": {"", digest, "Empty image reference"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: "datalayer_environment", Identity: identityData(t, tt.repository, tt.digest)})
			must(t, err)
			if len(imported.Diagnostics) != 1 || imported.Diagnostics[0].Summary != tt.says {
				t.Errorf("got %v, want one error %q", imported.Diagnostics, tt.says)
			}
		})
	}
}

// identified is run on what keeps identities: OpenTofu and Terraform, each from 1.12 on.
func (s *stack) identified(t *testing.T, steps ...resource.TestStep) {
	t.Helper()
	resource.UnitTest(t, resource.TestCase{
		TerraformVersionChecks: []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)}, ProtoV6ProviderFactories: s.factories(), Steps: steps,
	})
	must(t, s.left(t))
}

func TestIdentity_IsKeptThroughUpdateAndFollowsAReplacement(t *testing.T) {
	s := newStack(t)
	kept := statecheck.ExpectIdentityValueMatchesState(address, tfjsonpath.New("digest"))
	named := statecheck.ExpectIdentity(address, map[string]knownvalue.Check{"repository": knownvalue.StringExact(s.repository), "digest": matching("^sha256:")})
	digests := statecheck.CompareValue(compare.ValuesDiffer())
	s.identified(t,
		resource.TestStep{Config: s.config(""), ConfigStateChecks: []statecheck.StateCheck{kept, named}},
		resource.TestStep{
			Config: s.config(`version = "2"`), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{kept, named, digests.AddStateValue(address, tfjsonpath.New("digest"))},
		},
		resource.TestStep{
			Config: s.config(`env = { A = "1" }`), ConfigPlanChecks: expect(plancheck.ResourceActionCreateBeforeDestroy),
			ConfigStateChecks: []statecheck.StateCheck{kept, named, digests.AddStateValue(address, tfjsonpath.New("digest"))},
		},
		resource.TestStep{
			Config: strings.Replace(s.config(`env = { A = "2" }`), "create_before_destroy = true", "", 1), ConfigPlanChecks: expect(plancheck.ResourceActionDestroyBeforeCreate),
			ConfigStateChecks: []statecheck.StateCheck{kept, named, digests.AddStateValue(address, tfjsonpath.New("digest"))},
		},
	)
}

func TestIdentity_ImportsByABlock(t *testing.T) {
	s := newStack(t)
	var reference, digest string
	resource.UnitTest(t, resource.TestCase{
		TerraformVersionChecks: []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)}, ProtoV6ProviderFactories: s.factories(),
		Steps: []resource.TestStep{{
			Config:            s.config(`deletion_policy = "retain"`),
			ConfigStateChecks: []statecheck.StateCheck{remember("reference", &reference), remember("digest", &digest)},
		}},
	})
	block := func(repository, digest string) string {
		return fmt.Sprintf("import {\n  to = %s\n  identity = { repository = %q, digest = %q }\n}\n", address, repository, digest)
	}
	s.identified(t,
		resource.TestStep{Config: block(s.repository, "sha256:"+strings.Repeat("0", 64)) + s.config(""), ExpectError: says("Image to import does not exist", s.repository, "404 Not Found")},
		resource.TestStep{
			Config: block(s.repository, digest) + s.config(""), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{
				known("reference", knownvalue.StringExact(reference)),
				statecheck.ExpectIdentity(address, map[string]knownvalue.Check{"repository": knownvalue.StringExact(s.repository), "digest": knownvalue.StringExact(digest)}),
			},
		},
		resource.TestStep{Config: s.config(""), PlanOnly: true},
	)
}

// A repository has several spellings at Docker Hub, and a change from one to another is a change in place: it must not change who the environment is.
func TestIdentity_IsTheSameForEachSpellingOfARepository(t *testing.T) {
	newStackWithoutEngine(t)
	server, schema := server(t)
	kind, ok := schema.ResourceSchemas["datalayer_environment"].ValueType().(tftypes.Object)
	if !ok {
		t.Fatal("the state is no object")
	}
	for _, spelling := range []string{"docker.io/library/env", "docker.io/env", "index.docker.io/library/env"} {
		attributes := map[string]tftypes.Value{}
		for name, t := range kind.AttributeTypes {
			attributes[name] = tftypes.NewValue(t, nil)
		}
		attributes["repository"] = tftypes.NewValue(tftypes.String, spelling)
		state, err := tfprotov6.NewDynamicValue(kind, tftypes.NewValue(kind, attributes))
		must(t, err)
		// Without a digest nothing is asked of the registry.
		read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "datalayer_environment", CurrentState: &state})
		must(t, err)
		noErrors(t, read.Diagnostics)
		if got := identityOf(t, read.NewIdentity)["repository"]; got != "docker.io/library/env" {
			t.Errorf("%s is %s", spelling, got)
		}
	}
}

func TestIdentity_ImportOfNothingSaysSo(t *testing.T) {
	server, schema := server(t)
	configured, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: providerConfig(t, schema, nil)})
	must(t, err)
	noErrors(t, configured.Diagnostics)
	for _, resource := range []string{"datalayer_environment", "datalayer_base_image", "datalayer_package_lock", "datalayer_e2b_template"} {
		for _, id := range []string{"", " "} {
			imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: resource, ID: id})
			must(t, err)
			if len(imported.Diagnostics) != 1 || !strings.HasPrefix(imported.Diagnostics[0].Summary, "Empty import id") {
				t.Errorf("import of %s by %q gives %v", resource, id, imported.Diagnostics)
			}
		}
	}
}

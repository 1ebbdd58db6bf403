package internal_test

import (
	"fmt"
	"go/ast"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"golang.org/x/tools/go/packages"

	"github.com/datalayer/terraform-provider-datalayer/internal/provider"
)

// inTheClear are types whose secrets fmt prints as they are. secret.Value, by contrast, never prints; its own tests hold that.
var inTheClear = []string{"github.com/aws/aws-sdk-go-v2/aws.Credentials"}

// secretName is what a field is called that should be a secret.Value.
var secretName = regexp.MustCompile(`(?i)password|passphrase|secret$|secretkey|secretaccesskey|sessiontoken|accesstoken|apikey|privatekey`)

// A struct that holds secrets in the clear, such as a model of a configuration with passwords, says itself how it prints,
// and its package's print_test.go tries that with a value in which the secret is.
func TestEveryTypeWithSecretsHidesThem(t *testing.T) {
	attributes := secretAttributes(t)
	for _, name := range []string{"password_wo", "registries", "registry", "password"} {
		if !attributes[name] {
			t.Errorf("%s is not found among the attributes with secrets: %v", name, attributes)
		}
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Tests: true, Context: t.Context()}, module+"...")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, p := range loaded {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
		for _, name := range inPrintTests(p) {
			tried[name] = true
		}
	}
	found := 0
	for _, p := range loaded {
		if p.ID != p.PkgPath || inWorkshop(p.PkgPath) {
			continue // A test's variant, or a tool of tests.
		}
		for _, name := range p.Types.Scope().Names() {
			declared, ok := p.Types.Scope().Lookup(name).(*types.TypeName)
			if !ok || declared.IsAlias() {
				continue
			}
			structure, ok := declared.Type().Underlying().(*types.Struct)
			if !ok {
				continue
			}
			full := p.PkgPath + "." + name
			for i := range structure.NumFields() {
				field := structure.Field(i)
				if basic, text := field.Type().Underlying().(*types.Basic); text && basic.Kind() == types.String && secretName.MatchString(field.Name()) {
					t.Errorf("%s.%s is a string: make it a secret.Value, or call it something else", full, field.Name())
				}
			}
			holds := held(structure, attributes, map[types.Type]bool{})
			if holds == "" {
				continue
			}
			found++
			switch {
			case !formats(declared.Type(), p.Types):
				t.Errorf("%s holds %s, and has no Format method that hides it", full, holds)
			case !tried[full]:
				t.Errorf("%s holds %s, and no print_test.go of its package tries how it prints", full, holds)
			}
		}
	}
	t.Logf("%d types hold secrets in the clear", found)
	if found < 4 {
		t.Errorf("only %d types were found to hold secrets: the search is broken", found)
	}
}

// secretAttributes are the names of attributes that are, or hold, a secret, in any schema of the provider.
func secretAttributes(t *testing.T) map[string]bool {
	t.Helper()
	server, err := providerserver.NewProtocol6WithError(provider.New("test")())()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	var walk func([]*tfprotov6.SchemaAttribute) bool
	walk = func(attributes []*tfprotov6.SchemaAttribute) (found bool) {
		for _, a := range attributes {
			secret := a.Sensitive || a.WriteOnly
			if a.NestedType != nil && walk(a.NestedType.Attributes) {
				secret = true
			}
			if secret {
				names[a.Name], found = true, true
			}
		}
		return found
	}
	walk(schema.Provider.Block.Attributes)
	for _, all := range []map[string]*tfprotov6.Schema{schema.ResourceSchemas, schema.DataSourceSchemas, schema.EphemeralResourceSchemas} {
		for _, s := range all {
			walk(s.Block.Attributes)
		}
	}
	return names
}

// held says what of a struct's fields, or of theirs, holds a secret in the clear; "" if nothing does. What has a Format
// method of its own and is reached by an exported field prints itself. Pointers below the top print as addresses.
func held(structure *types.Struct, attributes map[string]bool, seen map[types.Type]bool) string {
	for i := range structure.NumFields() {
		field := structure.Field(i)
		if tag := reflect.StructTag(structure.Tag(i)).Get("tfsdk"); attributes[tag] {
			return fmt.Sprintf("the attribute %s", tag)
		}
		if what := heldBy(field.Type(), field.Exported(), attributes, seen); what != "" {
			return what
		}
	}
	return ""
}

func heldBy(of types.Type, reached bool, attributes map[string]bool, seen map[types.Type]bool) string {
	if seen[of] {
		return ""
	}
	seen[of] = true
	switch of := of.(type) {
	case *types.Alias:
		return heldBy(types.Unalias(of), reached, attributes, seen)
	case *types.Named:
		name := of.String()
		if slices.Contains(inTheClear, name) {
			return "a " + name
		}
		inner, ok := of.Underlying().(*types.Struct)
		if !ok {
			return heldBy(of.Underlying(), reached, attributes, seen)
		}
		if reached && formats(of, of.Obj().Pkg()) || !strings.HasPrefix(name, module) {
			return ""
		}
		return held(inner, attributes, seen)
	case *types.Map:
		if what := heldBy(of.Key(), reached, attributes, seen); what != "" {
			return what
		}
		return heldBy(of.Elem(), reached, attributes, seen)
	case *types.Slice:
		return heldBy(of.Elem(), reached, attributes, seen)
	case *types.Array:
		return heldBy(of.Elem(), reached, attributes, seen)
	case *types.Struct:
		return held(of, attributes, seen)
	}
	return ""
}

// formats tells whether fmt asks a value of the type how it prints.
func formats(of types.Type, from *types.Package) bool {
	method, _, _ := types.LookupFieldOrMethod(of, false, from, "Format")
	_, ok := method.(*types.Func)
	return ok
}

// inPrintTests are the types that a package's print_test.go makes values of.
func inPrintTests(p *packages.Package) (names []string) {
	for i, file := range p.Syntax {
		if i >= len(p.CompiledGoFiles) || !strings.HasSuffix(p.CompiledGoFiles[i], "print_test.go") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok {
				names = append(names, strings.TrimPrefix(types.TypeString(p.TypesInfo.TypeOf(literal), nil), "*"))
			}
			return true
		})
	}
	return names
}

func inWorkshop(path string) bool {
	inside := strings.TrimPrefix(path, module)
	room, _, _ := strings.Cut(inside, "/")
	return slices.Contains(workshops, room) || strings.HasSuffix(inside, "test")
}

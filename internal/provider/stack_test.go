package provider_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/provider"
)

const address = "datalayer_environment.e"

var factories = map[string]func() (tfprotov6.ProviderServer, error){
	"datalayer": providerserver.NewProtocol6WithError(provider.New("test")()),
}

// stack is what a test of the provider runs against: the shared engine and a registry of its own.
type stack struct {
	*enginetest.Env
	registry   *enginetest.Registry
	repository string
}

func newStack(t *testing.T, middleware ...func(http.Handler) http.Handler) *stack {
	t.Helper()
	env := enginetest.Engine(t)
	registry := enginetest.StartRegistry(t, middleware...)
	t.Setenv("BUILDKIT_HOST", env.BuildkitAddress)
	t.Setenv("DATALAYER_CA_BUNDLE", env.CABundle)
	t.Setenv("DATALAYER_REGISTRIES", "")
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	return &stack{Env: env, registry: registry, repository: registry.Host + "/team/env"}
}

// config is one environment with these further arguments.
func (s *stack) config(arguments string) string {
	return fmt.Sprintf(`
resource "datalayer_environment" "e" {
  name       = "env-a"
  base       = %q
  repository = %q
%s
  lifecycle { create_before_destroy = true }
}
`, s.BaseReference, s.repository, arguments)
}

// nothingLeft is the last check of every lifecycle: the registry is asked what is left.
func (s *stack) nothingLeft(t *testing.T) func(*terraform.State) error {
	return func(*terraform.State) error {
		if left := s.registry.Left(t); len(left) > 0 {
			return fmt.Errorf("left in the registry: %v", left)
		}
		return nil
	}
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

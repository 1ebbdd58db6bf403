package provider_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

func TestProvider_BuildsAPlatformOnItsNode(t *testing.T) {
	s := newStack(t)
	remote := enginetest.StartRemote(t)
	pair := remote.CA.Client(t)
	t.Setenv("BUILDKIT_HOST", "unix:///nowhere/buildkitd.sock")
	builder := fmt.Sprintf(`
provider "datalayer" {
  buildkit = {
    nodes = { "linux/amd64" = %q, "linux/arm64" = "unix:///nowhere/else.sock" }
    tls   = { ca = %q, cert = %q, key = %q }
  }
}
`, remote.Address, remote.CA.PEM, pair.Certificate, pair.Key)
	s.run(t, resource.TestStep{Config: builder + s.config(""), ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}})
}

func TestProvider_BuildsPlatformsOnSeveralDaemons(t *testing.T) {
	s := newStack(t, enginetest.ImmutableTags)
	base := s.registry.PushBaseOfTwoPlatforms(t)
	// The base's own manifests are none of the lifecycle's.
	bases := s.registry.Left(t)
	builder := fmt.Sprintf("provider \"datalayer\" {\n  buildkit = { nodes = { \"linux/386\" = %q } }\n}\n", enginetest.StartPlainRemote(t))
	arguments := s.config(fmt.Sprintf("platforms = [\"linux/386\", \"linux/amd64\"]\n  attestations = { sbom_generator = %q }", s.GeneratorReference))
	attested := func(platform, predicate string) knownvalue.Check {
		return knownvalue.ObjectExact(map[string]knownvalue.Check{
			"platform": knownvalue.StringExact(platform), "predicate_type": knownvalue.StringExact(predicate), "digest": matching("^sha256:"),
		})
	}
	config := builder + strings.Replace(arguments, s.BaseReference, base, 1)
	s.runUntil(t, func(*terraform.State) error { return s.left(t, bases...) },
		resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{
			s.holds(t, bases...), known("media_type", matching("index")),
			known("manifests", knownvalue.MapExact(map[string]knownvalue.Check{"linux/386": matching("^sha256:"), "linux/amd64": matching("^sha256:")})),
			known("attested", knownvalue.ListExact([]knownvalue.Check{
				attested("linux/386", provenance), attested("linux/386", spdx), attested("linux/amd64", provenance), attested("linux/amd64", spdx),
			})),
		}, PostApplyFunc: func() {
			var tags []string
			for _, request := range s.registry.Requests() {
				if _, name, manifest := strings.Cut(request.Path, "/v2/team/env/manifests/"); manifest && request.Method == http.MethodPut && !strings.HasPrefix(name, "sha256:") {
					tags = append(tags, request.String())
				}
			}
			if len(tags) != 1 {
				t.Errorf("the tag was put as %v, want once", tags)
			}
		}},
		resource.TestStep{Config: config, ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
	)
}

package provider_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
)

func statement(predicate string) knownvalue.Check {
	return knownvalue.ObjectExact(map[string]knownvalue.Check{
		"platform": knownvalue.StringExact("linux/amd64"), "predicate_type": knownvalue.StringExact(predicate), "digest": matching("^sha256:"),
	})
}

const (
	spdx       = "https://spdx.dev/Document"
	provenance = "https://slsa.dev/provenance/v1"
)

func TestAttestations_AreOnByDefaultAndAChangeReplaces(t *testing.T) {
	s := newStack(t)
	generator := fmt.Sprintf("attestations = { sbom_generator = %q }", s.GeneratorReference)
	// The index differs at each build, the image in it does not.
	image := statecheck.CompareValue(compare.ValuesSame())
	empty := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
	s.run(t,
		resource.TestStep{Config: s.config(generator), ConfigStateChecks: []statecheck.StateCheck{
			s.holds(t), known("media_type", matching("index")), image.AddStateValue(address, tfjsonpath.New("manifests")),
			known("attested", knownvalue.ListExact([]knownvalue.Check{statement(provenance), statement(spdx)})),
			known("attestations", knownvalue.ObjectExact(map[string]knownvalue.Check{
				"sbom": knownvalue.Bool(true), "sbom_generator": knownvalue.StringExact(s.GeneratorReference), "provenance": knownvalue.StringExact("max"),
			})),
		}},
		resource.TestStep{Config: s.config(generator), ConfigPlanChecks: empty},
		// What was chosen at create stays where the configuration no longer says it.
		resource.TestStep{Config: s.config("attestations = { sbom = true }"), ConfigPlanChecks: empty},
		resource.TestStep{
			Config: s.config(`attestations = { sbom = false, provenance = "min" }`), ConfigPlanChecks: expect(plancheck.ResourceActionCreateBeforeDestroy),
			ConfigStateChecks: []statecheck.StateCheck{s.holds(t), image.AddStateValue(address, tfjsonpath.New("manifests")), known("attested", knownvalue.ListExact([]knownvalue.Check{statement(provenance)}))},
		},
	)
}

func TestAttestations_DefaultGeneratorThatCannotBeHadIsAnError(t *testing.T) {
	s := newStack(t)
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:9")
	s.run(t, resource.TestStep{
		Config:      s.config("attestations = {}"),
		ExpectError: says("SBOM generator cannot be resolved", buildkit.DefaultSBOMGenerator, "attestations.sbom_generator", "attestations.sbom = false"),
	})
}

func TestAttestations_OfAnImportedImageReplaceNothing(t *testing.T) {
	s := newStack(t)
	reference, _ := s.retained(t, "")
	with := s.config(fmt.Sprintf("attestations = { sbom_generator = %q }", s.GeneratorReference))
	s.runUntil(t, func(*terraform.State) error {
		s.warned(t, "Image lacks attestations that are asked for", "SBOM of linux/amd64, provenance of linux/amd64", "-replace")
		return s.left(t)
	},
		resource.TestStep{Config: importing(reference, with), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate), ConfigStateChecks: []statecheck.StateCheck{known("attested", knownvalue.ListExact(nil))}},
		resource.TestStep{Config: with, ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
	)
}

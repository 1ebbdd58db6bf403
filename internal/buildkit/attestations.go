package buildkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// DefaultSBOMGenerator is the generator that BuildKit's own clients take. It is a tag, so it is resolved to a digest
// when an artifact is created, and never again for it.
const DefaultSBOMGenerator = "docker.io/docker/buildkit-syft-scanner:stable-1"

// withoutSBOM is the way out that every failure of a generator names.
const withoutSBOM = "Set attestations.sbom_generator to a generator that this network reaches, pinned by digest, or attestations.sbom = false to build without an SBOM."

// generatorLogin is where the login for a generator comes from.
const generatorLogin = " Where its registry asks for a login, it is that of the provider's registries, then of AWS where it is a registry of ECR, then of the Docker configuration, for its host."

// otherSBOM is the way out where a generator was reached, and did not do.
const otherSBOM = "The generator was reached and run. Its own words are above: set attestations.sbom_generator to another, pinned by digest, or attestations.sbom = false to build without an SBOM."

// attributes are BuildKit's own names for what is asked for.
// The generator is told a time, since BuildKit passes none: equal content then gives an equal SBOM.
func (a Attestations) attributes() map[string]string {
	attributes := map[string]string{}
	if a.Provenance != "" {
		attributes["attest:provenance"] = "mode=" + a.Provenance
	}
	if a.SBOM {
		attributes["attest:sbom"] = fmt.Sprintf("generator=%s,SOURCE_DATE_EPOCH=%d", a.SBOMGenerator, epoch.Unix())
	}
	return attributes
}

// resolveGenerator pins the default generator.
func resolveGenerator(ctx context.Context, registry *image.Client) (reference.Reference, error) {
	named, err := reference.Parse(DefaultSBOMGenerator)
	if err != nil {
		return reference.Reference{}, err
	}
	pinned, err := registry.Resolve(ctx, named)
	if withheld := image.CredentialProblem(err, "attestations", "sbom_generator"); withheld != nil {
		return reference.Reference{}, ofGenerator(withheld, DefaultSBOMGenerator)
	}
	if err != nil {
		return reference.Reference{}, &problem.Problem{Title: "SBOM generator cannot be resolved", Path: []any{"attestations", "sbom_generator"},
			Object: DefaultSBOMGenerator, Cause: err, Advice: withoutSBOM + generatorLogin}
	}
	return pinned.WithDigest(pinned.Digest), nil
}

// ofGenerator says of a credential that could not be had what it was for.
func ofGenerator(p *problem.Problem, generator string) *problem.Problem {
	p.Advice = strings.TrimSpace(p.Advice + " It is for the SBOM generator " + generator + ". " + withoutSBOM)
	return p
}

// notAnSBOM are the daemon's words for what a generator left that is no SPDX statement.
var notAnSBOM = lazyregexp.New(`cannot decode in-toto statement|does not match required predicate type`)

// generatorProblem tells a failure of the SBOM generator, or to get it, from one of the build.
func (f buildFailure) generatorProblem(err error) error {
	generator := f.request.Attestations.SBOMGenerator
	if generator.Digest == "" {
		return nil
	}
	title, advice := "", otherSBOM
	switch {
	case f.step != nil && strings.Contains(f.step.name, "generating sbom using"):
		title = "SBOM generator failed"
	case notAnSBOM.MatchString(err.Error()):
		title = "SBOM generator wrote something else"
	case strings.Contains(err.Error(), generator.Digest):
		title, advice = "SBOM generator cannot be pulled", withoutSBOM+generatorLogin
	default:
		return nil
	}
	p := f.at("attestations", f.problem(title, f.withRefusal(err, generator.Host), advice))
	p.Object = generator.String() + ", for " + p.Object
	return p
}

// checkStatements holds the statements of a pushed image against what was asked for: that a generator ends well and writes
// nothing is no failure to the daemon.
func checkStatements(request Request, statements []image.Attestation) error {
	has := func(platform, predicate string) bool {
		return slices.ContainsFunc(statements, func(s image.Attestation) bool {
			return s.Platform == platform && strings.HasPrefix(s.PredicateType, predicate)
		})
	}
	for _, platform := range request.Platforms {
		object := fmt.Sprintf("image for %s, %s", request.Repository, platform)
		if request.Attestations.SBOM && !has(platform, image.PredicateSPDX) {
			return &problem.Problem{Title: "SBOM generator wrote no SBOM", Path: []any{"attestations", "sbom_generator"}, Object: request.Attestations.SBOMGenerator.String() + ", for the " + object,
				Cause: errors.New("it ended without an error, and the pushed index carries no SPDX statement"), Advice: otherSBOM}
		}
		if request.Attestations.Provenance != "" && !has(platform, image.PrefixProvenance) {
			return &problem.Problem{Title: "Image was pushed without its provenance", Path: []any{"attestations", "provenance"}, Object: object,
				Cause: errors.New("the pushed index carries no SLSA provenance statement"), Advice: "The daemon made none: update BuildKit, or set attestations.provenance = \"none\"."}
		}
	}
	return nil
}

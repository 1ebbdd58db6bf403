package buildkit_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

func TestProvenanceIsAttachedAndHoldsNoSecret(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "six.lock")
	const canary = "cnry-proxy-password"
	// apt and pip reach loopback and the index past the proxy: only its address, with a password, must stay out of sight.
	request.Network.HTTPSProxy, request.Network.NoProxy = "http://user:"+canary+"@127.0.0.1:9", "*"
	request.Attestations.Provenance = "max"
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if published.Image.MediaType != "application/vnd.oci.image.index.v1+json" || published.Image.Manifests[environment.DefaultPlatform] == published.Digest {
		t.Errorf("pushed %s, manifests %v", published.Image.MediaType, published.Image.Manifests)
	}
	if len(published.Attestations) != 1 || published.Attestations[0].PredicateType != image.PredicateProvenance || published.Attestations[0].Platform != environment.DefaultPlatform {
		t.Fatalf("attestations are %+v", published.Attestations)
	}
	statement := b.statement(t, request, published.Attestations[0])
	var provenance struct {
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct{ URI string }
			}
		}
	}
	if err := json.Unmarshal([]byte(statement), &provenance); err != nil {
		t.Fatal(err)
	}
	if len(provenance.Predicate.BuildDefinition.ResolvedDependencies) == 0 {
		t.Error("the provenance names no material")
	}
	for _, spelling := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary)), url.QueryEscape(canary), "BEGIN CERTIFICATE"} {
		if strings.Contains(statement, spelling) {
			t.Errorf("%q is in the provenance", spelling)
		}
	}
}

func (b *bench) statement(t *testing.T, request buildkit.Request, a image.Attestation) string {
	t.Helper()
	content, err := b.images.Statement(t.Context(), request.Repository, a)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestSBOMListsWhatIsInTheImage(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "dateutil.lock")
	generator, err := reference.ParsePinned(b.GeneratorReference)
	if err != nil {
		t.Fatal(err)
	}
	request.Attestations = buildkit.Attestations{SBOM: true, SBOMGenerator: generator, Provenance: "max"}
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if len(published.Attestations) != 2 || published.Attestations[1].PredicateType != image.PredicateSPDX {
		t.Fatalf("attestations are %+v", published.Attestations)
	}
	statement := b.statement(t, request, published.Attestations[1])
	for _, purl := range []string{"pkg:pypi/python-dateutil@4.0.0", "pkg:pypi/tzdata@2026.6", "pkg:deb/debian/tini@"} {
		if !strings.Contains(statement, purl) {
			t.Errorf("%s is not in the SBOM", purl)
		}
	}
}

func TestSBOMGeneratorThatCannotBeHad(t *testing.T) {
	running := func(command string) func(*testing.T, *bench) string {
		return func(t *testing.T, b *bench) string {
			return b.registry.PushBaseVariant(t, func(document map[string]any) {
				config, _ := document["config"].(map[string]any)
				config["Entrypoint"] = []any{"/bin/sh", "-c", command}
			})
		}
	}
	for name, c := range map[string]struct {
		generator func(*testing.T, *bench) string
		title     string
		// pushed: the daemon sees nothing wrong, so the image is in the registry, for a destroy to remove.
		pushed bool
	}{
		"missing":             {func(_ *testing.T, b *bench) string { return b.registry.Host + "/no/generator@sha256:" + zeros }, "SBOM generator cannot be pulled", false},
		"no generator":        {func(_ *testing.T, b *bench) string { return b.BaseReference }, "SBOM generator failed", false},
		"writes nothing":      {running("true"), "SBOM generator wrote no SBOM", true},
		"writes no JSON":      {running(`echo x > "$BUILDKIT_SCAN_DESTINATION/x.spdx.json"`), "SBOM generator wrote something else", false},
		"writes another kind": {running(`echo '{"_type":"https://in-toto.io/Statement/v0.1","predicateType":"https://example.com/x","predicate":{}}' > "$BUILDKIT_SCAN_DESTINATION/x.spdx.json"`), "SBOM generator wrote something else", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			generator, err := reference.ParsePinned(c.generator(t, b))
			if err != nil {
				t.Fatal(err)
			}
			request := b.request(t, "")
			request.Attestations = buildkit.Attestations{SBOM: true, SBOMGenerator: generator}
			_, err = b.publish(t.Context(), request)
			var found *problem.Problem
			if !errors.As(err, &found) || found.Title != c.title {
				t.Fatalf("error is %v", err)
			}
			for _, words := range []string{"attestations.sbom_generator", "attestations.sbom = false", generator.Digest} {
				if !strings.Contains(found.Detail(), words) {
					t.Errorf("%q is not in the detail:\n%s", words, found.Detail())
				}
			}
			left := slices.DeleteFunc(b.registry.Left(t), func(one string) bool { return !strings.HasPrefix(one, target) })
			if len(left) > 0 != c.pushed {
				t.Errorf("left in the registry: %v", left)
			}
		})
	}
}

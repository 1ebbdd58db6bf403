package buildkit_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
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

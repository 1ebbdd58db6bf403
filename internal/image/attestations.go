package image

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Predicate types of the in-toto statements that BuildKit attaches.
const (
	PredicateSPDX       = "https://spdx.dev/Document"
	PredicateProvenance = "https://slsa.dev/provenance/v1"
	// PrefixProvenance is what the types of SLSA's versions have in common: older daemons write v0.2.
	PrefixProvenance = "https://slsa.dev/provenance/"
)

// Annotations by which an index ties an attestation manifest to the image it speaks of, and a layer to its predicate.
const (
	annotationType      = "vnd.docker.reference.type"
	annotationDigest    = "vnd.docker.reference.digest"
	annotationPredicate = "in-toto.io/predicate-type"
	typeAttestation     = "attestation-manifest"
)

// Attestation is one in-toto statement about the image of a platform.
type Attestation struct {
	// Platform is that of the image it speaks of; PredicateType is PredicateSPDX, PredicateProvenance or another's.
	Platform, PredicateType string
	// Manifest is the digest of the attestation manifest that lists it, Digest that of the statement itself.
	Manifest, Digest string
	// Size is the statement's size in bytes.
	Size int64
}

// Attestations reads which statements an inspected index carries, by platform and predicate type. Inspect leaves them
// out, and one that is not in the repository is none: an image copied without them is a good image.
func (c *Client) Attestations(ctx context.Context, repo reference.Repository, of *Image) ([]Attestation, error) {
	platforms := map[string]string{}
	for platform, manifest := range of.Manifests {
		platforms[manifest] = platform
	}
	found := []Attestation{}
	for digest, subject := range of.attested {
		m, err := c.manifest(ctx, repo, digest)
		if NotFound(err) {
			continue
		}
		if err != nil {
			return nil, report("Attestations could not be listed", repo, object(repo, digest), err)
		}
		var body ocispec.Manifest
		if err := json.Unmarshal(m.raw, &body); err != nil {
			return nil, report("Attestation manifest is not understood", repo, object(repo, digest), err)
		}
		for _, layer := range body.Layers {
			if predicate := layer.Annotations[annotationPredicate]; predicate != "" {
				found = append(found, Attestation{
					Platform: platforms[subject], PredicateType: predicate, Manifest: digest, Digest: layer.Digest.String(), Size: layer.Size,
				})
			}
		}
	}
	slices.SortFunc(found, func(a, b Attestation) int {
		return strings.Compare(a.Platform+a.PredicateType+a.Digest, b.Platform+b.PredicateType+b.Digest)
	})
	return found, nil
}

// Statement reads the in-toto statement of an attestation, verified against its digest.
func (c *Client) Statement(ctx context.Context, repo reference.Repository, a Attestation) ([]byte, error) {
	content, err := c.blob(ctx, repo, a.Digest)
	return content, report("Attestation could not be read", repo, object(repo, a.Digest), err)
}

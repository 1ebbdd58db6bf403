package main

import (
	"context"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// attestations is what the statements in the registry say.
type attestations struct {
	// SBOMPackages counts the packages with a package URL, ProvenanceMaterials the images and files that went in.
	SBOMPackages        int `json:"sbom_packages"`
	ProvenanceMaterials int `json:"provenance_materials"`
}

// readAttestations reads the in-toto statements of an index, with nothing but plain HTTP.
func readAttestations(ctx context.Context, host, repository, digest string) (*attestations, error) {
	base := "http://" + host + "/v2/" + repository
	var index ocispec.Index
	if _, err := get(ctx, base+"/manifests/"+digest, ocispec.MediaTypeImageIndex, &index); err != nil {
		return nil, err
	}
	found := &attestations{}
	for _, child := range index.Manifests {
		if child.Platform == nil || child.Platform.OS != "unknown" {
			continue
		}
		var manifest ocispec.Manifest
		if _, err := get(ctx, base+"/manifests/"+child.Digest.String(), ocispec.MediaTypeImageManifest, &manifest); err != nil {
			return nil, err
		}
		for _, layer := range manifest.Layers {
			var statement struct {
				PredicateType string
				Predicate     struct {
					Packages []struct {
						ExternalRefs []struct{ ReferenceType string }
					}
					BuildDefinition struct{ ResolvedDependencies []struct{ URI string } }
				}
			}
			if _, err := get(ctx, base+"/blobs/"+layer.Digest.String(), "*/*", &statement); err != nil {
				return nil, err
			}
			for _, p := range statement.Predicate.Packages {
				for _, r := range p.ExternalRefs {
					if r.ReferenceType == "purl" {
						found.SBOMPackages++
					}
				}
			}
			found.ProvenanceMaterials += len(statement.Predicate.BuildDefinition.ResolvedDependencies)
		}
	}
	if found.SBOMPackages == 0 || found.ProvenanceMaterials == 0 {
		return nil, fmt.Errorf("%s@%s has an SBOM of %d packages and provenance with %d materials", repository, digest, found.SBOMPackages, found.ProvenanceMaterials)
	}
	return found, nil
}

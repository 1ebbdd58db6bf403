package sbom_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/sbom"
)

// fetch reads a manifest or blob of the repository as JSON.
func fetch(t *testing.T, repository *remote.Repository, descriptor ocispec.Descriptor, into any) {
	t.Helper()
	data, err := content.FetchAll(t.Context(), repository, descriptor)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", descriptor.Digest, err)
	}
}

func TestBuildKitAttachesTheDocument(t *testing.T) {
	env := enginetest.Engine(t)
	registry := enginetest.StartRegistry(t)
	daemon, err := client.New(t.Context(), env.BuildkitAddress)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := daemon.Close(); err != nil {
			t.Error(err)
		}
	}()
	definition, err := llb.Image(env.BaseReference, llb.LinuxAmd64).Marshal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	solved, err := daemon.Solve(t.Context(), definition, client.SolveOpt{
		FrontendAttrs: map[string]string{"attest:sbom": "generator=" + env.GeneratorReference + ",SOURCE_DATE_EPOCH=1750000000"},
		Exports: []client.ExportEntry{{Type: client.ExporterImage, Attrs: map[string]string{
			"name": registry.Host + "/team/app", "push": "true", "push-by-digest": "true", "name-canonical": "true", "oci-mediatypes": "true",
		}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	repository, err := remote.NewRepository(registry.Host + "/team/app")
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP = true
	descriptor, err := repository.Resolve(t.Context(), solved.ExporterResponse[exptypes.ExporterImageDigestKey])
	if err != nil {
		t.Fatal(err)
	}
	var index ocispec.Index
	fetch(t, repository, descriptor, &index)
	if len(index.Manifests) != 2 {
		t.Fatalf("the index lists %+v, want an image and what is attached to it", index.Manifests)
	}
	image := index.Manifests[0].Digest
	var attached ocispec.Manifest
	fetch(t, repository, index.Manifests[1], &attached)
	if len(attached.Layers) != 1 || attached.Layers[0].Annotations["in-toto.io/predicate-type"] != sbom.PredicateType {
		t.Fatalf("attached is %+v, want one SPDX document", attached.Layers)
	}
	var statement struct {
		PredicateType string
		Subject       []struct{ Digest map[string]string }
		Predicate     sbom.Document
	}
	fetch(t, repository, attached.Layers[0], &statement)

	if statement.PredicateType != sbom.PredicateType || len(statement.Subject) != 1 ||
		digest.NewDigestFromEncoded(digest.SHA256, statement.Subject[0].Digest["sha256"]) != image {
		t.Errorf("a %s about %v, want one about %s", statement.PredicateType, statement.Subject, image)
	}
	document := statement.Predicate
	if document.CreationInfo.Created != "2025-06-15T15:06:40Z" || !slices.Contains(document.CreationInfo.Creators, "Tool: datalayer-sbom-1") {
		t.Errorf("made by %+v", document.CreationInfo)
	}
	if document.Comment != "" {
		t.Errorf("the base is not listed whole: %s", document.Comment)
	}
	for _, want := range []struct{ name, purl, source string }{
		{"python3-dateutil", "pkg:deb/debian/python3-dateutil@", "/var/lib/dpkg/status; built from source package: python-dateutil "},
		{"python-dateutil", "pkg:pypi/python-dateutil@", "/usr/lib/python3/dist-packages/python_dateutil-"},
	} {
		if !slices.ContainsFunc(document.Packages, func(p sbom.SPDXPackage) bool {
			return p.Name == want.name && len(p.ExternalRefs) == 1 && strings.HasPrefix(p.ExternalRefs[0].Locator, want.purl) &&
				strings.Contains(p.SourceInfo, want.source) && p.VersionInfo != ""
		}) {
			t.Errorf("no %+v among the %d packages of the document", want, len(document.Packages))
		}
	}
	if len(document.Relationships) != len(document.Packages) {
		t.Errorf("%d relationships of %d packages", len(document.Relationships), len(document.Packages))
	}
}

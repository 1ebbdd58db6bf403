package enginetest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// PushBaseOfTwoPlatforms puts an index of the base for linux/amd64 and linux/386 into this registry, past all middleware,
// and gives its reference by digest: a machine of the first kind runs both without an emulator.
func (r *Registry) PushBaseOfTwoPlatforms(t testing.TB) string {
	t.Helper()
	b := r.openBase(t)
	amd64 := b.manifest
	i386 := b.variant(t, func(config map[string]any) { config["architecture"] = "386" })
	amd64.Platform, i386.Platform = &ocispec.Platform{OS: "linux", Architecture: "amd64"}, &ocispec.Platform{OS: "linux", Architecture: "386"}
	index := b.push(t, ocispec.MediaTypeImageIndex, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{amd64, i386}})
	return b.name + "@" + index.Digest.String()
}

// PushBaseVariant puts the base with another config into this registry, past all middleware, and gives its reference by
// digest. change gets the whole config document.
func (r *Registry) PushBaseVariant(t testing.TB, change func(config map[string]any)) string {
	t.Helper()
	b := r.openBase(t)
	return b.name + "@" + b.variant(t, change).Digest.String()
}

// pushedBase is the base in a registry, to make others of it.
type pushedBase struct {
	name       string
	repository *remote.Repository
	manifest   ocispec.Descriptor
}

func (r *Registry) openBase(t testing.TB) *pushedBase {
	t.Helper()
	name, digest, _ := strings.Cut(r.PushBase(t), "@")
	repository, err := remote.NewRepository(name)
	if err != nil {
		t.Fatal(err)
	}
	transport := r.backend.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	repository.PlainHTTP, repository.Client = true, &auth.Client{Client: &http.Client{Transport: transport}}
	manifest, err := repository.Resolve(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	return &pushedBase{name: name, repository: repository, manifest: manifest}
}

func (b *pushedBase) variant(t testing.TB, change func(config map[string]any)) ocispec.Descriptor {
	t.Helper()
	var manifest ocispec.Manifest
	b.fetch(t, b.manifest, &manifest)
	var config map[string]any
	b.fetch(t, manifest.Config, &config)
	change(config)
	manifest.Config = b.push(t, ocispec.MediaTypeImageConfig, config)
	return b.push(t, ocispec.MediaTypeImageManifest, manifest)
}

func (b *pushedBase) fetch(t testing.TB, descriptor ocispec.Descriptor, into any) {
	t.Helper()
	raw, err := content.FetchAll(t.Context(), b.repository, descriptor)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (b *pushedBase) push(t testing.TB, mediaType string, document any) ocispec.Descriptor {
	t.Helper()
	raw, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	descriptor := content.NewDescriptorFromBytes(mediaType, raw)
	if err := b.repository.Push(t.Context(), descriptor, bytes.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
	return descriptor
}

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
	name, digest, _ := strings.Cut(r.PushBase(t), "@")
	repository, err := remote.NewRepository(name)
	if err != nil {
		t.Fatal(err)
	}
	transport := r.backend.Transport()
	defer transport.CloseIdleConnections()
	repository.PlainHTTP, repository.Client = true, &auth.Client{Client: &http.Client{Transport: transport}}
	fetch := func(descriptor ocispec.Descriptor, into any) {
		raw, err := content.FetchAll(t.Context(), repository, descriptor)
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	push := func(mediaType string, document any) ocispec.Descriptor {
		raw, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		descriptor := content.NewDescriptorFromBytes(mediaType, raw)
		if err := repository.Push(t.Context(), descriptor, bytes.NewReader(raw)); err != nil {
			t.Fatal(err)
		}
		return descriptor
	}
	amd64, err := repository.Resolve(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	var manifest ocispec.Manifest
	fetch(amd64, &manifest)
	var config map[string]any
	fetch(manifest.Config, &config)
	config["architecture"] = "386"
	manifest.Config = push(ocispec.MediaTypeImageConfig, config)
	i386 := push(ocispec.MediaTypeImageManifest, manifest)
	amd64.Platform, i386.Platform = &ocispec.Platform{OS: "linux", Architecture: "amd64"}, &ocispec.Platform{OS: "linux", Architecture: "386"}
	index := push(ocispec.MediaTypeImageIndex, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{amd64, i386}})
	return name + "@" + index.Digest.String()
}

package buildkit_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// pushFiles puts an image of these files alone into the bench's registry, and gives its reference.
func (b *bench) pushFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	var plain, layer bytes.Buffer
	archive := tar.NewWriter(&plain)
	for name, content := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	zipped := gzip.NewWriter(&layer)
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := zipped.Write(plain.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	repository, err := remote.NewRepository(b.registry.Host + "/team/parent")
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP = true
	push := func(mediaType string, content []byte) ocispec.Descriptor {
		described := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
		if err := repository.Push(t.Context(), described, bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		return described
	}
	document := func(value any) []byte {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	pushed := push(ocispec.MediaTypeImageManifest, document(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: push(ocispec.MediaTypeImageConfig, document(ocispec.Image{
			Platform: ocispec.Platform{OS: "linux", Architecture: "amd64"}, RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(plain.Bytes())}},
		})),
		Layers: []ocispec.Descriptor{push(ocispec.MediaTypeImageLayerGzip, layer.Bytes())},
	}))
	return fmt.Sprintf("%s/team/parent@%s", b.registry.Host, pushed.Digest)
}

// TestBaseImage_OnAnUnfitParentSaysWhy takes images that nothing could run in: they are refused by their files alone.
func TestBaseImage_OnAnUnfitParentSaysWhy(t *testing.T) {
	b := newBench(t)
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no Debian":       {map[string]string{"etc/passwd": "root:x:0:0::/root:/bin/sh\n"}, "it has no /etc/os-release, so it is no Debian"},
		"another system":  {map[string]string{"etc/os-release": "ID=alpine\nPRETTY_NAME=\"Alpine Linux v3.22\"\n"}, "it is Alpine Linux v3.22, and the contract wants Debian or Ubuntu"},
		"uid of another":  {map[string]string{"etc/os-release": "ID=ubuntu\n", "etc/passwd": "ubuntu:x:1000:1000::/home/ubuntu:/bin/bash\n"}, `its user "ubuntu" has uid 1000`},
		"group elsewhere": {map[string]string{"etc/os-release": "ID=debian\n", "etc/group": "users:x:985:\n"}, "its group users, which would become that, has gid 985"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.publish(t.Context(), b.baseRequest(t, b.pushFiles(t, test.files), base.PythonApt))
			var found *problem.Problem
			if !errors.As(err, &found) || found.Title != "Parent image does not fit" || !slices.Equal(found.Path, []any{"from"}) || !strings.Contains(found.Detail(), test.want) {
				t.Errorf("the error is %v, want one that says %q", err, test.want)
			}
		})
	}
}

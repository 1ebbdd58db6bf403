package engine

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// pushImage puts an image for linux/amd64 made of one gzipped layer into a repository of the registry at host, reached by
// client, and returns its reference by digest, a pure function of the layer, of what made it and of the config. It has no
// tag. What is there already is not sent again.
func pushImage(ctx context.Context, client *http.Client, host, name string, layer io.ReadSeeker, createdBy string, config ocispec.ImageConfig) (string, error) {
	described, diffID, err := describeLayer(layer)
	if err != nil {
		return "", err
	}
	created := time.Unix(1750000000, 0).UTC()
	configured, err := json.Marshal(ocispec.Image{
		Created:  &created,
		Platform: ocispec.Platform{OS: "linux", Architecture: "amd64"},
		Config:   config,
		RootFS:   ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{diffID}},
		History:  []ocispec.History{{Created: &created, CreatedBy: createdBy}},
	})
	if err != nil {
		return "", err
	}
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageManifest,
		Config:    describe(ocispec.MediaTypeImageConfig, configured),
		Layers:    []ocispec.Descriptor{described},
	})
	if err != nil {
		return "", err
	}
	repository, err := remote.NewRepository(host + "/" + name)
	if err != nil {
		return "", err
	}
	repository.PlainHTTP = true
	repository.Client = &auth.Client{Client: client}

	pushed := describe(ocispec.MediaTypeImageManifest, manifest)
	for _, part := range []struct {
		descriptor ocispec.Descriptor
		data       io.Reader
	}{
		{described, layer},
		{describe(ocispec.MediaTypeImageConfig, configured), bytes.NewReader(configured)},
		{pushed, bytes.NewReader(manifest)},
	} {
		there, err := repository.Exists(ctx, part.descriptor)
		if err != nil {
			return "", err
		}
		if there {
			continue
		}
		if err := repository.Push(ctx, part.descriptor, part.data); err != nil {
			return "", err
		}
	}
	return host + "/" + name + "@" + pushed.Digest.String(), nil
}

func describe(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
}

// describeLayer gives a gzipped layer's descriptor and the digest of what is in it, and goes back to the layer's start.
func describeLayer(layer io.ReadSeeker) (ocispec.Descriptor, digest.Digest, error) {
	compressed := sha256.New()
	unzipped, err := gzip.NewReader(io.TeeReader(layer, compressed))
	if err != nil {
		return ocispec.Descriptor{}, "", fmt.Errorf("layer: %w", err)
	}
	contents := sha256.New()
	if _, err := io.Copy(contents, unzipped); err != nil {
		return ocispec.Descriptor{}, "", fmt.Errorf("layer: %w", err)
	}
	size, err := layer.Seek(0, io.SeekEnd)
	if err != nil {
		return ocispec.Descriptor{}, "", err
	}
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return ocispec.Descriptor{}, "", err
	}
	return ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageLayerGzip,
		Digest:    digest.NewDigest(digest.SHA256, compressed),
		Size:      size,
	}, digest.NewDigest(digest.SHA256, contents), nil
}

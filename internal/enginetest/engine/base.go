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
	"os"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// BasePython is the Python of the base image, as python_version would name it.
const BasePython = "3.13"

// BaseRepository is where PushBase puts the base image.
const BaseRepository = "base"

// PushBase puts an image made of one gzipped layer into the registry at host, reached by client, and returns its
// reference by digest, a pure function of the layer. It has no tag. What is there already is not sent again.
func PushBase(ctx context.Context, client *http.Client, host, layerPath string) (string, error) {
	reference, err := pushBase(ctx, client, host, layerPath)
	if err != nil {
		return "", fmt.Errorf("push the base image to %s: %w", host, err)
	}
	return reference, nil
}

func pushBase(ctx context.Context, client *http.Client, host, layerPath string) (string, error) {
	layer, diffID, err := describeLayer(layerPath)
	if err != nil {
		return "", err
	}
	config, err := json.Marshal(baseConfig(diffID))
	if err != nil {
		return "", err
	}
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageManifest,
		Config:    describe(ocispec.MediaTypeImageConfig, config),
		Layers:    []ocispec.Descriptor{layer},
	})
	if err != nil {
		return "", err
	}
	repository, err := remote.NewRepository(host + "/" + BaseRepository)
	if err != nil {
		return "", err
	}
	repository.PlainHTTP = true
	repository.Client = &auth.Client{Client: client}

	file, err := os.Open(layerPath)
	if err != nil {
		return "", err
	}
	defer file.Close()
	described := describe(ocispec.MediaTypeImageManifest, manifest)
	for _, part := range []struct {
		descriptor ocispec.Descriptor
		data       io.Reader
	}{
		{layer, file},
		{describe(ocispec.MediaTypeImageConfig, config), bytes.NewReader(config)},
		{described, bytes.NewReader(manifest)},
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
	return host + "/" + BaseRepository + "@" + described.Digest.String(), nil
}

// baseConfig follows sandbox-contract/v1: user 1000:100 in its working directory, C.UTF-8, UTC, and a first process that reaps.
func baseConfig(diffID digest.Digest) ocispec.Image {
	created := time.Unix(1750000000, 0).UTC()
	return ocispec.Image{
		Created:  &created,
		Platform: ocispec.Platform{OS: "linux", Architecture: "amd64"},
		Config: ocispec.ImageConfig{
			User:       "1000:100",
			WorkingDir: "/home/datalayer/content",
			Entrypoint: []string{"/usr/bin/tini", "--"},
			Env: []string{
				"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
				"HOME=/home/datalayer", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC",
			},
		},
		RootFS:  ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{diffID}},
		History: []ocispec.History{{Created: &created, CreatedBy: "tools/base-root.sh"}},
	}
}

func describe(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
}

// describeLayer gives a gzipped layer's descriptor and the digest of what is in it.
func describeLayer(path string) (ocispec.Descriptor, digest.Digest, error) {
	file, err := os.Open(path)
	if err != nil {
		return ocispec.Descriptor{}, "", err
	}
	defer file.Close()
	compressed := sha256.New()
	unzipped, err := gzip.NewReader(io.TeeReader(file, compressed))
	if err != nil {
		return ocispec.Descriptor{}, "", fmt.Errorf("%s: %w", path, err)
	}
	contents := sha256.New()
	if _, err := io.Copy(contents, unzipped); err != nil {
		return ocispec.Descriptor{}, "", fmt.Errorf("%s: %w", path, err)
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return ocispec.Descriptor{}, "", err
	}
	return ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageLayerGzip,
		Digest:    digest.NewDigest(digest.SHA256, compressed),
		Size:      size,
	}, digest.NewDigest(digest.SHA256, contents), nil
}

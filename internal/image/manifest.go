package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
	digestHeader   = "Docker-Content-Digest"
)

var acceptManifests = strings.Join([]string{ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest, dockerIndex, dockerManifest}, ", ")

// Descriptor names content in a registry: its digest, its media type and its size in bytes (-1 if the registry did not
// say).
type Descriptor struct {
	Digest, MediaType string
	Size              int64
}

// Head looks a tag or digest up with one request. NotFound(err) tells that it is not there.
func (c *Client) Head(ctx context.Context, repo reference.Repository, tagOrDigest string) (Descriptor, error) {
	found, err := c.head(ctx, repo, tagOrDigest)
	return found, report("Image lookup failed", repo, object(repo, tagOrDigest), err)
}

// Resolve pins a reference: one with a digest is given back as it is, without a request; a tag is looked up once.
func (c *Client) Resolve(ctx context.Context, ref reference.Reference) (reference.Reference, error) {
	if ref.Digest != "" {
		return ref, nil
	}
	found, err := c.head(ctx, ref.Repository, ref.Tag)
	if err != nil {
		return reference.Reference{}, report("Image tag could not be resolved", ref.Repository, ref.String(), err)
	}
	ref.Digest = found.Digest
	return ref, nil
}

func (c *Client) head(ctx context.Context, repo reference.Repository, tagOrDigest string) (Descriptor, error) {
	if err := checkObject(tagOrDigest); err != nil {
		return Descriptor{}, err
	}
	if api, err := c.api(ctx, repo); api != nil || err != nil {
		if err != nil {
			return Descriptor{}, err
		}
		return api.Head(ctx, tagOrDigest)
	}
	got, err := c.send(ctx, call{
		method: http.MethodHead, repo: repo, path: "manifests/" + tagOrDigest, object: suffix(tagOrDigest),
		accept: acceptManifests, actions: []string{auth.ActionPull},
		check: func(got *answer) error {
			given := got.header.Get(digestHeader)
			if given == "" {
				return nil
			}
			return checkDigest(given, tagOrDigest)
		},
	})
	if err != nil {
		return Descriptor{}, err
	}
	found := Descriptor{Digest: got.header.Get(digestHeader), MediaType: mediaType(got.header), Size: got.size}
	if found.Digest == "" {
		// A few registries leave the header out: the content itself then says what its digest is.
		m, err := c.manifest(ctx, repo, tagOrDigest)
		if err != nil {
			return Descriptor{}, err
		}
		return m.Descriptor, nil
	}
	return found, nil
}

// manifest is one manifest or index as the registry keeps it.
type manifest struct {
	Descriptor
	raw []byte
}

// manifest gets one by tag or digest and verifies that its content has that digest.
func (c *Client) manifest(ctx context.Context, repo reference.Repository, tagOrDigest string) (manifest, error) {
	if err := checkObject(tagOrDigest); err != nil {
		return manifest{}, err
	}
	if api, err := c.api(ctx, repo); api != nil || err != nil {
		if err != nil {
			return manifest{}, err
		}
		descriptor, raw, err := api.Manifest(ctx, tagOrDigest)
		if err == nil {
			descriptor.Digest, descriptor.Size = digestOf(raw), int64(len(raw))
			err = checkDigest(descriptor.Digest, tagOrDigest)
		}
		return manifest{descriptor, raw}, err
	}
	var found manifest
	_, err := c.send(ctx, call{
		method: http.MethodGet, repo: repo, path: "manifests/" + tagOrDigest, object: suffix(tagOrDigest),
		accept: acceptManifests, actions: []string{auth.ActionPull},
		check: func(got *answer) error {
			digest := digestOf(got.body)
			if given := got.header.Get(digestHeader); given != "" && given != digest {
				return fmt.Errorf("the manifest does not have the digest that the registry gave for it: %s is named, %s was sent", given, digest)
			}
			if err := checkDigest(digest, tagOrDigest); err != nil {
				return err
			}
			var body struct{ MediaType string }
			if err := json.Unmarshal(got.body, &body); err != nil {
				return fmt.Errorf("the manifest is not JSON: %w", err)
			}
			if body.MediaType == "" {
				body.MediaType = mediaType(got.header)
			}
			found = manifest{Descriptor{Digest: digest, MediaType: body.MediaType, Size: int64(len(got.body))}, got.body}
			return nil
		},
	})
	return found, err
}

// blob gets a small blob, an image config, and verifies its digest.
func (c *Client) blob(ctx context.Context, repo reference.Repository, digest string) ([]byte, error) {
	if !reference.ValidDigest(digest) {
		return nil, fmt.Errorf("the config of %s has the digest %q, which is not sha256", repo, digest)
	}
	got, err := c.send(ctx, call{
		method: http.MethodGet, repo: repo, path: "blobs/" + digest, object: "@" + digest, actions: []string{auth.ActionPull},
		check: func(got *answer) error { return checkDigest(digestOf(got.body), digest) },
	})
	if err != nil {
		return nil, err
	}
	return got.body, nil
}

func checkObject(tagOrDigest string) error {
	if !reference.ValidDigest(tagOrDigest) && !reference.ValidTag(tagOrDigest) {
		return fmt.Errorf("%q is neither a tag nor a sha256 digest", tagOrDigest)
	}
	return nil
}

// checkDigest compares what a registry gave with what was asked for, if that was a digest.
func checkDigest(given, asked string) error {
	switch {
	case !reference.ValidDigest(given):
		return fmt.Errorf("the registry gave the digest %q, which is not sha256", given)
	case reference.ValidDigest(asked) && given != asked:
		return errors.New("the registry gave " + given + " instead")
	}
	return nil
}

func mediaType(header http.Header) string {
	parsed, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return header.Get("Content-Type")
	}
	return parsed
}

func isManifest(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageManifest || mediaType == dockerManifest
}

func isIndex(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageIndex || mediaType == dockerIndex
}

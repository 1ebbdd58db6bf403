package image

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Part is what one builder pushed: an index, or the manifest of one platform.
type Part struct {
	Digest string
	// Platform is that of a manifest; an index names its own.
	Platform string
}

// Assemble pushes one index that lists all manifests of the parts, attestations included, in their order. It is pushed by
// digest, without a tag. indexes are the parts that are indexes themselves: nothing needs those any more.
func (c *Client) Assemble(ctx context.Context, repo reference.Repository, parts []Part) (made string, indexes []string, err error) {
	const title = "Index of the platforms could not be put together"
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, part := range parts {
		listed, isIndex, err := c.descriptors(ctx, repo, part)
		if err != nil {
			return "", nil, report(title, repo, object(repo, part.Digest), err)
		}
		if isIndex {
			indexes = append(indexes, part.Digest)
		}
		index.Manifests = append(index.Manifests, listed...)
	}
	raw, err := json.Marshal(index)
	if err != nil {
		return "", nil, report(title, repo, repo.String(), err)
	}
	made = digestOf(raw)
	_, err = c.send(ctx, call{
		method: http.MethodPut, repo: repo, path: "manifests/" + made, object: "@" + made, actions: writeActions,
		contentType: ocispec.MediaTypeImageIndex, body: raw,
		check: func(got *answer) error {
			if given := got.header.Get(digestHeader); given != "" {
				return checkDigest(given, made)
			}
			return nil
		},
	})
	if err != nil {
		return "", nil, report("Index of the platforms was refused by the registry", repo, object(repo, made), err)
	}
	return made, indexes, nil
}

// descriptors are the entries that a part adds to an index.
func (c *Client) descriptors(ctx context.Context, repo reference.Repository, part Part) (listed []ocispec.Descriptor, ofIndex bool, err error) {
	m, err := c.manifest(ctx, repo, part.Digest)
	if err != nil {
		return nil, false, err
	}
	switch {
	case isIndex(m.MediaType):
		var index ocispec.Index
		if err := json.Unmarshal(m.raw, &index); err != nil {
			return nil, false, fmt.Errorf("the index is not understood: %w", err)
		}
		return index.Manifests, true, nil
	case isManifest(m.MediaType):
		platform, err := platforms.Parse(part.Platform)
		if err != nil {
			return nil, false, err
		}
		return []ocispec.Descriptor{{MediaType: m.MediaType, Digest: digest.Digest(m.Digest), Size: m.Size, Platform: &platform}}, false, nil
	}
	return nil, false, fmt.Errorf("its media type is %q: %w", m.MediaType, ErrNotImage)
}

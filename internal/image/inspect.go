package image

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/containerd/platforms"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// maxChildren bounds the manifests of one index.
const maxChildren = 100

// Image is what a reference holds.
type Image struct {
	// Digest and MediaType of the manifest or index that the reference names.
	Digest, MediaType string
	// SizeBytes is what a registry keeps for it: the manifests, the configs and each distinct layer once, compressed.
	SizeBytes int64
	// Manifests is platform ("linux/amd64", "linux/arm/v7") to manifest digest. Attestations are not in it.
	Manifests map[string]string
	// Configs is platform to that image's config.
	Configs map[string]Config
	// Layers is platform to the digests of that image's layers, in its order.
	Layers map[string][]string
	// Children are the digests of all manifests of an index in its order, attestations included; empty for a manifest.
	Children []string

	// attested is attestation manifest to the manifest it speaks of.
	attested map[string]string
}

// Config is a platform's image config.
type Config struct {
	// Raw is the JSON as the registry keeps it.
	Raw                       []byte
	OS, Architecture, Variant string
	Labels                    map[string]string
	Env                       []string
	User, WorkingDir          string
	Entrypoint, Cmd           []string
	// Volumes are paths, sorted; OnBuild are Docker's triggers, which OCI's configs do not know; StopSignal is "" if unset.
	Volumes, OnBuild []string
	StopSignal       string
}

// Inspect reads an image: its manifests and their configs, each verified against its digest. An index, or a manifest,
// OCI's or Docker's; a manifest without an index takes its platform from its config. What is none of these is an error
// that errors.Is ErrNotImage, and one that lists what is not there is ErrIncomplete, not NotFound.
func (c *Client) Inspect(ctx context.Context, ref reference.Reference) (*Image, error) {
	found, err := c.inspect(ctx, ref)
	if err != nil {
		return nil, report("Image could not be inspected", ref.Repository, ref.String(), err)
	}
	return found, nil
}

// part is one platform's image.
type part struct {
	platform string
	manifest manifest
	config   Config
	layers   []string
	blobs    map[string]int64 // digest to size: config and layers
}

// outline reads what a reference names and, of an index, which manifests it lists; none of those. It gives what it read
// also beside an error.
func (c *Client) outline(ctx context.Context, ref reference.Reference) (*Image, error) {
	found, _, err := c.top(ctx, ref)
	return found, err
}

// opened is the manifest that a reference names; index is what it holds if it is one.
type opened struct {
	manifest
	index *ocispec.Index
}

func (c *Client) top(ctx context.Context, ref reference.Reference) (*Image, opened, error) {
	top, err := c.manifest(ctx, ref.Repository, pick(ref))
	if err != nil {
		return nil, opened{}, err
	}
	found := &Image{
		Digest: top.Digest, MediaType: top.MediaType, SizeBytes: top.Size,
		Manifests: map[string]string{}, Configs: map[string]Config{}, Layers: map[string][]string{}, attested: map[string]string{},
	}
	if !isIndex(top.MediaType) {
		return found, opened{manifest: top}, nil
	}
	var index ocispec.Index
	if err := json.Unmarshal(top.raw, &index); err != nil {
		return found, opened{}, fmt.Errorf("the index is not understood: %w", err)
	}
	if len(index.Manifests) > maxChildren {
		return found, opened{}, fmt.Errorf("the index has %d manifests, more than %d: %w", len(index.Manifests), maxChildren, ErrNotImage)
	}
	for _, child := range index.Manifests {
		found.Children = append(found.Children, child.Digest.String())
		if attestation(child) {
			found.attested[child.Digest.String()] = child.Annotations[annotationDigest]
		}
	}
	return found, opened{top, &index}, nil
}

// inspect gives what it read also beside an error: the children of an index that is damaged.
func (c *Client) inspect(ctx context.Context, ref reference.Reference) (*Image, error) {
	found, top, err := c.top(ctx, ref)
	if err != nil {
		return found, err
	}
	var parts []part
	if top.index != nil {
		if parts, err = c.platformImages(ctx, ref.Repository, *top.index); err != nil {
			return found, err
		}
	} else {
		one, err := c.part(ctx, ref.Repository, top.manifest, nil)
		if err != nil {
			return found, err
		}
		parts = []part{one}
	}
	blobs, manifests := map[string]int64{}, map[string]int64{top.Digest: 0}
	for _, p := range parts {
		if _, taken := found.Manifests[p.platform]; !taken {
			found.Manifests[p.platform], found.Configs[p.platform], found.Layers[p.platform] = p.manifest.Digest, p.config, p.layers
		}
		if _, counted := manifests[p.manifest.Digest]; !counted {
			manifests[p.manifest.Digest] = p.manifest.Size
		}
		for digest, size := range p.blobs {
			blobs[digest] = size
		}
	}
	for _, sizes := range []map[string]int64{blobs, manifests} {
		for _, size := range sizes {
			found.SizeBytes += size
		}
	}
	return found, nil
}

// platformImages gets the images of an index, in its order, without attestations.
func (c *Client) platformImages(ctx context.Context, repo reference.Repository, index ocispec.Index) ([]part, error) {
	var children []ocispec.Descriptor
	for _, child := range index.Manifests {
		if !attestation(child) {
			children = append(children, child)
		}
	}
	parts := make([]part, len(children))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i, child := range children {
		group.Go(func() error {
			m, err := c.manifest(ctx, repo, child.Digest.String())
			if err != nil {
				return incomplete(err)
			}
			parts[i], err = c.part(ctx, repo, m, child.Platform)
			return err
		})
	}
	return parts, group.Wait()
}

// part reads one image manifest; its platform is the index's word for it, or its config's where there is none.
func (c *Client) part(ctx context.Context, repo reference.Repository, m manifest, platform *ocispec.Platform) (part, error) {
	if !isManifest(m.MediaType) {
		return part{}, fmt.Errorf("%s has the media type %q: %w", object(repo, m.Digest), m.MediaType, ErrNotImage)
	}
	var body ocispec.Manifest
	if err := json.Unmarshal(m.raw, &body); err != nil {
		return part{}, fmt.Errorf("the manifest is not understood: %w", err)
	}
	raw, err := c.blob(ctx, repo, body.Config.Digest.String())
	if err != nil {
		return part{}, incomplete(err)
	}
	var config ocispec.Image
	if err := json.Unmarshal(raw, &config); err != nil {
		return part{}, fmt.Errorf("the config of %s is not an image config (%w): %w", object(repo, m.Digest), err, ErrNotImage)
	}
	if config.OS == "" || config.Architecture == "" {
		return part{}, fmt.Errorf("the config of %s (%s) names no platform: %w", object(repo, m.Digest), body.Config.MediaType, ErrNotImage)
	}
	if platform == nil {
		platform = &config.Platform
	}
	p := part{
		platform: platforms.Format(platforms.Normalize(*platform)), manifest: m, config: newConfig(raw, config),
		blobs: map[string]int64{body.Config.Digest.String(): body.Config.Size},
	}
	for _, layer := range body.Layers {
		p.layers = append(p.layers, layer.Digest.String())
		p.blobs[layer.Digest.String()] = layer.Size
	}
	return p, nil
}

func newConfig(raw []byte, config ocispec.Image) Config {
	var docker struct {
		Config struct{ OnBuild []string }
	}
	// What is not a list of texts there is no Docker trigger.
	_ = json.Unmarshal(raw, &docker)
	return Config{
		Raw: raw, OS: config.OS, Architecture: config.Architecture, Variant: config.Variant,
		Labels: config.Config.Labels, Env: config.Config.Env, User: config.Config.User, WorkingDir: config.Config.WorkingDir,
		Entrypoint: config.Config.Entrypoint, Cmd: config.Config.Cmd,
		Volumes: slices.Sorted(maps.Keys(config.Config.Volumes)), OnBuild: docker.Config.OnBuild, StopSignal: config.Config.StopSignal,
	}
}

// attestation tells BuildKit's provenance and SBOM manifests from images.
func attestation(child ocispec.Descriptor) bool {
	if child.Annotations[annotationType] == typeAttestation {
		return true
	}
	return child.Platform != nil && child.Platform.OS == "unknown" && child.Platform.Architecture == "unknown"
}

// pick is what of a reference to ask for: the digest decides where both are given.
func pick(ref reference.Reference) string {
	if ref.Digest != "" {
		return ref.Digest
	}
	return ref.Tag
}

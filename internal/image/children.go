package image

import (
	"context"
	"encoding/json"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// removeChildren deletes the manifests of an index that is gone, those excepted that another tag or another tagged
// index needs: two builds of the same content share their platform manifests. The index cannot be brought back, so a
// failure here is not an error: what stays is named.
func (c *Client) removeChildren(ctx context.Context, r Removal, children []string) []Kept {
	if len(children) == 0 {
		return nil
	}
	needed, why := c.needed(ctx, r.Repository)
	var kept []Kept
	for _, child := range children {
		if needed[child] {
			continue
		}
		reason := why
		if reason == "" {
			err := c.Delete(ctx, r.Repository, child)
			if err == nil {
				continue
			}
			reason = err.Error()
		}
		kept = append(kept, Kept{What: "manifest", ID: object(r.Repository, child), Why: reason})
	}
	return kept
}

// needed are the digests that a tag points to, directly or through an index; why says what made it impossible to tell.
func (c *Client) needed(ctx context.Context, repo reference.Repository) (needed map[string]bool, why string) {
	scanned, err := c.scan(ctx, repo)
	if err != nil {
		return nil, "it could not be told whether another image needs it: " + err.Error()
	}
	if !scanned.complete {
		return nil, "the repository has too many tags to tell whether another image needs it"
	}
	needed = map[string]bool{}
	for _, points := range scanned.points {
		if needed[points.Digest] {
			continue
		}
		needed[points.Digest] = true
		if isManifest(points.MediaType) {
			continue
		}
		m, err := c.manifest(ctx, repo, points.Digest)
		if NotFound(err) {
			continue
		}
		var index ocispec.Index
		if err == nil {
			err = json.Unmarshal(m.raw, &index)
		}
		if err != nil {
			return nil, "it could not be told whether another image needs it: " + err.Error()
		}
		for _, child := range index.Manifests {
			needed[child.Digest.String()] = true
		}
	}
	return needed, ""
}

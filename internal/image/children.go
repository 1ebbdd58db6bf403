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
	needed := map[string]string{}
	scanned, err := c.scan(ctx, r.Repository)
	why := ""
	switch {
	case err != nil:
		why = unknowable + err.Error()
	case scanned.unsure != "":
		why = unknowable + scanned.unsure
	default:
		if needed, why = c.listed(ctx, r.Repository, scanned); needed == nil {
			needed = map[string]string{}
		}
		for tag, points := range scanned.points {
			needed[points.Digest] = tag
		}
	}
	var kept []Kept
	for _, child := range children {
		if needed[child] != "" {
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

const unknowable = "it could not be told whether another image needs it: "

// listed are the digests that tagged indexes list, each with a tag of such an index; why says what made it impossible to tell.
func (c *Client) listed(ctx context.Context, repo reference.Repository, scanned scan) (listed map[string]string, why string) {
	listed = map[string]string{}
	read := map[string]bool{}
	for tag, points := range scanned.points {
		if read[points.Digest] || isManifest(points.MediaType) {
			continue
		}
		read[points.Digest] = true
		m, err := c.manifest(ctx, repo, points.Digest)
		if NotFound(err) {
			continue
		}
		var index ocispec.Index
		if err == nil {
			err = json.Unmarshal(m.raw, &index)
		}
		if err != nil {
			return nil, unknowable + err.Error()
		}
		for _, child := range index.Manifests {
			listed[child.Digest.String()] = tag
		}
	}
	return listed, ""
}

package image

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Removal is what to remove: a digest and the tags that its Create put on it.
type Removal struct {
	Repository reference.Repository
	Digest     string
	// Tags are the tags that state names. Owns, if set, recognises further ones of the same resource: one whose PUT was
	// answered too late is in the registry and in no state.
	Tags []string
	Owns func(tag string) bool
	// RequireLabel, if set, is the label that proves every platform of the image to be ours. An image that cannot be read
	// in full proves nothing.
	RequireLabel string
}

func (r Removal) owns(tag string) bool {
	return slices.Contains(r.Tags, tag) || r.Owns != nil && r.Owns(tag)
}

// Removed is what became of it.
type Removed struct {
	// DigestDeleted tells that the digest and all its tags are gone.
	DigestDeleted bool
	// Untagged are our tags that were removed one by one; Others the tags of somebody else, for which the digest was left:
	// they point to it, or to an index that lists it.
	Untagged, Others []string
	// Kept is what should have gone and could not.
	Kept []Kept
	// Forgotten says why the image is not proven to be ours, so that nothing of it was touched; "" if it is.
	Forgotten string
}

// Kept is something that no request could remove: what it is ("image", "tag", "manifest"), its reference, and why.
type Kept struct{ What, ID, Why string }

// Remove deletes what a Create made, and no more: if a tag that is not ours points to the digest, or a tagged index lists
// it, only our tags go; else the digest goes, and of an index its children too where no other tag or index needs them. Our
// tag that points elsewhere is left alone. Something already gone is success. On an error nothing is known to be gone but
// what Removed says.
func (c *Client) Remove(ctx context.Context, r Removal) (Removed, error) {
	look := c.outline
	if r.RequireLabel != "" {
		look = c.inspect
	}
	content, err := look(ctx, r.Repository.WithDigest(r.Digest))
	damaged := errors.Is(err, ErrNotImage) || errors.Is(err, ErrIncomplete)
	switch {
	case NotFound(err):
		return c.alreadyGone(ctx, r), nil
	case err != nil && !damaged:
		return Removed{}, report("Image could not be checked before its removal", r.Repository, object(r.Repository, r.Digest), err)
	case damaged && r.RequireLabel != "":
		return Removed{Forgotten: "it cannot be read in full, so it is not proven to be ours: " + err.Error()}, nil
	case r.RequireLabel != "" && !labelled(content, r.RequireLabel):
		return Removed{Forgotten: fmt.Sprintf("it does not carry the label %s, so it was not made by this provider", r.RequireLabel)}, nil
	}
	var done Removed
	holders, err := c.holders(ctx, r)
	if err != nil {
		return done, err
	}
	if !holders.none() {
		if done, err = c.untagOurs(ctx, r, holders.scan); err != nil {
			return done, err
		}
		if len(holders.tags) > 0 {
			// Two removals at once may share a digest: each sees the other's tag at first, and the last one deletes.
			if holders, err = c.holders(ctx, r); err != nil {
				return done, err
			}
		}
		if done.Others = holders.tags; len(holders.tags) > 0 {
			return done, nil
		}
		if holders.why != "" {
			done.Kept = append(done.Kept, Kept{What: "image", ID: object(r.Repository, r.Digest), Why: holders.why})
			return done, nil
		}
	}
	if err := c.Delete(ctx, r.Repository, r.Digest); err != nil {
		return done, err
	}
	// What remains can be found by nobody once the index is gone, so a cancel does not stop this.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), childrenWithin)
	defer cancel()
	return Removed{DigestDeleted: true, Untagged: done.Untagged, Kept: c.removeChildren(ctx, r, content.Children)}, nil
}

// childrenWithin bounds the removal of an index's children, also when the caller's context has ended.
const childrenWithin = 30 * time.Second

// alreadyGone is the success of a digest that is not there. A registry whose tags still answer with it contradicts itself.
func (c *Client) alreadyGone(ctx context.Context, r Removal) Removed {
	done := Removed{DigestDeleted: true}
	for _, tag := range r.Tags {
		if points, err := c.head(ctx, r.Repository, tag); err == nil && points.Digest == r.Digest {
			done.Kept = append(done.Kept, Kept{What: "tag", ID: object(r.Repository, tag), Why: "the registry answers 404 for the digest " + r.Digest + " and still gives it for the tag"})
		}
	}
	return done
}

// holders are the reasons to leave a digest: tags that are not ours and need it, or why it needs to stay beside them.
type holders struct {
	scan scan
	tags []string
	why  string
}

func (h holders) none() bool { return len(h.tags) == 0 && h.why == "" }

func (c *Client) holders(ctx context.Context, r Removal) (holders, error) {
	scanned, err := c.scan(ctx, r.Repository, r.Tags...)
	if err != nil {
		return holders{}, report("Tags of the image could not be checked before its removal", r.Repository, object(r.Repository, r.Digest), err)
	}
	found := holders{scan: scanned, tags: slices.DeleteFunc(scanned.of(r.Digest), r.owns)}
	switch {
	case scanned.unsure != "":
		found.why = "it could not be told whether another tag points to it: " + scanned.unsure
	default:
		var listed map[string]string
		if listed, found.why = c.listed(ctx, r.Repository, scanned); listed[r.Digest] != "" {
			found.tags = append(found.tags, listed[r.Digest])
		}
	}
	return found, nil
}

func (c *Client) untagOurs(ctx context.Context, r Removal, scanned scan) (Removed, error) {
	var done Removed
	tags := slices.Clone(r.Tags)
	for _, tag := range scanned.of(r.Digest) {
		if r.owns(tag) && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	for _, tag := range tags {
		if scanned.points[tag].Digest != r.Digest {
			continue
		}
		switch err := c.Untag(ctx, r.Repository, tag); {
		case errors.Is(err, ErrCannotUntag):
			done.Kept = append(done.Kept, Kept{What: "tag", ID: object(r.Repository, tag), Why: ErrCannotUntag.Error()})
		case err != nil:
			return done, err
		default:
			done.Untagged = append(done.Untagged, tag)
		}
	}
	return done, nil
}

func labelled(content *Image, label string) bool {
	for _, config := range content.Configs {
		if _, ok := config.Labels[label]; !ok {
			return false
		}
	}
	return len(content.Configs) > 0
}

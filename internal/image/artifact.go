package image

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// State tells whether a pushed image is still there.
type State int

// The states of a pushed image.
const (
	// Gone: the repository does not hold the digest. Zero is none of the states, so that nothing is gone by default.
	Gone State = iota + 1
	// Present: the digest is there, and the tag, if there is one, points to it.
	Present
	// PresentMoved: the digest is there, but the tag is missing or points elsewhere.
	PresentMoved
)

// Presence of a pushed image. TagDigest is what the tag points to if State is PresentMoved, "" if it is missing.
type Presence struct {
	State     State
	TagDigest string
}

// Presence looks a pushed image up: one request if all is as it was, two if the tag has moved or gone. Only 404 means
// gone; every other failure is an error.
func (c *Client) Presence(ctx context.Context, repo reference.Repository, digest, tag string) (Presence, error) {
	moved := Presence{State: Present}
	if tag != "" {
		found, err := c.head(ctx, repo, tag)
		switch {
		case err == nil && found.Digest == digest:
			return Presence{State: Present}, nil
		case err != nil && !NotFound(err):
			return Presence{}, report("Image could not be refreshed", repo, object(repo, tag), err)
		}
		moved = Presence{State: PresentMoved, TagDigest: found.Digest}
	}
	_, err := c.head(ctx, repo, digest)
	switch {
	case NotFound(err):
		return Presence{State: Gone}, nil
	case err != nil:
		return Presence{}, report("Image could not be refreshed by its digest", repo, object(repo, digest), err)
	}
	return moved, nil
}

// Removal is what to remove: a digest and the tags that its Create put on it. RequireLabel, if set, is the label that
// proves every platform of the image to be ours; an image that cannot be read in full proves nothing. TagSuffix, if
// set, ends the tags that are ours too: one whose PUT was answered too late is in the registry and in no state.
type Removal struct {
	Repository   reference.Repository
	Digest       string
	Tags         []string
	TagSuffix    string
	RequireLabel string
}

func (r Removal) owns(tag string) bool {
	return slices.Contains(r.Tags, tag) || r.TagSuffix != "" && strings.HasSuffix(tag, r.TagSuffix)
}

// Removed is what became of it.
type Removed struct {
	// DigestDeleted tells that the digest and all its tags are gone.
	DigestDeleted bool
	// Untagged are our tags that were removed one by one.
	Untagged []string
	// Kept is what should have gone and could not.
	Kept []Kept
	// Forgotten tells that the image lacks RequireLabel, so that nothing of it was touched.
	Forgotten bool
}

// Kept is something that no request could remove: what it is ("image", "tag", "manifest"), its reference, and why.
type Kept struct{ What, ID, Why string }

// Remove deletes what a Create made, and no more: if a tag that is not ours points to the digest, only our tags go;
// else the digest goes, and of an index its children too where no other tag or index needs them. Our tag that points
// elsewhere is left alone. Something already gone is success. On an error nothing is known to be gone but what Removed says.
func (c *Client) Remove(ctx context.Context, r Removal) (Removed, error) {
	content, err := c.inspect(ctx, r.Repository.WithDigest(r.Digest))
	switch {
	case NotFound(err):
		return Removed{DigestDeleted: true}, nil
	case errors.Is(err, ErrNotImage), errors.Is(err, ErrIncomplete):
		content = &Image{}
	case err != nil:
		return Removed{}, report("Image could not be checked before its removal", r.Repository, object(r.Repository, r.Digest), err)
	}
	if r.RequireLabel != "" && !labelled(content, r.RequireLabel) {
		return Removed{Forgotten: true}, nil
	}
	var done Removed
	found, err := c.others(ctx, r)
	if err != nil {
		return done, err
	}
	if !found.none() {
		if done, err = c.untagOurs(ctx, r, found.scan); err != nil {
			return done, err
		}
		if len(found.tags) > 0 {
			// Two removals at once may share a digest: each sees the other's tag at first, and the last one deletes.
			if found, err = c.others(ctx, r); err != nil {
				return done, err
			}
		}
		switch {
		case len(found.tags) > 0:
			return done, nil
		case !found.complete:
			done.Kept = append(done.Kept, Kept{
				What: "image", ID: object(r.Repository, r.Digest),
				Why: "the repository has too many tags to tell whether another one points to it",
			})
			return done, nil
		}
	}
	if err := c.Delete(ctx, r.Repository, r.Digest); err != nil {
		return done, err
	}
	return Removed{DigestDeleted: true, Untagged: done.Untagged, Kept: c.removeChildren(ctx, r, content.Children)}, nil
}

// found is the tags of a digest that are not ours.
type found struct {
	scan
	tags []string
}

func (f found) none() bool { return f.complete && len(f.tags) == 0 }

func (c *Client) others(ctx context.Context, r Removal) (found, error) {
	scanned, err := c.scan(ctx, r.Repository)
	if err != nil {
		return found{}, report("Tags of the image could not be checked before its removal", r.Repository, object(r.Repository, r.Digest), err)
	}
	return found{scanned, slices.DeleteFunc(scanned.of(r.Digest), r.owns)}, nil
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
		points, known := scanned.points[tag]
		if !known && !scanned.complete {
			var err error
			if points, err = c.head(ctx, r.Repository, tag); err != nil && !NotFound(err) {
				return done, report("Tag could not be checked before its removal", r.Repository, object(r.Repository, tag), err)
			}
		}
		if points.Digest != r.Digest {
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

// Retag renames: the new tag is put first, then the old one is removed if it still points to the digest. kept is the
// old tag where it stays, because the registry cannot remove a single tag (no error) or would not (an error; the new
// tag is in place). An empty from or to means that there is none.
func (c *Client) Retag(ctx context.Context, repo reference.Repository, digest, from, to string) (kept string, err error) {
	if from == to {
		return "", nil
	}
	if to != "" {
		if err := c.Tag(ctx, repo, digest, to); err != nil {
			return "", err
		}
	}
	if from == "" {
		return "", nil
	}
	old, err := c.head(ctx, repo, from)
	switch {
	case NotFound(err) || err == nil && old.Digest != digest:
		return "", nil
	case err != nil:
		return from, report("Old tag could not be checked before its removal", repo, object(repo, from), err)
	}
	switch err := c.Untag(ctx, repo, from); {
	case errors.Is(err, ErrCannotUntag):
		return from, nil
	case err != nil:
		return from, err
	}
	return "", nil
}

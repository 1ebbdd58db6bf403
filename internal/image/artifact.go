package image

import (
	"context"
	"errors"

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

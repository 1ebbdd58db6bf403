package image

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

var deleteActions = []string{auth.ActionPull, auth.ActionDelete}

// Untag removes a tag and leaves what it pointed to. A tag that is not there is success. Where the registry deletes by
// digest only, the error is ErrCannotUntag for errors.Is.
func (c *Client) Untag(ctx context.Context, repo reference.Repository, tag string) error {
	const title = "Tag could not be removed"
	if !reference.ValidTag(tag) {
		return report(title, repo, object(repo, tag), fmt.Errorf("%q is not a tag", tag))
	}
	api, err := c.api(ctx, repo)
	switch {
	case err != nil:
		return report(title, repo, object(repo, tag), err)
	case api != nil:
		return report(title, repo, object(repo, tag), api.Untag(ctx, tag))
	}
	err = c.remove(ctx, repo, tag)
	if byDigestOnly(err) {
		return &problem.Problem{
			Title: "Registry cannot remove a single tag", Object: object(repo, tag), Cause: fmt.Errorf("%w: %w", ErrCannotUntag, err),
			Advice: "This registry deletes by digest only, which would take every tag along. The tag stays; remove it with the registry's own tools.",
		}
	}
	return report(title, repo, object(repo, tag), err)
}

// Delete removes a manifest or index with all its tags. One that is not there is success.
func (c *Client) Delete(ctx context.Context, repo reference.Repository, digest string) error {
	if !reference.ValidDigest(digest) {
		return report("Image to delete is not named by a digest", repo, object(repo, digest), fmt.Errorf("%q is not a sha256 digest", digest))
	}
	api, err := c.api(ctx, repo)
	if api != nil {
		err = api.Delete(ctx, digest)
	} else if err == nil {
		err = c.remove(ctx, repo, digest)
	}
	switch {
	case byDigestOnly(err):
		return &problem.Problem{
			Title: "Registry does not allow images to be deleted", Object: object(repo, digest), Cause: err,
			Advice: "Allow deletion in " + repo.String() + " on the registry.",
		}
	case Denied(err):
		return &problem.Problem{
			Title: "Registry refused to delete the image", Object: object(repo, digest), Cause: err,
			Advice: advice(repo, err),
		}
	}
	return report("Image could not be deleted", repo, object(repo, digest), err)
}

// remove deletes by tag or digest; 404 is success.
func (c *Client) remove(ctx context.Context, repo reference.Repository, tagOrDigest string) error {
	_, err := c.send(ctx, call{
		method: http.MethodDelete, repo: repo, path: "manifests/" + tagOrDigest, object: suffix(tagOrDigest), actions: deleteActions,
	})
	if NotFound(err) {
		return nil
	}
	return err
}

// byDigestOnly recognises how registries say that they do not delete this way: 405, or 400 with DIGEST_INVALID or
// UNSUPPORTED.
func byDigestOnly(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Status == http.StatusMethodNotAllowed ||
		e.Status >= 400 && e.Status < 500 && (e.Code == "UNSUPPORTED" || e.Status == http.StatusBadRequest && e.Code == "DIGEST_INVALID")
}

package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// cancelTimeout bounds the request that gives an upload session back, also when the caller's context has ended.
const cancelTimeout = 5 * time.Second

var writeActions = []string{auth.ActionPull, auth.ActionPush}

// ProbePush starts an upload and cancels it: a wrong repository, credential or right shows in seconds instead of after
// a build. Nothing is left in the repository.
func (c *Client) ProbePush(ctx context.Context, repo reference.Repository) error {
	started, err := c.send(ctx, call{
		method: http.MethodPost, repo: repo, path: "blobs/uploads/", object: "/blobs/uploads/", actions: writeActions,
	})
	switch {
	case err == nil:
		c.cancelUpload(ctx, repo, started)
		return nil
	case NotFound(err):
		return &problem.Problem{
			Title: "Repository does not exist", Object: repo.String(), Cause: err,
			Advice: "Create the repository " + repo.Path + " on " + repo.Host + " first, or correct its name: this registry does not create one at the first push.",
		}
	case errors.Is(err, io.EOF):
		return &problem.Problem{
			Title: "Registry closed the connection when asked for an upload", Object: repo.String(), Cause: err,
			Advice: "Some registries do so when the repository does not exist: create " + repo.Path + " on " + repo.Host + ", or correct its name.",
		}
	}
	return report("Push to the repository is not possible", repo, repo.String(), err)
}

// cancelUpload ends the session. A registry that refuses drops it by itself in time, so this never fails the probe.
func (c *Client) cancelUpload(ctx context.Context, repo reference.Repository, started *answer) {
	location, err := url.Parse(started.header.Get("Location"))
	if err != nil || location.String() == "" {
		return
	}
	location = started.url.ResolveReference(location)
	if location.Host != started.url.Host || location.Scheme != started.url.Scheme {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	_, err = c.send(ctx, call{
		method: http.MethodDelete, repo: repo, url: location, object: "/blobs/uploads/…", actions: writeActions,
	})
	if err != nil && !NotFound(err) {
		c.logger.DebugContext(ctx, "upload session was not cancelled", "repository", repo.String(), "error", err.Error())
	}
}

// Tag puts a tag on a digest that the repository holds. A tag that already points to the digest is fine, also where
// tags cannot be overwritten.
func (c *Client) Tag(ctx context.Context, repo reference.Repository, digest, tag string) error {
	name := repo.WithTag(tag).String() + " (" + digest + ")"
	if !reference.ValidDigest(digest) || !reference.ValidTag(tag) {
		return report("Tag or digest to put is not valid", repo, name, fmt.Errorf("%q is not a sha256 digest or %q not a tag", digest, tag))
	}
	m, err := c.manifest(ctx, repo, digest)
	if err != nil {
		return report("Image to tag could not be read", repo, name, err)
	}
	put, err := c.send(ctx, call{
		method: http.MethodPut, repo: repo, path: "manifests/" + tag, object: ":" + tag, actions: writeActions,
		contentType: m.MediaType, body: m.raw,
		check: func(got *answer) error {
			if given := got.header.Get(digestHeader); given != "" {
				return checkDigest(given, digest)
			}
			return nil
		},
	})
	if err != nil {
		return c.taken(ctx, repo, digest, tag, err)
	}
	if put.header.Get(digestHeader) != "" {
		return nil
	}
	now, err := c.head(ctx, repo, tag)
	if err == nil && now.Digest != digest {
		err = fmt.Errorf("the tag points to %s after it was put", now.Digest)
	}
	return report("Tag could not be put on the image", repo, name, err)
}

// taken judges a refused tag: registries with immutable tags refuse one that exists, even on the same digest.
func (c *Client) taken(ctx context.Context, repo reference.Repository, digest, tag string, refusal error) error {
	name := repo.WithTag(tag).String() + " (" + digest + ")"
	var e *Error
	aboutContent := errors.As(refusal, &e) && (e.Code == "MANIFEST_BLOB_UNKNOWN" || e.Code == "MANIFEST_INVALID")
	if s := status(refusal); s >= 400 && s < 500 && !aboutContent && !Denied(refusal) && !Transient(refusal) {
		now, err := c.head(ctx, repo, tag)
		switch {
		case err == nil && now.Digest == digest:
			return nil
		case err == nil:
			return &problem.Problem{
				Title: "Tag already exists and cannot be overwritten", Object: repo.WithTag(tag).String(), Cause: refusal,
				Advice: fmt.Sprintf("The tag points to %s, ours would be %s. Choose a new tag.", now.Digest, digest),
			}
		}
	}
	return report("Tag was refused by the registry", repo, name, refusal)
}

package image

import (
	"context"
	"errors"
	"fmt"
	"time"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// API is what the service behind a registry offers beside the registry protocol, for one repository. Its errors are
// *Error, with the statuses that a registry would answer, or *problem.Problem.
type API interface {
	// Head looks a tag or digest up.
	Head(ctx context.Context, tagOrDigest string) (Descriptor, error)
	// Manifest gets the content of a manifest or index, byte for byte.
	Manifest(ctx context.Context, tagOrDigest string) (Descriptor, []byte, error)
	// Tags gives where each tag of the repository points to; complete tells whether those are all.
	Tags(ctx context.Context) (points map[string]Descriptor, complete bool, err error)
	// Untag removes a tag and leaves what it points to; ErrCannotUntag where that is not possible.
	Untag(ctx context.Context, tag string) error
	// Delete removes a manifest or index with all its tags. One that is not there is success.
	Delete(ctx context.Context, digest string) error
}

// api gives the API to use for a repository, nil where the registry protocol serves.
func (c *Client) api(ctx context.Context, repo reference.Repository) (API, error) {
	if c.apis == nil {
		return nil, nil //nolint:nilnil // No API is an answer.
	}
	found, err := c.apis(ctx, repo)
	if err != nil {
		var below *problem.Problem
		if errors.As(err, &below) {
			return nil, ofCredential(err)
		}
		return nil, fmt.Errorf("the API of %s cannot be used: %w", repo.Host, err)
	}
	return found, nil
}

// renewing is a cache of logins that forgets one shortly before it ends, so that the next request asks for it again:
// some registries answer 403 to a login that has ended, which asks for no other.
type renewing struct {
	auth.Cache
	ended func(host string) bool
}

func (c renewing) GetScheme(ctx context.Context, host string) (auth.Scheme, error) {
	if c.ended(host) {
		return auth.SchemeUnknown, errdef.ErrNotFound
	}
	return c.Cache.GetScheme(ctx, host)
}

func (c renewing) GetToken(ctx context.Context, host string, scheme auth.Scheme, key string) (string, error) {
	if c.ended(host) {
		return "", errdef.ErrNotFound
	}
	return c.Cache.GetToken(ctx, host, scheme, key)
}

// ended tells whether the login last sent to a host is to be renewed.
func (c *Client) ended(host string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent[host].Ended(c.now())
}

// Ended tells whether the credential is to be asked for again.
func (c Credential) Ended(now time.Time) bool { return !c.RenewAt.IsZero() && !now.Before(c.RenewAt) }

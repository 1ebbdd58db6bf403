package image

import (
	"context"
	"net/http"
	"net/url"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// mountsAtOnce bounds the mounts that are under way at a time.
const mountsAtOnce = 4

// MountOrProbe is ProbePush, and puts the layers of a base into the repository without sending a byte where the registry
// can: both in one registry, and the base readable with the same credentials. The first layer's request is the probe.
// Layers are digests. A layer that cannot be mounted is no error, since the builder then uploads it: a debug line says
// why. Nothing is left in the repository but the layers, which a registry collects if no image comes to need them.
func (c *Client) MountOrProbe(ctx context.Context, repo, base reference.Repository, layers []string) error {
	switch {
	case reference.CanonicalHost(base.Host) != reference.CanonicalHost(repo.Host):
		c.notMounted(ctx, repo, base, "base and target are in two registries")
		return c.ProbePush(ctx, repo)
	case len(layers) == 0:
		c.notMounted(ctx, repo, base, "the base has no layers")
		return c.ProbePush(ctx, repo)
	}
	mounted, err := c.mount(ctx, repo, base, layers[0])
	switch {
	case err != nil:
		// The refusal may be about either repository: only a request that names the target alone can tell.
		c.notMounted(ctx, repo, base, err.Error())
		return c.ProbePush(ctx, repo)
	case !mounted:
		c.notMounted(ctx, repo, base, "the registry opened an upload instead")
		return nil
	}
	c.mountRest(ctx, repo, base, layers[1:])
	return nil
}

func (c *Client) mountRest(ctx context.Context, repo, base reference.Repository, layers []string) {
	var group errgroup.Group
	group.SetLimit(mountsAtOnce)
	var once sync.Once
	for _, layer := range layers {
		group.Go(func() error {
			mounted, err := c.mount(ctx, repo, base, layer)
			switch {
			case err != nil:
				once.Do(func() { c.notMounted(ctx, repo, base, "some layers were refused: "+err.Error()) })
			case !mounted:
				once.Do(func() { c.notMounted(ctx, repo, base, "the registry opened an upload instead for some layers") })
			}
			return nil
		})
	}
	_ = group.Wait() // No mount is an error.
}

// mount asks for one layer of the base: 201 is a mount, 202 an upload session, which is given back.
func (c *Client) mount(ctx context.Context, repo, base reference.Repository, layer string) (mounted bool, err error) {
	query := url.Values{"mount": {layer}, "from": {base.Path}}
	started, err := c.send(ctx, call{
		method: http.MethodPost, repo: repo, path: "blobs/uploads/?" + query.Encode(), object: "/blobs/uploads/", actions: writeActions, reads: base.Path,
	})
	if err != nil {
		return false, err
	}
	if started.status == http.StatusCreated {
		return true, nil
	}
	c.cancelUpload(ctx, repo, started)
	return false, nil
}

func (c *Client) notMounted(ctx context.Context, repo, base reference.Repository, why string) {
	c.logger.DebugContext(ctx, "base layers cannot be mounted", "base", base.String(), "repository", repo.String(), "reason", why)
}

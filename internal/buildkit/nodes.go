package buildkit

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// cleanupWithin bounds the removal of what a build of several daemons left, also when the caller's context has ended.
const cleanupWithin = 30 * time.Second

// share is the platforms of a request that one daemon builds.
type share struct {
	daemon    *Daemon
	platforms []string
}

// shares are the daemons of a request, in the order of their addresses: builds that wait for the same ones wait in the
// same order. A daemon that nothing is built on is not asked.
func (p *Publisher) shares(ctx context.Context, platforms []string) ([]share, error) {
	var all []share
	for _, platform := range platforms {
		connect, ok := p.Nodes[platform]
		if !ok {
			connect = p.Connect
		}
		daemon, err := connect(ctx)
		if err != nil {
			return nil, err
		}
		if err := daemon.CanRun([]string{platform}); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(s share) bool { return s.daemon == daemon })
		if i < 0 {
			i, all = len(all), append(all, share{daemon: daemon})
		}
		all[i].platforms = append(all[i].platforms, platform)
	}
	slices.SortFunc(all, func(a, b share) int { return cmp.Compare(a.daemon.Address, b.daemon.Address) })
	return all, nil
}

// reserve takes a slot on each daemon.
func reserve(ctx context.Context, shares []share) (release func(), err error) {
	var taken []func()
	release = func() {
		for _, give := range taken {
			give()
		}
	}
	for _, s := range shares {
		give, err := s.daemon.Reserve(ctx)
		if err != nil {
			release()
			return nil, err
		}
		taken = append(taken, give)
	}
	return release, nil
}

// build builds and pushes on all daemons at once, and makes one index of what several pushed. Where one fails, the others
// are stopped and what they pushed is removed.
func (p *Publisher) build(ctx context.Context, shares []share, request Request, base *image.Image) (*Result, error) {
	if len(shares) == 1 {
		return shares[0].daemon.Build(ctx, request, base)
	}
	results := make([]*Result, len(shares))
	group, building := errgroup.WithContext(ctx)
	for i, s := range shares {
		group.Go(func() (err error) {
			own := request
			own.Platforms, own.Cache = s.platforms, request.Cache.of(s.platforms)
			results[i], err = s.daemon.Build(building, own, base)
			return err
		})
	}
	err := group.Wait()
	if err == nil {
		err = agree(request, results)
	}
	var parts []image.Part
	for i, result := range results {
		if result != nil {
			parts = append(parts, image.Part{Digest: result.Digest, Platform: shares[i].platforms[0]})
		}
	}
	// The index is the same wherever the daemons are.
	slices.SortFunc(parts, func(a, b image.Part) int { return cmp.Compare(a.Platform, b.Platform) })
	var digest string
	var indexes []string
	if err == nil {
		digest, indexes, err = p.Registry.Assemble(ctx, request.Repository, parts)
	}
	if err != nil {
		p.removeParts(ctx, request.Repository, parts)
		return nil, err
	}
	p.removeIndexes(ctx, request.Repository, indexes)
	whole := *results[0]
	whole.Digest = digest
	for _, other := range results[1:] {
		whole.Unexported = errors.Join(whole.Unexported, other.Unexported)
	}
	return &whole, nil
}

// agree holds the daemons' results against each other, as one daemon does for its platforms.
func agree(request Request, results []*Result) error {
	for _, other := range results[1:] {
		if other.Python != results[0].Python {
			return unsuitableBase(request, errors.New("it has Python "+results[0].Python+" on one platform and "+other.Python+" on another"))
		}
		if err := samePackages(request, results[0].Packages, other.Packages); err != nil {
			return err
		}
	}
	return nil
}

// removeParts removes what was pushed for an image that did not come to be, unless a tag or a tagged index needs it.
func (p *Publisher) removeParts(ctx context.Context, repository reference.Repository, parts []image.Part) {
	p.each(ctx, repository, parts, func(ctx context.Context, part image.Part) error {
		_, err := p.Registry.Remove(ctx, image.Removal{Repository: repository, Digest: part.Digest})
		return err
	})
}

// removeIndexes removes the daemons' own indexes, whose manifests the whole one lists. A registry that deletes nothing keeps them.
func (p *Publisher) removeIndexes(ctx context.Context, repository reference.Repository, indexes []string) {
	var parts []image.Part
	for _, index := range indexes {
		parts = append(parts, image.Part{Digest: index})
	}
	p.each(ctx, repository, parts, func(ctx context.Context, part image.Part) error {
		tags, complete, err := p.Registry.TagsOf(ctx, repository, part.Digest)
		if err != nil || len(tags) > 0 || !complete {
			return err
		}
		return p.Registry.Delete(ctx, repository, part.Digest)
	})
}

func (p *Publisher) each(ctx context.Context, repository reference.Repository, parts []image.Part, remove func(context.Context, image.Part) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupWithin)
	defer cancel()
	var waiting sync.WaitGroup
	for _, part := range parts {
		waiting.Go(func() {
			if err := remove(ctx, part); err != nil {
				p.Logger.WarnContext(ctx, "part of an image was left in the registry", "digest", part.Digest, "repository", repository.String(), "error", err.Error())
			}
		})
	}
	waiting.Wait()
}

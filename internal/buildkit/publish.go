package buildkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Publisher makes an image and puts it into its registry, from the first check to the last look.
type Publisher struct {
	// Registry reads and writes the registries; it is given the credentials of the request.
	Registry *image.Client
	// Connect gives the daemon; it is called after the registries were found willing.
	Connect func(ctx context.Context) (*Daemon, error)
	// Nodes give the daemons of platforms that Connect's does not build.
	Nodes  map[string]func(ctx context.Context) (*Daemon, error)
	Logger *slog.Logger
	// Now is the clock.
	Now func() time.Time
}

// Published is an image that can be launched.
type Published struct {
	Result
	// Image is what the registry says of it; nil if it could not be read back, and Unread says why. The image is good all the same.
	Image  *image.Image
	Unread error
	// SBOMGenerator is the generator that was run; zero if none was.
	SBOMGenerator reference.Reference
	// Attestations are the statements that the pushed index carries.
	Attestations []image.Attestation
	// BuiltAt is when the build ended; BuildDuration is how long build and push took.
	BuiltAt       time.Time
	BuildDuration time.Duration
}

// phase is what Publish is at, for the error that a deadline or a cancel ends in.
type phase struct {
	name, object string
	began        time.Time
}

// Publish checks the target and the base, builds, pushes by digest, puts the tag and looks at the result. pushed is
// called as soon as the registry holds the digest: from then on there is something to clean up.
func (p *Publisher) Publish(ctx context.Context, request Request, tag string, pushed func(Published)) (*Published, error) {
	at := &phase{began: p.Now()}
	published, err := p.publish(ctx, request, tag, pushed, at)
	if err != nil && ctx.Err() != nil {
		return published, at.ended(ctx, err, p.Now())
	}
	return published, err
}

func (p *Publisher) publish(ctx context.Context, request Request, tag string, pushed func(Published), at *phase) (*Published, error) {
	at.enter("reading the "+strings.ToLower(request.words().parent), request.Base.String())
	base, err := p.Registry.Inspect(ctx, request.Base)
	if err != nil {
		return nil, baseProblem(request, err)
	}
	if err := checkPlatforms(request, base); err != nil {
		return nil, err
	}
	if err := checkLabels(request, base); err != nil {
		return nil, err
	}
	at.enter("checking the push permission", request.Repository.String())
	if err := p.Registry.MountOrProbe(ctx, request.Repository, request.Base.Repository, baseLayers(request, base)); err != nil {
		return nil, err
	}
	if request.Attestations.SBOM && request.Attestations.SBOMGenerator.Digest == "" {
		at.enter("resolving the SBOM generator", DefaultSBOMGenerator)
		if request.Attestations.SBOMGenerator, err = resolveGenerator(ctx, p.Registry); err != nil {
			return nil, err
		}
	}
	at.enter("reaching the BuildKit daemon", "")
	shares, err := p.shares(ctx, request.Platforms)
	if err != nil {
		return nil, err
	}
	at.enter("waiting for one of the builds before it to end", "")
	release, err := reserve(ctx, shares)
	if err != nil {
		return nil, err
	}
	at.enter("building and pushing", request.Repository.String())
	began := p.Now()
	result, err := p.build(ctx, shares, request, base)
	release()
	if err != nil {
		return nil, err
	}
	published := &Published{Result: *result, SBOMGenerator: request.Attestations.SBOMGenerator, BuiltAt: p.Now().UTC().Truncate(time.Second), BuildDuration: p.Now().Sub(began)}
	pushed(*published)
	p.Logger.InfoContext(ctx, "image was pushed", "digest", result.Digest, "repository", request.Repository.String())

	at.enter("putting the tag "+tag, request.Repository.WithDigest(result.Digest).String())
	if err := p.Registry.Tag(ctx, request.Repository, result.Digest, tag); err != nil {
		return nil, err
	}
	at.enter("reading the pushed image", request.Repository.WithDigest(result.Digest).String())
	found, err := p.Registry.Inspect(ctx, request.Repository.WithDigest(result.Digest))
	switch {
	case errors.Is(err, image.ErrIncomplete):
		return nil, &problem.Problem{Title: "Pushed image is not whole", Object: request.Repository.WithDigest(result.Digest).String(), Cause: err,
			Advice: "A part of it was removed while it was pushed: an image of the same content that is deleted at that time takes along what the two share. Apply again; the build is in the daemon's cache."}
	case err == nil:
		published.Attestations, err = p.Registry.Attestations(ctx, request.Repository, found)
	}
	if published.Unread = err; err == nil {
		published.Image = found
		return published, checkStatements(request, published.Attestations)
	}
	return published, nil
}

func (a *phase) enter(name, object string) { a.name, a.object = name, object }

func (a *phase) ended(ctx context.Context, err error, now time.Time) error {
	p := &problem.Problem{Title: "Image build was cancelled", Object: strings.TrimSpace("while " + a.name + " " + a.object), Cause: ctx.Err(),
		Advice: "Finished steps are in the daemon's cache, so another apply goes on from there."}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		p.Title = "Image build took longer than its timeout"
		p.Advice = "Raise timeouts.create. " + p.Advice
	}
	var inner *problem.Problem
	if errors.As(err, &inner) {
		p.Logs = inner.Logs
	}
	p.Object += fmt.Sprintf(", after %s", now.Sub(a.began).Round(time.Second))
	return p
}

// UnreadableBase says why a base that something is to be made on could not be read from its registry.
func UnreadableBase(base reference.Reference, err error) error {
	return baseProblem(Request{Base: base}, err)
}

func baseProblem(request Request, err error) error {
	w := request.words()
	if withheld := image.CredentialProblem(err, w.base); withheld != nil {
		return withheld
	}
	p := &problem.Problem{Title: w.parent + " cannot be read", Path: []any{w.base}, Object: request.Base.String(), Cause: err, Advice: "Check the reference."}
	var inner *problem.Problem
	if errors.As(err, &inner) {
		p.Cause, p.Advice = inner.Cause, inner.Advice
	}
	if image.NotFound(err) {
		p.Title = w.parent + " does not exist"
		p.Advice = "The registry has no such repository or digest. Find the digest of a tag with `docker buildx imagetools inspect` or `crane digest`."
	}
	if errors.Is(err, image.ErrNotImage) {
		p.Advice = "It may be a build cache, an attestation or another artifact: name the digest of the image itself."
	}
	return p
}

func checkPlatforms(request Request, base *image.Image) error {
	for _, wanted := range request.Platforms {
		if _, ok := base.Configs[wanted]; ok {
			continue
		}
		var has []string
		for name := range base.Configs {
			has = append(has, name)
		}
		slices.Sort(has)
		return &problem.Problem{Title: request.words().parent + " lacks the platform", Path: []any{"platforms"}, Object: fmt.Sprintf("%s is for %s, not %s", request.Base, strings.Join(has, ", "), wanted),
			Advice: "Take an image that has it, or remove it from platforms."}
	}
	return nil
}

// baseLayers are the layers that every image of the request takes over from its base.
func baseLayers(request Request, base *image.Image) []string {
	var layers []string
	for _, platform := range request.Platforms {
		for _, layer := range base.Layers[platform] {
			if !slices.Contains(layers, layer) {
				layers = append(layers, layer)
			}
		}
	}
	return layers
}

// Reference is what a sandbox is launched from.
func (p *Published) Reference(repository reference.Repository) reference.Reference {
	return repository.WithDigest(p.Digest)
}

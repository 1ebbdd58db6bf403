package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// dockerfile is what a user would write instead; the base has Debian's own copies of some of the packages.
const dockerfile = `FROM %s
USER 0:0
WORKDIR /
RUN --mount=type=bind,source=requirements.txt,target=/run/requirements.txt --mount=type=secret,id=ca \
    export SOURCE_DATE_EPOCH=315532800; cert=; test ! -s /run/secrets/ca || cert=--cert=/run/secrets/ca; \
    python3 -m pip install --require-hashes --no-deps --ignore-installed --no-build-isolation --root-user-action=ignore --no-input --no-cache-dir \
      --disable-pip-version-check --progress-bar=off --break-system-packages $cert -r /run/requirements.txt && python3 -m pip check
USER 1000:100
WORKDIR /home/datalayer/content
`

// builds measures our engine, from the probe to the tag, against buildctl on the equivalent Dockerfile: same daemon,
// registry and attestations, with another label each time so that both push.
func (b *bench) builds(ctx context.Context) (err error) {
	daemon, err := b.startDaemon(ctx, "buildkit")
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, daemon.stop()) }()
	text, err := os.ReadFile(filepath.Join(b.project, "internal", "bench", "requirements.lock"))
	if err != nil {
		return err
	}
	locked, err := lock.Parse(string(text))
	if err != nil {
		return err
	}
	ours, err := b.ours(daemon.Daemon, locked, "bench/ours")
	if err != nil {
		return err
	}
	theirs, err := b.byBuildctl(daemon, "bench/theirs", map[string][]byte{"Dockerfile": fmt.Appendf(nil, dockerfile, b.env.BaseReference), "requirements.txt": text})
	if err != nil {
		return err
	}
	prune := func() error { return daemon.prune(ctx) }
	both := []func() error{func() error { return ours(ctx) }, func() error { return theirs(ctx) }}
	taken, err := inTurn(rounds, prune, both...)
	if err != nil {
		return err
	}
	b.keep("environment_vs_buildctl_cold", taken[0], taken[1])
	if err := firstOf(ours(ctx), theirs(ctx)); err != nil {
		return err
	}
	if taken, err = inTurn(rounds, nothing, both...); err != nil {
		return err
	}
	b.keep("environment_vs_buildctl_warm", taken[0], taken[1])
	b.results["environment_over_buildctl_warm_seconds"] = rounded(taken[0] - taken[1])
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	b.results["build_rss_mb"] = rounded(float64(usage.Maxrss) * 1024 / 1e6)
	return nil
}

// ours gives a build by our engine alone, with another label at each call; a nil lock installs nothing.
func (b *bench) ours(daemon *buildkit.Daemon, locked *lock.Lock, path string) (func(context.Context) error, error) {
	return b.byEngine(daemon, b.env.BaseReference, path, buildkit.Request{Lock: locked})
}

// byEngine completes the request with what all builds have, and gives a build of it with another label at each call.
func (b *bench) byEngine(daemon *buildkit.Daemon, from, path string, request buildkit.Request) (func(context.Context) error, error) {
	var err error
	if request.Base, err = reference.ParsePinned(from); err != nil {
		return nil, err
	}
	generator, err := reference.ParsePinned(b.env.GeneratorReference)
	if err != nil {
		return nil, err
	}
	request.Platforms, request.Repository = []string{environment.DefaultPlatform}, reference.Repository{Host: b.env.RegistryHost, Path: path}
	request.Credentials = credential.NewResolver(nil)
	request.Attestations = buildkit.Attestations{SBOM: true, SBOMGenerator: generator, Provenance: "max"}
	if b.env.CABundle != "" {
		if request.Network.CABundle, err = os.ReadFile(b.env.CABundle); err != nil {
			return nil, err
		}
	}
	publisher := &buildkit.Publisher{
		Registry: image.New(image.Options{}), Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		Connect: func(context.Context) (*buildkit.Daemon, error) { return daemon, nil },
	}
	run := 0
	return func(ctx context.Context) error {
		run++
		request.Labels = map[string]string{"bench": fmt.Sprint(run)}
		_, err := publisher.Publish(ctx, request, fmt.Sprintf("v1-%08x", run), func(buildkit.Published) {})
		return err
	}, nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
)

// baseDockerfile is what a user would write for the same base: the same packages, user, kernel stack, doctor and config.
const baseDockerfile = `FROM %s
USER 0:0
WORKDIR /
RUN --mount=type=secret,id=ca set -eu; export DEBIAN_FRONTEND=noninteractive; ca=; test ! -s /run/secrets/ca || ca="-o Acquire::https::CaInfo=/run/secrets/ca"; \
    apt-get $ca update && apt-get $ca -y --no-install-recommends install ca-certificates tini && apt-get clean && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/ldconfig/aux-cache /var/log/apt/* /var/log/dpkg.log /var/log/alternatives.log
RUN useradd --no-log-init --uid 1000 --gid 100 --home-dir /home/datalayer --create-home --shell /bin/bash datalayer && \
    install -d -o 1000 -g 100 -m 0755 /home/datalayer/content && install -d -m 0755 /opt/datalayer /opt/datalayer/bin && \
    ln -snf /usr/share/zoneinfo/Etc/UTC /etc/localtime && echo Etc/UTC >/etc/timezone
RUN --mount=type=bind,source=kernel.lock,target=/run/kernel.lock --mount=type=secret,id=ca \
    export SOURCE_DATE_EPOCH=315532800; cert=; test ! -s /run/secrets/ca || cert=--cert=/run/secrets/ca; \
    python3 -m pip install --require-hashes --no-deps --no-build-isolation --root-user-action=ignore --no-input --no-cache-dir \
      --disable-pip-version-check --progress-bar=off $cert -r /run/kernel.lock && python3 -m pip check
COPY --chmod=0755 datalayer-sandbox /opt/datalayer/bin/datalayer-sandbox
ENV HOME=/home/datalayer LANG=C.UTF-8 LC_ALL=C.UTF-8 TZ=UTC
USER 1000:100
WORKDIR /home/datalayer/content
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["sleep", "infinity"]
`

// bases measures our engine for a base on Docker Official's layout, from the first request to the tag, against buildctl
// on the equivalent Dockerfile: same daemon, registry and attestations, and nothing in the daemon's cache.
func (b *bench) bases(ctx context.Context) (err error) {
	paths, err := engine.Tools(ctx, io.Discard, "buildkitd", "buildctl", "runc")
	if err != nil {
		return err
	}
	state := filepath.Join(b.dir, "buildkit-base")
	if err := os.Mkdir(state, 0o700); err != nil {
		return err
	}
	started, err := engine.StartBuildkit(ctx, paths, state)
	if err != nil {
		return err
	}
	defer started.Stop()
	daemon, err := buildkit.Connect(ctx, started.Address, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, daemon.Close()) }()
	ours, err := b.ourBase(daemon)
	if err != nil {
		return err
	}
	theirs, err := b.theirBase(paths["buildctl"], started.Address)
	if err != nil {
		return err
	}
	prune := func() error {
		return command(ctx, b.dir, nil, paths["buildctl"], "--addr", started.Address, "prune", "--all")
	}
	// The first of each fetches what whatever stands before the archives keeps.
	if err := firstOf(ours(ctx), prune(), theirs(ctx)); err != nil {
		return err
	}
	taken, err := inTurn(rounds, prune, func() error { return ours(ctx) }, func() error { return theirs(ctx) })
	if err != nil {
		return err
	}
	b.keep("base_vs_buildctl", taken[0], taken[1])
	return nil
}

func (b *bench) ourBase(daemon *buildkit.Daemon) (func(context.Context) error, error) {
	locked, err := lock.Parse(base.KernelLock)
	if err != nil {
		return nil, err
	}
	return b.byEngine(daemon, b.env.OfficialPythonReference, "bench/our-base", buildkit.Request{
		BaseImage: &base.Spec{Python: base.PythonImage, Doctor: doctor.Program()}, Lock: locked,
	})
}

func (b *bench) theirBase(buildctl, address string) (func(context.Context) error, error) {
	folder := filepath.Join(b.dir, "base-context")
	ca := b.env.CABundle
	if ca == "" {
		ca = os.DevNull
	}
	err := firstOf(os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, "kernel.lock"), []byte(base.KernelLock), 0o644),
		os.WriteFile(filepath.Join(folder, "datalayer-sandbox"), doctor.Program(), 0o755),
		os.WriteFile(filepath.Join(folder, "Dockerfile"), fmt.Appendf(nil, baseDockerfile, b.env.OfficialPythonReference), 0o644))
	if err != nil {
		return nil, err
	}
	run := 0
	return func(ctx context.Context) error {
		run++
		return command(ctx, folder, nil, buildctl, "--addr", address, "build", "--progress=quiet", "--frontend=dockerfile.v0", "--local=context=.", "--local=dockerfile=.",
			"--opt=label:bench="+fmt.Sprint(run), "--opt=build-arg:SOURCE_DATE_EPOCH=315532800", "--secret=id=ca,src="+ca,
			"--opt=attest:provenance=mode=max", "--opt=attest:sbom=generator="+b.env.GeneratorReference,
			fmt.Sprintf("--output=type=image,name=%s/bench/their-base:v%d,push=true,oci-mediatypes=true,rewrite-timestamp=true", b.env.RegistryHost, run))
	}, nil
}

package main

import (
	"context"
	"fmt"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
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
	daemon, err := b.startDaemon(ctx, "buildkit-base")
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, daemon.stop()) }()
	locked, err := lock.Parse(base.KernelLock)
	if err != nil {
		return err
	}
	ours, err := b.byEngine(daemon.Daemon, b.env.OfficialPythonReference, "bench/our-base", buildkit.Request{
		BaseImage: &base.Spec{Python: base.PythonImage, Doctor: doctor.Program()}, Lock: locked,
	})
	if err != nil {
		return err
	}
	theirs, err := b.byBuildctl(daemon, "bench/their-base", map[string][]byte{
		"Dockerfile":  fmt.Appendf(nil, baseDockerfile, b.env.OfficialPythonReference),
		"kernel.lock": []byte(base.KernelLock), "datalayer-sandbox": doctor.Program(),
	})
	if err != nil {
		return err
	}
	prune := func() error { return daemon.prune(ctx) }
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

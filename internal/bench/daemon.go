package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

// ownDaemon is a buildkitd with nothing in its cache that one comparison has for itself.
type ownDaemon struct {
	*buildkit.Daemon
	started *engine.Buildkit
	// buildctl is BuildKit's own client.
	buildctl, address string
	dir               string
}

// startDaemon starts one whose files are in a folder of this name.
func (b *bench) startDaemon(ctx context.Context, name string) (*ownDaemon, error) {
	paths, err := engine.Tools(ctx, io.Discard, "buildkitd", "buildctl", "runc")
	if err != nil {
		return nil, err
	}
	state := filepath.Join(b.dir, name)
	if err := os.Mkdir(state, 0o700); err != nil {
		return nil, err
	}
	started, err := engine.StartBuildkit(ctx, paths, state)
	if err != nil {
		return nil, err
	}
	connected, err := buildkit.Connect(ctx, started.Address, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		started.Stop()
		return nil, err
	}
	return &ownDaemon{connected, started, paths["buildctl"], started.Address, b.dir}, nil
}

func (d *ownDaemon) stop() error {
	err := d.Close()
	d.started.Stop()
	return err
}

// prune empties the daemon's cache.
func (d *ownDaemon) prune(ctx context.Context) error {
	return command(ctx, d.dir, nil, d.buildctl, "--addr", d.address, "prune", "--all")
}

// byBuildctl gives a build of these files, of which one is a Dockerfile, with the same attestations and another label at
// each call.
func (b *bench) byBuildctl(d *ownDaemon, path string, files map[string][]byte) (func(context.Context) error, error) {
	folder, err := os.MkdirTemp(b.dir, "context-")
	if err != nil {
		return nil, err
	}
	for name, content := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), content, 0o755))
	}
	ca := b.env.CABundle
	if ca == "" {
		ca = os.DevNull
	}
	run := 0
	return func(ctx context.Context) error {
		run++
		return command(ctx, folder, nil, d.buildctl, "--addr", d.address, "build", "--progress=quiet", "--frontend=dockerfile.v0", "--local=context=.", "--local=dockerfile=.",
			"--opt=label:bench="+fmt.Sprint(run), "--opt=build-arg:SOURCE_DATE_EPOCH=315532800", "--secret=id=ca,src="+ca,
			"--opt=attest:provenance=mode=max", "--opt=attest:sbom=generator="+b.env.GeneratorReference,
			fmt.Sprintf("--output=type=image,name=%s/%s:v%d,push=true,oci-mediatypes=true,rewrite-timestamp=true", b.env.RegistryHost, path, run))
	}, err
}

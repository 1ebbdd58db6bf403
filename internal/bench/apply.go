package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
)

const single = `
resource "datalayer_environment" "e" {
  name         = "bench"
  base         = %q
  repository   = "%s/bench/apply"
  labels       = { bench = "apply-%d" }
  attestations = { sbom_generator = %q }
}
`

// apply measures what an apply of one environment adds to the build by our engine and to the CLI's own work, which is the
// apply of one terraform_data. Nothing is installed, all steps are in the daemon's cache, and another label makes each a
// new image.
func (b *bench) apply(ctx context.Context) (err error) {
	daemon, err := buildkit.Connect(ctx, b.env.BuildkitAddress, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, daemon.Close()) }()
	build, err := b.ours(daemon, nil, "bench/engine")
	if err != nil {
		return err
	}
	ours, err := b.cli(ctx, "apply-ours", "")
	if err != nil {
		return err
	}
	theirs, err := b.cli(ctx, "apply-theirs", fmt.Sprintf(builtin, 1))
	if err != nil {
		return err
	}
	// Each apply begins without state; both repositories have the base's layers before the first that is measured.
	run := 0
	before := func() error {
		run++
		return firstOf(ours.forget(), theirs.forget(), ours.write("main.tf", fmt.Sprintf(single, b.env.BaseReference, b.env.RegistryHost, run, b.env.GeneratorReference)))
	}
	sides := []func() error{
		func() error { return ours.run(ctx, "apply", "-auto-approve") },
		func() error { return build(ctx) },
		func() error { return theirs.run(ctx, "apply", "-auto-approve") },
	}
	if err := firstOf(before(), theirs.run(ctx, "init"), sides[0](), sides[1](), sides[2]()); err != nil {
		return err
	}
	taken, err := inTurn(rounds, before, sides...)
	if err != nil {
		return err
	}
	b.results["apply_overhead_seconds"] = rounded(taken[0] - taken[1] - taken[2])
	fmt.Printf("apply_overhead: an environment %.3f s, the engine %.3f s, a terraform_data %.3f s\n", taken[0], taken[1], taken[2])
	return nil
}

// forget removes the state.
func (c *cli) forget() error {
	return firstOf(os.RemoveAll(filepath.Join(c.dir, "terraform.tfstate")), os.RemoveAll(filepath.Join(c.dir, "terraform.tfstate.backup")))
}

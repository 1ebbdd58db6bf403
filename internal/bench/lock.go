package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
	"github.com/datalayer/terraform-provider-datalayer/internal/resolve"
)

// locks measures our lock of the quickstart's requirements against `uv pip compile` by hand, on one warm cache of uv. What it
// may cost more is the start of one process, which asks uv for its version; that is measured beside it.
func (b *bench) locks(ctx context.Context) error {
	paths, err := engine.Tools(ctx, io.Discard, "uv")
	if err != nil {
		return err
	}
	uv, home, folder := paths["uv"], filepath.Join(b.dir, "uv-home"), filepath.Join(b.dir, "lock")
	if err := firstOf(os.MkdirAll(filepath.Join(home, ".cache"), 0o755), os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, "requirements.in"), []byte("numpy\npandas\n"), 0o644)); err != nil {
		return err
	}
	request := resolve.Request{Requirements: []string{"numpy", "pandas"}, Python: b.env.BasePython, Platform: "x86_64-manylinux_2_28", OnlyBinary: true}
	if b.env.CABundle != "" {
		if request.Network.CABundle, err = os.ReadFile(b.env.CABundle); err != nil {
			return err
		}
	}
	runner := resolve.Local{Path: uv, Logger: slog.New(slog.DiscardHandler), Getenv: func(name string) string {
		if name == "HOME" {
			return home
		}
		return map[string]string{"PATH": os.Getenv("PATH")}[name]
	}}
	ours := func() error {
		_, err := runner.Resolve(ctx, request)
		return err
	}
	environment := []string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, ".cache")}
	if b.env.CABundle != "" {
		environment = append(environment, "SSL_CERT_FILE="+b.env.CABundle)
	}
	// The search for a Python of the target is left out, as ours leaves it out: it alone can take a second. Written anew each time: uv would keep what is there.
	byHand := func() error {
		return firstOf(command(ctx, folder, environment, uv, "pip", "compile", "requirements.in", "--output-file", "requirements.lock", "--quiet", "--generate-hashes", "--only-binary", ":all:", "--no-python-downloads", "--python", "cpython",
			"--python-version", request.Python, "--python-platform", request.Platform), os.Remove(filepath.Join(folder, "requirements.lock")))
	}
	if err := firstOf(ours(), byHand()); err != nil {
		return err
	}
	taken, err := inTurn(startRounds, nothing, ours, byHand, func() error { return command(ctx, folder, environment, uv, "--version") })
	if err != nil {
		return err
	}
	first, second, start := taken[0], taken[1], taken[2]
	b.results["lock_seconds"], b.results["lock_overhead_seconds"], b.results["lock_process_start_seconds"] = rounded(first), rounded(first-second), rounded(start)
	return nil
}

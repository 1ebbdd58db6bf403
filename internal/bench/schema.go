package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
)

// schema measures from the start of the process to its schema, as a CLI asks for it, against a provider with one empty resource.
func (b *bench) schema(ctx context.Context) error {
	ours := filepath.Join(b.project, "bin", "terraform-provider-datalayer")
	minimal, err := b.minimal(ctx)
	if err != nil {
		return err
	}
	taken, err := inTurn(startRounds, nothing, func() error { return askSchema(ctx, ours) }, func() error { return askSchema(ctx, minimal) })
	if err != nil {
		return err
	}
	b.keep("schema_vs_minimal_provider", taken[0], taken[1])
	info, err := os.Stat(ours)
	if err != nil {
		return err
	}
	b.results["binary_mb"] = rounded(float64(info.Size()) / 1e6)
	return nil
}

// minimal builds the provider with one empty resource, as ours is built.
func (b *bench) minimal(ctx context.Context) (string, error) {
	program := filepath.Join(b.dir, "minimal", "terraform-provider-minimal")
	return program, command(ctx, b.project, []string{"CGO_ENABLED=0"}, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", program, "./internal/bench/minimal")
}

// askSchema starts a provider by go-plugin's handshake and asks for its schema; the answer's bytes are not looked at.
func askSchema(ctx context.Context, program string) (err error) {
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), "TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2", "PLUGIN_PROTOCOL_VERSIONS=6")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		// It serves until it is told to end; how it ends says nothing.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return fmt.Errorf("%s did not shake hands: %w", program, err)
	}
	fields := strings.Split(strings.TrimSpace(line), "|")
	if len(fields) < 5 || fields[4] != "grpc" {
		return fmt.Errorf("%s shook hands with %q", program, line)
	}
	connection, err := grpc.NewClient(fields[2]+":"+fields[3], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, connection.Close()) }()
	return connection.Invoke(ctx, "/tfplugin6.Provider/GetProviderSchema", &emptypb.Empty{}, &emptypb.Empty{})
}

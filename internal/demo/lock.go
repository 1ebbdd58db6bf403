package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

const requirements = "numpy\npandas\n"

// makeLock locks the requirements with uv against the package index. A lock from an earlier run is kept, as a user would
// keep theirs.
func makeLock(ctx context.Context, uv, path string) error {
	if _, err := os.Stat(path); err == nil {
		fmt.Println("   kept from the last run")
		return nil
	}
	// uv reads an output file that is there: one of a killed run may be half written.
	temporary := path + ".new"
	defer os.Remove(temporary)
	cmd := exec.CommandContext(ctx, uv, "pip", "compile", "-", "--generate-hashes", "--no-header", "--no-annotate", "--quiet",
		"--python-version", engine.BasePython, "--python-platform", "x86_64-manylinux_2_28", "--output-file", temporary)
	cmd.Stdin = strings.NewReader(requirements)
	cmd.Stderr = os.Stderr
	cmd.Env = os.Environ()
	if bundle := engine.CABundle(); bundle != "" {
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+bundle)
	}
	if err := cmd.Run(); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("uv pip compile: %w", err))
	}
	data, err := os.ReadFile(temporary)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if name, _, ok := strings.Cut(line, " "); ok && strings.Contains(name, "==") {
			fmt.Println("   " + name)
		}
	}
	return os.Rename(temporary, path)
}

// Command bench measures the provider against what its users would do without it: see `make bench`. Both sides of a ratio
// run in turn, pair by pair, in one run on one machine; a time alone says little and judges nothing.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// pairs is how often each side of a ratio is measured; the median counts.
const pairs = 5

// bench is one run: the engine that with-engine describes, a folder of its own, and what was measured.
type bench struct {
	env     enginetest.Env
	dir     string
	project string
	results map[string]any
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	b := &bench{results: map[string]any{"started_at": time.Now().UTC().Format(time.RFC3339)}}
	description, err := os.ReadFile(os.Getenv(enginetest.EnvironmentVariable))
	if err != nil {
		return fmt.Errorf("run it by make bench: %w", err)
	}
	if err := json.Unmarshal(description, &b.env); err != nil {
		return err
	}
	if b.project, err = os.Getwd(); err != nil {
		return err
	}
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("git rev-parse: %w", err)
	}
	b.results["commit"] = strings.TrimSpace(string(commit))
	if b.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	defer func() { err = firstOf(err, os.RemoveAll(b.dir)) }()
	for _, measure := range []func(context.Context) error{b.schema, b.plans, b.locks, b.builds} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return b.write(os.Stdout)
}

func (b *bench) write(out io.Writer) error {
	names := make([]string, 0, len(b.results))
	for name := range b.results {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if _, err := fmt.Fprintf(out, "%-40s %v\n", name, b.results[name]); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(b.results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll("bench", 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("bench", "results.json"), append(text, '\n'), 0o644)
}

// ratio measures two sides in turn and gives the medians; before runs ahead of each, unmeasured.
func ratio(before func() error, one, other func() error) (first, second float64, err error) {
	var firsts, seconds []float64
	for range pairs {
		for _, side := range []struct {
			do   func() error
			into *[]float64
		}{{one, &firsts}, {other, &seconds}} {
			if err := before(); err != nil {
				return 0, 0, err
			}
			began := time.Now()
			if err := side.do(); err != nil {
				return 0, 0, err
			}
			*side.into = append(*side.into, time.Since(began).Seconds())
		}
	}
	return median(firsts), median(seconds), nil
}

func (b *bench) keep(name string, first, second float64) {
	b.results[name+"_ratio"] = rounded(first / second)
	fmt.Printf("%s: %.2f s to %.2f s\n", name, first, second)
}

func nothing() error { return nil }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func rounded(value float64) float64 { return float64(int(value*1000+0.5)) / 1000 }

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// command runs a program and shows its output where it fails.
func command(ctx context.Context, dir string, env []string, name string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(arguments, " "), err, output)
	}
	return nil
}

// Command bench measures the provider against what its users would do without it: see `make bench`. Both sides of a ratio
// run in turn, pair by pair, in one run on one machine; a time alone says little and judges nothing. Arguments name the
// parts to measure (schema, plan, apply, build); without any it measures all.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
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

const (
	// rounds is how often each side of a comparison is measured; the median counts.
	rounds = 5
	// startRounds is the same for what takes so little time that chance has a say in it: a start of a provider, a lock.
	startRounds = 25
)

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
	for _, part := range []struct {
		name    string
		measure func(context.Context) error
	}{{"schema", b.schema}, {"plan", b.plans}, {"apply", b.apply}, {"build", b.builds}, {"base", b.bases}, {"lock", b.locks}} {
		if wanted := os.Args[1:]; len(wanted) > 0 && !slices.Contains(wanted, part.name) {
			continue
		}
		if err := part.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
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

// inTurn measures all sides one after another, round by round, and gives the median seconds of each; before runs ahead of
// each, unmeasured.
func inTurn(rounds int, before func() error, sides ...func() error) ([]float64, error) {
	taken := make([][]float64, len(sides))
	for range rounds {
		for i, side := range sides {
			if err := before(); err != nil {
				return nil, err
			}
			began := time.Now()
			if err := side(); err != nil {
				return nil, err
			}
			taken[i] = append(taken[i], time.Since(began).Seconds())
		}
	}
	medians := make([]float64, len(sides))
	for i, values := range taken {
		slices.Sort(values)
		medians[i] = values[len(values)/2]
	}
	return medians, nil
}

func (b *bench) keep(name string, first, second float64) {
	b.results[name+"_ratio"] = rounded(first / second)
	fmt.Printf("%s: %.3f s to %.3f s\n", name, first, second)
}

func nothing() error { return nil }

func rounded(value float64) float64 { return math.Round(value*1000) / 1000 }

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

// Command with-engine runs a command while a BuildKit daemon, a registry and a base image are there for its tests:
//
//	go run ./internal/enginetest/cmd/with-engine go test ./internal/...
//
// The daemon's state is kept in the cache directory, so that a second run is quick; all else is gone when it ends.
// With BUILDKIT_HOST set it uses that daemon. It needs root otherwise.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: with-engine COMMAND [ARGUMENT]...")
		os.Exit(2)
	}
	err := run(os.Args[1:])
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.Exited():
		os.Exit(exit.ExitCode())
	default:
		fmt.Fprintln(os.Stderr, "with-engine:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	// The process outlives the first signal: it has things to stop.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	started := time.Now()
	running := make(chan error, 1)
	var stop []func()
	defer func() {
		for i := len(stop) - 1; i >= 0; i-- {
			stop[i]()
		}
	}()
	var variables []string
	go func() {
		var err error
		variables, err = start(ctx, &stop)
		running <- err
	}()
	select {
	case err := <-running:
		if err != nil {
			return err
		}
	case received := <-signals:
		cancel()
		return errors.Join(fmt.Errorf("stopped by signal %s", received), <-running)
	}
	fmt.Fprintf(os.Stderr, "with-engine: BuildKit, registry and base image are ready after %.1f s\n", time.Since(started).Seconds())

	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // It runs what it was told to, and ends it by signal.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), variables...)
	process, err := engine.Start(args[0], cmd)
	if err != nil {
		return err
	}
	defer process.SignalGroup(syscall.SIGKILL)
	for {
		select {
		case <-process.Done():
			return process.Wait()
		case received := <-signals:
			process.SignalGroup(received.(syscall.Signal)) //nolint:forcetypeassert // Every signal on this system is one.
		}
	}
}

// start starts the engine and gives the environment variables that describe it. What has to be stopped is added to stop.
func start(ctx context.Context, stop *[]func()) ([]string, error) {
	names := []string{"registry", "docker-registry", "base-root", "plain-root", "official-python"}
	if os.Getenv("BUILDKIT_HOST") == "" {
		names = append(names, "runc", "buildkitd")
	}
	paths, err := engine.Tools(ctx, os.Stderr, names...)
	if err != nil {
		return nil, err
	}
	cache, err := engine.CacheDir()
	if err != nil {
		return nil, err
	}
	buildkit, err := engine.StartBuildkit(ctx, paths, filepath.Join(cache, "buildkit-test"))
	if err != nil {
		return nil, err
	}
	*stop = append(*stop, buildkit.Stop)

	dir, err := os.MkdirTemp("", "with-engine-")
	if err != nil {
		return nil, err
	}
	*stop = append(*stop, func() { _ = os.RemoveAll(dir) })
	registry, err := engine.StartRegistry(ctx, paths["registry"], filepath.Join(dir, "registry"), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	*stop = append(*stop, registry.Stop)
	base, err := engine.PushBase(ctx, http.DefaultClient, registry.Host, paths["base-root"])
	if err != nil {
		return nil, err
	}
	plain, err := engine.PushPlainDebian(ctx, http.DefaultClient, registry.Host, paths["plain-root"])
	if err != nil {
		return nil, err
	}
	python, err := engine.PushOfficialPython(ctx, http.DefaultClient, registry.Host, paths["official-python"])
	if err != nil {
		return nil, err
	}
	generator, err := engine.PushGenerator(ctx, http.DefaultClient, registry.Host)
	if err != nil {
		return nil, err
	}
	env := enginetest.Env{
		BuildkitAddress: buildkit.Address, RegistryHost: registry.Host, RegistryStorage: registry.Storage,
		BaseReference: base, BasePython: engine.BasePython, BaseLayer: paths["base-root"],
		PlainDebianReference: plain, PlainDebianLayer: paths["plain-root"],
		OfficialPythonReference: python, OfficialPythonLayer: paths["official-python"],
		GeneratorReference: generator, RegistryProgram: paths["registry"], DebianRegistryProgram: paths["docker-registry"], CABundle: engine.CABundle(),
	}
	variable, err := env.WriteFile(dir)
	variables := []string{variable, enginetest.RequiredVariable + "=1"}
	if env.CABundle != "" {
		variables = append(variables, "DATALAYER_CA_BUNDLE="+env.CABundle)
	}
	return variables, err
}

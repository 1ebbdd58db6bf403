package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

// state is .demo/, all that the demo keeps between its runs.
type state struct {
	project, dir string
	lock         *os.File
}

// openState takes .demo/ for this process.
func openState() (*state, error) {
	project, err := engine.ProjectRoot()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(project, ".demo")
	lock, err := engine.LockDir(dir)
	if err != nil {
		return nil, err
	}
	return &state{project: project, dir: dir, lock: lock}, nil
}

func (s *state) close() { _ = s.lock.Close() }

func (s *state) path(name string) string { return filepath.Join(s.dir, name) }

// registryHost gives the address that the registry had in the last run, because the state's references hold it; on the
// first run it asks for any free port. A port that somebody else has taken is an error that names the owner.
func (s *state) registryHost() (string, error) {
	data, err := os.ReadFile(s.path("port"))
	if errors.Is(err, os.ErrNotExist) {
		return "127.0.0.1:0", nil
	}
	if err != nil {
		return "", err
	}
	port := strings.TrimSpace(string(data))
	owner, err := portOwner(port)
	if err != nil {
		return "", err
	}
	if owner != "" {
		return "", fmt.Errorf("port %s of the demo's registry is taken by %s: end it, or start afresh after removing %s", port, owner, s.dir)
	}
	return "127.0.0.1:" + port, nil
}

// keepPort writes the registry's port for the next run.
func (s *state) keepPort(host string) error {
	_, port, _ := strings.Cut(host, ":")
	return os.WriteFile(s.path("port"), []byte(port+"\n"), 0o644)
}

// quickstartVariables are the values of the example's variables.
func quickstartVariables(host, plain, generator string) []string {
	return []string{
		"-var=from=" + plain,
		"-var=python=apt",
		"-var=repository=" + host + "/" + repository,
		"-var=sbom_generator=" + generator,
	}
}

// keepVariables writes the variables for destroy.
func (s *state) keepVariables(variables []string) error {
	return os.WriteFile(s.path("variables"), []byte(strings.Join(variables, "\n")), 0o644)
}

// variables reads what keepVariables wrote.
func (s *state) variables() ([]string, error) {
	data, err := os.ReadFile(s.path("variables"))
	if err != nil {
		return nil, err
	}
	return strings.Split(string(data), "\n"), nil
}

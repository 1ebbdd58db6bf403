package enginetest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// EnvironmentVariable names the file that describes the shared engine; with-engine sets it.
const EnvironmentVariable = "DATALAYER_TEST_ENGINE"

// RequiredVariable set to "1" makes Engine fail where it would skip.
const RequiredVariable = "DATALAYER_TEST_ENGINE_REQUIRED"

// Env is the engine that all tests of one run share.
type Env struct {
	// BuildkitAddress is what BUILDKIT_HOST would hold: "unix:///…".
	BuildkitAddress string `json:"buildkit_address"`
	// RegistryHost is "127.0.0.1:port" of a registry without authentication, reached by the daemon and by tests.
	RegistryHost string `json:"registry_host"`
	// RegistryStorage is the directory with that registry's data.
	RegistryStorage string `json:"registry_storage"`
	// BaseReference is the base image in that registry, "host/base@sha256:…".
	BaseReference string `json:"base_reference"`
	// BasePython is the base image's Python, "3.13".
	BasePython string `json:"base_python"`
	// BaseLayer is the file with the base image's only layer, a gzipped tar.
	BaseLayer string `json:"base_layer"`
	// PlainDebianReference is a Debian image without Python, tini and user in that registry, "host/debian@sha256:…".
	PlainDebianReference string `json:"plain_debian_reference"`
	// PlainDebianLayer is the file with that image's only layer, a gzipped tar.
	PlainDebianLayer string `json:"plain_debian_layer"`
	// OfficialPythonReference is an image laid out as Docker Official's python:3.13-slim in that registry, with CPython in
	// /usr/local and no user, "host/python@sha256:…".
	OfficialPythonReference string `json:"official_python_reference"`
	// OfficialPythonLayer is the file with that image's only layer, a gzipped tar.
	OfficialPythonLayer string `json:"official_python_layer"`
	// GeneratorReference is the project's own SBOM generator in that registry, "host/sbom-generator@sha256:…".
	GeneratorReference string `json:"generator_reference"`
	// RegistryProgram is the registry's binary, for registries of a test's own.
	RegistryProgram string `json:"registry_program"`
	// DebianRegistryProgram is the binary of Debian's docker-registry 2.8, for the same.
	DebianRegistryProgram string `json:"debian_registry_program"`
	// CABundle is the file with the certificate authorities that stand before the package index; "" if none do.
	CABundle string `json:"ca_bundle"`
}

// Engine gives the shared engine. Without one the test is skipped, or fails where RequiredVariable is "1".
func Engine(t testing.TB) *Env {
	t.Helper()
	env, err := readEnv()
	if err != nil {
		t.Fatal(err)
	}
	if env == nil {
		const advice = EnvironmentVariable + " is not set, so there is no BuildKit to test with: " +
			"run make test, or go run ./internal/enginetest/cmd/with-engine go test ./internal/…"
		if os.Getenv(RequiredVariable) == "1" {
			t.Fatal(advice)
		}
		t.Skip(advice)
	}
	return env
}

// readEnv gives nil where no engine is described.
func readEnv() (*Env, error) {
	path := os.Getenv(EnvironmentVariable)
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EnvironmentVariable, err)
	}
	var env Env
	if err := json.Unmarshal(data, &env); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", EnvironmentVariable, path, err)
	}
	return &env, nil
}

// WriteFile describes the engine in a file in dir and gives the environment variable that points to it.
func (e *Env) WriteFile(dir string) (variable string, err error) {
	data, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "engine.json")
	return EnvironmentVariable + "=" + path, os.WriteFile(path, data, 0o600)
}

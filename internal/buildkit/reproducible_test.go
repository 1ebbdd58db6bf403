package buildkit_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// ownDaemon gives the bench a daemon with nothing in its cache, and says where it listens.
func (b *bench) ownDaemon(t *testing.T, state string) (address string) {
	t.Helper()
	enginetest.NeedRoot(t)
	t.Setenv(buildkit.AddressVariable, "") // With it no daemon would be started.
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	binaries, err := engine.Tools(t.Context(), io.Discard, "buildkitd", "runc")
	if err != nil {
		t.Fatal(err)
	}
	started, err := engine.StartBuildkit(t.Context(), binaries, state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Stop)
	daemon, err := buildkit.Connect(t.Context(), started.Address, 1, b.publisher.Logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Close() })
	b.daemon = daemon
	b.publisher.Connect = func(context.Context) (*buildkit.Daemon, error) { return daemon, nil }
	return started.Address
}

func reproducible(r *buildkit.Request) {
	r.Spec = environment.Spec{
		Env:   map[string]string{"MODE": "x"},
		Files: []environment.File{{Path: "/srv/app/run", Content: []byte("#!/bin/sh\n"), Mode: "0755"}},
	}
}

// TestEqualContentGivesEqualBytes builds on two daemons that share nothing, the second in another folder, time zone and umask.
func TestEqualContentGivesEqualBytes(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "dateutil.lock")
	reproducible(&request)
	request.Attestations.Provenance = "max"
	folder := t.TempDir()
	b.ownDaemon(t, filepath.Join(folder, "one"))
	first, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TZ", "Pacific/Auckland")
	old := syscall.Umask(0o077)
	t.Cleanup(func() { syscall.Umask(old) })
	if err := os.MkdirAll(filepath.Join(folder, "a longer", "path"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.ownDaemon(t, filepath.Join(folder, "a longer", "path", "two"))
	second, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	one, two := first.Image.Manifests[environment.DefaultPlatform], second.Image.Manifests[environment.DefaultPlatform]
	if one == "" || one != two {
		t.Errorf("the platform manifests are %s and %s", one, two)
	}
	if first.Digest == second.Digest {
		t.Error("two indexes with provenance have one digest: their times are missing")
	}

	base, made := b.layers(t, b.RegistryHost, "base", request.Base.Digest), b.layers(t, b.registry.Host, target, one)
	if len(made) <= len(base) || !slices.Equal(made[:len(base)], base) {
		t.Errorf("the layers are %v, want those of the base first: %v", made, base)
	}
}

func (b *bench) layers(t *testing.T, host, repository, digest string) []string {
	t.Helper()
	raw := b.manifest(t, host, repository, digest)
	var manifest ocispec.Manifest
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, layer := range manifest.Layers {
		digests = append(digests, layer.Digest.String())
	}
	return digests
}

// TestByteCodeInTheImageIsFresh imports as root, who may write byte-code: nothing may change, or every start of every
// sandbox would compile in vain what it cannot keep.
func TestByteCodeInTheImageIsFresh(t *testing.T) {
	b := newBench(t)
	published, err := b.publish(t.Context(), b.request(t, "dateutil.lock"))
	if err != nil {
		t.Fatal(err)
	}
	output, err := b.daemon.Run(t.Context(), buildkit.Process{
		Image: published.Reference(b.request(t, "").Repository), Platform: environment.DefaultPlatform, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Cwd: "/", User: "0:0",
		Args: []string{"/bin/sh", "-c", `
			touch /marker && python3 -c "import dateutil.parser, dateutil.rrule, dateutil.tz, packaging.version, packaging.requirements" &&
			find / -xdev -newer /marker -type f ! -path "/proc/*" ! -path "/sys/*" && find /usr/local/lib -name "*.pyc" | wc -l`},
	}, b.request(t, "").Credentials)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(output.Stdout)
	if output.ExitCode != 0 || len(lines) != 1 || lines[0] == "0" {
		t.Errorf("files that the import wrote, and then the number of byte-code files:\n%s%s", output.Stdout, output.Stderr)
	}
}

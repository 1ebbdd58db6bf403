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

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
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
// sandbox would compile in vain what it cannot keep. One package comes from the lock, one from Debian, one module from a
// command that imports it too.
func TestByteCodeInTheImageIsFresh(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "dateutil.lock")
	request.Spec.AptPackages = []string{"python3-webencodings"}
	request.Spec.PostInstall = []environment.Command{{Command: "echo 'answer = 42' > own.py && python3 -c 'import own' && python3 -m compileall -q . && ls __pycache__"}}
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	said := b.in(t, request, published, `
		cd /home/datalayer/content && touch /marker && python3 -c "import own, webencodings, dateutil.parser, dateutil.rrule, dateutil.tz, packaging.version, packaging.requirements" &&
		find / -xdev -newer /marker -type f ! -path "/proc/*" ! -path "/sys/*" && find /usr/local/lib /usr/lib/python3/dist-packages/webencodings /home/datalayer -name "*.pyc" | cut -d/ -f1-4 | sort -u`)
	if got := strings.Fields(said); !slices.Equal(got, []string{"/home/datalayer/content", "/usr/lib/python3", "/usr/local/lib"}) {
		t.Errorf("files that the import wrote, and then where byte-code is:\n%s", said)
	}
}

// TestStepsCompileNothingOfTheirOwn has a base without byte-code, as the official Python images are: what pip and commands
// import must not come into the image, where its bytes may differ from build to build.
func TestStepsCompileNothingOfTheirOwn(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "six.lock")
	request.Base = b.without(t, `find / -xdev -name __pycache__ -prune -exec rm -rf {} +`)
	request.Spec.PostInstall = []environment.Command{{Command: "python3 -c 'import email.parser, six'"}}
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if said := b.in(t, request, published, `find / -xdev -name "*.pyc"`); !strings.HasPrefix(said, "/usr/local/lib/python3") || strings.Contains(said, "\n") {
		t.Errorf("byte-code in the image, where only that of six is wanted:\n%s", said)
	}
}

// without is the base after a command that removes something.
func (b *bench) without(t *testing.T, command string) reference.Reference {
	t.Helper()
	daemon, err := client.New(t.Context(), b.BuildkitAddress)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Close() }()
	definition, err := llb.Image(b.BaseReference, llb.LinuxAmd64).Run(llb.Args([]string{"/bin/sh", "-c", command}), llb.AddEnv("PATH", "/usr/bin:/bin")).Root().Marshal(t.Context(), llb.LinuxAmd64)
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(ocispec.Image{Platform: ocispec.Platform{OS: "linux", Architecture: "amd64"}, Config: ocispec.ImageConfig{Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}}})
	if err != nil {
		t.Fatal(err)
	}
	made := reference.Repository{Host: b.registry.Host, Path: "base"}
	solved, err := daemon.Solve(t.Context(), definition, client.SolveOpt{Exports: []client.ExportEntry{{Type: client.ExporterImage, Attrs: map[string]string{
		"name": made.String(), "push": "true", "push-by-digest": "true", "name-canonical": "true", "oci-mediatypes": "true", exptypes.ExporterImageConfigKey: string(config),
	}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return made.WithDigest(solved.ExporterResponse[exptypes.ExporterImageDigestKey])
}

package buildkit_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// layout is a plain image that a base is made on.
type layout struct {
	name, python string
	from         func(*bench) string
	sitePackages []string
	// compiled is where all that is imported has byte-code: Docker Official takes it out of CPython's own library.
	compiled string
}

var layouts = []layout{
	{name: "Debian", python: base.PythonApt, from: func(b *bench) string { return b.PlainDebianReference },
		sitePackages: []string{"/usr/local/lib/python3.13/dist-packages", "/usr/lib/python3/dist-packages"}, compiled: "/"},
	{name: "Official", python: base.PythonImage, from: func(b *bench) string { return b.OfficialPythonReference },
		sitePackages: []string{"/usr/local/lib/python3.13/site-packages"}, compiled: "/usr/local/lib/python3.13/site-packages"},
}

// baseRequest asks for a base on the image, with the shipped kernel stack.
func (b *bench) baseRequest(t *testing.T, from, python string) buildkit.Request {
	t.Helper()
	request := b.request(t, base.KernelLock)
	var err error
	if request.Base, err = reference.ParsePinned(from); err != nil {
		t.Fatal(err)
	}
	request.BaseImage = &base.Spec{Python: python, Doctor: doctor.Program()}
	request.Labels = map[string]string{environment.LabelContract: environment.Contract, base.LabelCacheKey: "sha256:test"}
	return request
}

// sandbox runs a command in a container of the image as a launcher does: by its config, behind its entrypoint.
func (b *bench) sandbox(t *testing.T, published *buildkit.Published, repository reference.Repository, args ...string) *buildkit.Output {
	t.Helper()
	config := published.Image.Configs[environment.DefaultPlatform]
	output, err := b.daemon.Run(t.Context(), buildkit.Process{
		Image: published.Reference(repository), Platform: environment.DefaultPlatform, Args: slices.Concat(config.Entrypoint, args),
		Env: config.Env, Cwd: config.WorkingDir, User: config.User,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

func TestBaseImage_PassesTheDoctor(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			b := newBench(t)
			request := b.baseRequest(t, l.from(b), l.python)
			published, err := b.publish(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			b.passesTheDoctor(t, published, request.Repository)
			b.keepsTheContract(t, published, request.Repository, l)
			b.leavesNothing(t, published, request.Repository, l.compiled)
		})
	}
}

func (b *bench) passesTheDoctor(t *testing.T, published *buildkit.Published, repository reference.Repository) {
	t.Helper()
	output := b.sandbox(t, published, repository, doctor.Command()...)
	var report struct {
		OK   bool
		Rows []struct {
			ID, Message string
			OK          bool
		}
	}
	if err := json.Unmarshal([]byte(output.Stdout), &report); err != nil {
		t.Fatalf("status %d: %v\n%s%s", output.ExitCode, err, output.Stdout, output.Stderr)
	}
	for _, row := range report.Rows {
		if !row.OK {
			t.Errorf("row %s fails: %s", row.ID, row.Message)
		}
	}
	if output.ExitCode != 0 || !report.OK || len(report.Rows) != 15 {
		t.Errorf("the doctor ended with status %d: %s", output.ExitCode, output.Stdout)
	}
}

// keepsTheContract holds config, labels and result against each other and against a new interpreter.
func (b *bench) keepsTheContract(t *testing.T, published *buildkit.Published, repository reference.Repository, l layout) {
	t.Helper()
	config := published.Image.Configs[environment.DefaultPlatform]
	for _, point := range environment.ContractPoints(map[string]environment.ImageConfig{environment.DefaultPlatform: {
		User: config.User, WorkingDir: config.WorkingDir, Env: config.Env, Entrypoint: config.Entrypoint, Volumes: config.Volumes, OnBuild: config.OnBuild, StopSignal: config.StopSignal,
	}}) {
		if point.Met == nil || !*point.Met {
			t.Errorf("point %s of the contract is not met: %s", point.ID, point.Actual)
		}
	}
	for _, name := range environment.KernelPackages {
		if published.Packages[name] == "" {
			t.Errorf("%s is not among the packages %v", name, published.Packages)
		}
	}
	want := map[string]string{
		environment.LabelContract: environment.Contract, environment.LabelPython: "3.13", base.LabelCacheKey: "sha256:test",
		base.LabelPackages: base.PackagesLabel(published.Packages), base.LabelSitePackages: strings.Join(l.sitePackages, ":"),
	}
	// The C library's own word, beside that of the Python that was asked.
	want[base.LabelLibc] = strings.TrimSpace(b.sandbox(t, published, repository, "getconf", "GNU_LIBC_VERSION").Stdout)
	if !maps.Equal(config.Labels, want) {
		t.Errorf("the labels are %q, want %q", config.Labels, want)
	}
	if published.Python != "3.13" || !slices.Equal(config.Cmd, []string{"sleep", "infinity"}) {
		t.Errorf("Python is %s, and the command %q", published.Python, config.Cmd)
	}
}

// leavesNothing looks for what a build leaves where nobody cleans up, and for what its user may change.
func (b *bench) leavesNothing(t *testing.T, published *buildkit.Published, repository reference.Repository, compiled string) {
	t.Helper()
	output := b.sandbox(t, published, repository, "sh", "-c", `
		id -un; id -u; id -g; id -G; pwd; echo "$HOME $LANG $LC_ALL $TZ"; date +%Z
		stat -c '%u:%g %a %n' /home/datalayer /home/datalayer/content /opt/datalayer /opt/datalayer/bin /opt/datalayer/bin/*`)
	want := "datalayer\n1000\n100\n100\n/home/datalayer/content\n/home/datalayer C.UTF-8 C.UTF-8 UTC\nUTC\n" +
		"1000:100 755 /home/datalayer\n1000:100 755 /home/datalayer/content\n0:0 755 /opt/datalayer\n0:0 755 /opt/datalayer/bin\n0:0 755 /opt/datalayer/bin/datalayer-sandbox\n"
	if output.ExitCode != 0 || output.Stdout != want {
		t.Errorf("status %d:\n%s%s\nwant\n%s", output.ExitCode, output.Stdout, output.Stderr, want)
	}
	output, err := b.daemon.Run(t.Context(), buildkit.Process{
		Image: published.Reference(repository), Platform: environment.DefaultPlatform, Cwd: "/", User: "0:0",
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Args: []string{"sh", "-c", `
			for folder in $(python3 -c 'import site; print(*site.getsitepackages())'); do
				test ! -d "$folder" || find "$folder" ! \( -uid 0 -gid 0 \) -print -o ! -type l -perm /022 -print
			done
			find /var/lib/apt/lists /var/cache/apt /var/cache/ldconfig /var/log/apt /var/log/dpkg.log /root /tmp /var/tmp -type f ! -name .bashrc ! -name .profile ! -name lock 2>/dev/null
			find / -xdev -name 'pip*.log' -o -xdev -name kernel.lock -o -xdev -name requirements.txt -path '/run/*'
			touch /marker
			python3 -c 'import json, ssl, ipykernel, jupyter_server.serverapp' && find "$1" -xdev -newer /marker -type f ! -path '/proc/*' ! -path '/sys/*'`, "name", compiled},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if output.ExitCode != 0 || output.Stdout != "" {
		t.Errorf("status %d, left behind, writable by others, or stale byte-code:\n%s%s", output.ExitCode, output.Stdout, output.Stderr)
	}
}

// TestBaseImage_IsTheSameAgain builds on two daemons that share nothing.
func TestBaseImage_IsTheSameAgain(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			b := newBench(t)
			request := b.baseRequest(t, l.from(b), l.python)
			request.Attestations.Provenance = "max"
			var manifests, digests []string
			for _, daemon := range []string{"one", "two"} {
				b.ownDaemon(t, filepath.Join(t.TempDir(), daemon))
				published, err := b.publish(t.Context(), request)
				if err != nil {
					t.Fatal(err)
				}
				manifests = append(manifests, published.Image.Manifests[environment.DefaultPlatform])
				digests = append(digests, published.Digest)
			}
			if manifests[0] == "" || manifests[0] != manifests[1] {
				t.Errorf("the platform manifests are %v: layers %v and %v", manifests, b.layers(t, b.registry.Host, target, manifests[0]), b.layers(t, b.registry.Host, target, manifests[1]))
			}
			if digests[0] == digests[1] {
				t.Error("two indexes with provenance have one digest: their times are missing")
			}
		})
	}
}

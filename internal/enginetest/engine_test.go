package enginetest_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

type anonymous struct{}

func (anonymous) Credential(context.Context, string) (image.Credential, error) {
	return image.Credential{}, nil
}

// run runs a process in a container of an image of the shared engine.
func run(t *testing.T, image string, process buildkit.Process) *buildkit.Output {
	t.Helper()
	daemon, err := buildkit.Connect(t.Context(), enginetest.Engine(t).BuildkitAddress, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := daemon.Close(); err != nil {
			t.Error(err)
		}
	}()
	process.Platform = "linux/amd64"
	if process.Image, err = reference.ParsePinned(image); err != nil {
		t.Fatal(err)
	}
	output, err := daemon.Run(t.Context(), process, anonymous{})
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// The base is what later rooms rely on: the contract's user and directories, its Python, and a package that apt owns.
func TestBaseRunsOnTheEngine(t *testing.T) {
	env := enginetest.Engine(t)
	const script = `
import os, sys, pwd, dateutil, pip
assert sys.version_info[:2] == (3, 13), sys.version
assert dateutil.__file__.startswith("/usr/lib/python3/dist-packages"), dateutil.__file__
assert (pwd.getpwuid(os.getuid()).pw_name, os.getuid(), os.getgid()) == ("datalayer", 1000, 100)
open("/home/datalayer/content/probe", "w").close()
assert os.stat("/opt/datalayer").st_uid == 0 and not os.access("/opt/datalayer", os.W_OK)
print("as the contract says")
`
	output := run(t, env.BaseReference, buildkit.Process{
		Args: []string{"/usr/bin/tini", "--", "python3", "-c", script},
		Env:  []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}, Cwd: "/home/datalayer/content", User: "1000:100",
	})
	if output.ExitCode != 0 || strings.TrimSpace(output.Stdout) != "as the contract says" {
		t.Errorf("status %d, stdout %q, stderr %q", output.ExitCode, output.Stdout, output.Stderr)
	}
	if env.BasePython != "3.13" {
		t.Errorf("BasePython is %q", env.BasePython)
	}
}

// The plain image has nothing that a base needs but apt, which reaches the archive.
func TestPlainDebianRunsOnTheEngine(t *testing.T) {
	env := enginetest.Engine(t)
	const script = `
for absent in python3 tini pip; do ! command -v "$absent" || exit 3; done
! id datalayer 2>/dev/null && ! getent passwd 1000 || exit 4
test ! -e /opt/datalayer && test ! -e /home/datalayer || exit 5
apt-get update -q >&2 && apt-get install --simulate --no-install-recommends python3 tini >&2 && echo "plain $(id -u)"
`
	output := run(t, env.PlainDebianReference, buildkit.Process{
		Args: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, Cwd: "/", User: "0:0", Network: true,
	})
	if output.ExitCode != 0 || strings.TrimSpace(output.Stdout) != "plain 0" {
		t.Errorf("status %d, stdout %q, stderr %q", output.ExitCode, output.Stdout, output.Stderr)
	}
}

// The official layout is what most users' bases are made on: CPython of its own in /usr/local, found before any of Debian's,
// whose packages go to site-packages, not to dist-packages.
func TestOfficialPythonRunsOnTheEngine(t *testing.T) {
	env := enginetest.Engine(t)
	const script = `
import bz2, ctypes, lzma, os, readline, site, sqlite3, ssl, subprocess, sys, sysconfig, uuid, zlib
assert sys.version_info[:2] == (3, 13), sys.version
assert (sys.executable, sys.prefix) == ("/usr/local/bin/python3", "/usr/local"), (sys.executable, sys.prefix)
assert site.getsitepackages() == ["/usr/local/lib/python3.13/site-packages"], site.getsitepackages()
assert sysconfig.get_path("purelib") == "/usr/local/lib/python3.13/site-packages", sysconfig.get_path("purelib")
assert not os.path.exists(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED"))
assert not os.path.exists("/usr/bin/python3")
assert os.path.realpath("/usr/local/bin/python") == os.path.realpath("/usr/local/bin/python3") == "/usr/local/bin/python3.13"
assert ssl.create_default_context().cert_store_stats()["x509_ca"] > 100
assert "libpython3.13.so.1.0" in subprocess.run(["ldconfig", "-p"], stdout=subprocess.PIPE, text=True).stdout
for command in ("pip", "pip3"):
    assert "(python 3.13)" in subprocess.run([command, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
print("laid out as it should be")
`
	output := run(t, env.OfficialPythonReference, buildkit.Process{
		Args: []string{"python3", "-c", script}, Env: []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, Cwd: "/", User: "0:0",
	})
	if output.ExitCode != 0 || strings.TrimSpace(output.Stdout) != "laid out as it should be" {
		t.Errorf("status %d, stdout %q, stderr %q", output.ExitCode, output.Stdout, output.Stderr)
	}
}

func TestImagesAreTheSameInEveryRegistry(t *testing.T) {
	env := enginetest.Engine(t)
	for shared, push := range map[string]func(*enginetest.Registry, testing.TB) string{
		env.BaseReference:           (*enginetest.Registry).PushBase,
		env.PlainDebianReference:    (*enginetest.Registry).PushPlainDebian,
		env.OfficialPythonReference: (*enginetest.Registry).PushOfficialPython,
	} {
		registry := enginetest.StartRegistry(t)
		reference := push(registry, t)
		if want := strings.Replace(shared, env.RegistryHost, registry.Host, 1); reference != want {
			t.Errorf("pushed %s, want %s", reference, want)
		}
		if left := registry.Left(t); len(left) != 1 || registry.Host+"/"+left[0] != reference {
			t.Errorf("registry holds %q, want only %s", left, reference)
		}
	}
}

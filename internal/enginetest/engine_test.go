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

// The base is what later rooms rely on: the contract's user and directories, its Python, and a package that apt owns.
func TestBaseRunsOnTheEngine(t *testing.T) {
	env := enginetest.Engine(t)
	daemon, err := buildkit.Connect(t.Context(), env.BuildkitAddress, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := daemon.Close(); err != nil {
			t.Error(err)
		}
	})
	base, err := reference.ParsePinned(env.BaseReference)
	if err != nil {
		t.Fatal(err)
	}
	const script = `
import os, sys, pwd, dateutil, pip
assert sys.version_info[:2] == (3, 13), sys.version
assert dateutil.__file__.startswith("/usr/lib/python3/dist-packages"), dateutil.__file__
assert (pwd.getpwuid(os.getuid()).pw_name, os.getuid(), os.getgid()) == ("datalayer", 1000, 100)
open("/home/datalayer/content/probe", "w").close()
assert os.stat("/opt/datalayer").st_uid == 0 and not os.access("/opt/datalayer", os.W_OK)
print("as the contract says")
`
	output, err := daemon.Run(t.Context(), buildkit.Process{
		Image: base, Platform: "linux/amd64", Args: []string{"/usr/bin/tini", "--", "python3", "-c", script},
		Env: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}, Cwd: "/home/datalayer/content", User: "1000:100",
	}, anonymous{})
	if err != nil {
		t.Fatal(err)
	}
	if output.ExitCode != 0 || strings.TrimSpace(output.Stdout) != "as the contract says" {
		t.Errorf("status %d, stdout %q, stderr %q", output.ExitCode, output.Stdout, output.Stderr)
	}
	if env.BasePython != "3.13" {
		t.Errorf("BasePython is %q", env.BasePython)
	}
}

func TestBaseIsTheSameInEveryRegistry(t *testing.T) {
	env := enginetest.Engine(t)
	registry := enginetest.StartRegistry(t)
	reference := registry.PushBase(t)
	if want := strings.Replace(env.BaseReference, env.RegistryHost, registry.Host, 1); reference != want {
		t.Errorf("pushed %s, want %s", reference, want)
	}
	if left := registry.Left(t); len(left) != 1 || registry.Host+"/"+left[0] != reference {
		t.Errorf("registry holds %q, want only %s", left, reference)
	}
}

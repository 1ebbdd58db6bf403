package buildkit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// look prints, one a line, what the contract and the spec promise to a process in the image.
const look = `
import os, json, dateutil, packaging, importlib.metadata as m
s = os.stat("/home/datalayer/conf/app.toml")
print(json.dumps({
  "ids": [os.getuid(), os.getgid()], "cwd": os.getcwd(), "dateutil": m.version("python-dateutil"), "where": dateutil.__file__,
  "file": [oct(s.st_mode & 0o7777), s.st_uid, s.st_gid, open("/home/datalayer/conf/app.toml").read()],
  "post": open("post").read(), "left": [p for p in ("/run/datalayer", "/run/secrets", "/run/datalayer-report") if os.path.exists(p)],
}, sort_keys=True))
`

func TestBuildInstallsTheLockAndTheSpec(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "dateutil.lock")
	request.Python = b.BasePython
	request.Labels["team"] = "a"
	request.Spec = environment.Spec{
		Env:         map[string]string{"MODE": `quote " and $dollar`},
		Files:       []environment.File{{Path: "/home/datalayer/conf/app.toml", Content: []byte("x = 1\n"), Mode: "0640"}},
		PostInstall: []environment.Command{{Command: "id -u > post\ntest \"$MODE\" = 'quote \" and $dollar'\n! getent hosts localhost.invalid"}},
	}
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := published.Packages, map[string]string{"python-dateutil": "4.0.0", "packaging": "26.4", "tzdata": "2026.6"}; len(got) != len(want) || got["python-dateutil"] != want["python-dateutil"] {
		t.Errorf("packages = %v, want %v", got, want)
	}
	config := published.Image.Configs[environment.DefaultPlatform]
	for name, want := range map[string]string{"team": "a", environment.LabelCacheKey: "sha256:test", environment.LabelPython: b.BasePython} {
		if config.Labels[name] != want {
			t.Errorf("label %s = %q, want %q", name, config.Labels[name], want)
		}
	}
	if env := strings.Join(config.Env, "\n"); !strings.Contains(env, `MODE=quote " and $dollar`) || strings.Contains(env, "SOURCE_DATE_EPOCH") {
		t.Errorf("env of the image:\n%s", env)
	}
	output, err := b.daemon.Run(t.Context(), buildkit.Process{
		Image: published.Reference(request.Repository), Platform: environment.DefaultPlatform, Args: []string{"python3", "-c", look},
		Env: config.Env, Cwd: environment.WorkDir, User: "1000:100",
	}, request.Credentials)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"cwd": "/home/datalayer/content", "dateutil": "4.0.0", "file": ["0o640", 1000, 100, "x = 1\n"], "ids": [1000, 100], "left": [], "post": "1000\n", "where": "/usr/local/lib/python3.13/dist-packages/dateutil/__init__.py"}`
	if got := strings.TrimSpace(output.Stdout); got != want {
		t.Errorf("the container says\n%s\nwant\n%s\n%s", got, want, output.Stderr)
	}
}

func TestPackageOfAFalseMarkerMayBeInTheBase(t *testing.T) {
	b := newBench(t)
	// The base has python3-dateutil from apt; the lock names it for another Python only.
	published, err := b.publish(t.Context(), b.request(t, "six==1.17.0 --hash=sha256:"+sixHash+"\n"+
		`python-dateutil==2.9.0.post0 ; python_version < "3.13" --hash=sha256:`+zeros+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(published.Packages) != 1 || published.Packages["six"] != "1.17.0" {
		t.Errorf("packages are %v", published.Packages)
	}
}

func TestRunGivesTheStatusOfAProcess(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	output, err := b.daemon.Run(t.Context(), buildkit.Process{Image: request.Base, Platform: environment.DefaultPlatform,
		Args: []string{"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, Env: []string{"PATH=/usr/bin:/bin"}, Cwd: "/", User: "1000:100"}, request.Credentials)
	if err != nil || output.ExitCode != 3 || output.Stdout != "out\n" || output.Stderr != "err\n" {
		t.Errorf("got %+v, %v", output, err)
	}
}

func TestRunBesideAFirstProcess(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	output, err := b.daemon.Run(t.Context(), buildkit.Process{Image: request.Base, Platform: environment.DefaultPlatform,
		Init: []string{"/usr/bin/tini", "--", "sleep", "infinity"}, ReadOnly: []string{environment.Home},
		Args: []string{"/bin/sh", "-c", "cat /proc/1/comm; touch /opt/here; touch " + environment.WorkDir + "/there"},
		Env:  []string{"PATH=/usr/bin:/bin"}, Cwd: "/", User: "0:0"}, request.Credentials)
	if err != nil || output.ExitCode == 0 || output.Stdout != "tini\n" || !strings.Contains(output.Stderr, environment.WorkDir+"/there': Read-only file system") || strings.Contains(output.Stderr, "/opt/here") {
		t.Errorf("got %+v, %v", output, err)
	}
}

func TestWaitingForASlotIsNotBuilding(t *testing.T) {
	b := newBench(t)
	for range 2 {
		release, err := b.daemon.Reserve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer release()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := b.publish(ctx, b.request(t, ""))
	if err == nil || !strings.Contains(err.Error(), "while waiting for one of the builds before it to end") {
		t.Errorf("error is %v", err)
	}
}

package buildkit_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

const (
	zeros    = "0000000000000000000000000000000000000000000000000000000000000000"
	sixHash  = "4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274"
	dateutil = "python-dateutil==4.0.0 --hash=sha256:a5e246f79eb80475e691bf93862cead98decd8a498cf53ba0516fcdc0f50dc1c\n"
)

// TestBuildFailuresAreExplained runs each failure for real: the tool's own words must reach the reader, and nothing may be left.
func TestBuildFailuresAreExplained(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		lock   string
		change func(*buildkit.Request)
		title  string
		says   []string
	}{
		"hash mismatch": {lock: "six==1.17.0 --hash=sha256:" + zeros + "\n", title: "Hash mismatch in the locked packages",
			says: []string{"six==1.17.0", "expected sha256 " + zeros, "got      " + sixHash}},
		"version that does not exist": {lock: "six==99.9 --hash=sha256:" + zeros + "\n", title: "Locked package has no file for this Python",
			says: []string{"No matching distribution found for six==99.9", "Last "}},
		"version for older Pythons only": {lock: "tensorflow==2.10.0 --hash=sha256:" + zeros + "\n", title: "Locked package has no file for this Python",
			says: []string{"tensorflow==2.10.0", "uv pip compile --python-version"}},
		"source without its backend": {lock: "python-dateutil==4.0.0 --hash=sha256:d7295ff14fdc0f92f662100bfb6c551d160ca090f2939f1ec5b9794265c03f06\n", title: "Locked package needs a build backend",
			says: []string{"python-dateutil==4.0.0: Cannot import 'hatchling.build'", "has a wheel"}},
		"incomplete lock": {lock: dateutil, title: "Locked packages do not fit together",
			says: []string{"python-dateutil 4.0.0 requires tzdata, which is not installed", "pip check"}},
		"post-install command": {lock: "", title: "Post-install command failed", says: []string{`step "post_install[1]"`, "line 60", "cut off from the network"},
			change: func(r *buildkit.Request) {
				r.Spec.PostInstall = []environment.Command{{Command: "true"}, {Command: "for i in $(seq 60); do echo line $i; done; exit 3"}}
			}},
		"Debian package": {title: "Debian package not found", says: []string{"Unable to locate package no-such-package-here", "Unable to locate package nor-this"},
			change: func(r *buildkit.Request) {
				r.Spec.AptPackages = []string{"no-such-package-here", "nor-this"}
			}},
		"Debian package that is a pattern of others": {title: "Debian package not found", says: []string{"Unable to locate package node.js"},
			change: func(r *buildkit.Request) { r.Spec.AptPackages = []string{"node.js"} }},
		"command that speaks of the disk": {title: "Post-install command failed", says: []string{"exit code: 1", "no space left on device", "with the daemon's network"},
			change: func(r *buildkit.Request) {
				r.Spec.PostInstall = []environment.Command{{Command: "echo 'no space left on device'; exit 1", Network: new(true)}}
			}},
		"file where a folder must be": {title: "File could not be written", says: []string{`step "write /srv/a/b"`, "not a directory", "Choose another path"},
			change: func(r *buildkit.Request) {
				r.Spec.Files = []environment.File{{Path: "/srv/a", Mode: "0644"}, {Path: "/srv/a/b", Mode: "0644"}}
			}},
		"another Python": {title: "Base image has another Python", says: []string{"python_version is 3.9, and the base has 3.13"},
			change: func(r *buildkit.Request) { r.Python = "3.9" }},
		"base digest": {title: "Base image does not exist", says: []string{"sha256:" + zeros, "404"},
			change: func(r *buildkit.Request) { r.Base.Digest = "sha256:" + zeros }},
		"base platform": {title: "Base image lacks the platform", says: []string{"is for linux/amd64, not linux/s390x"},
			change: func(r *buildkit.Request) { r.Platforms = []string{"linux/s390x"} }},
	} {
		t.Run(name, func(t *testing.T) {
			request := b.request(t, c.lock)
			if c.change != nil {
				c.change(&request)
			}
			_, err := b.publish(t.Context(), request)
			var found *problem.Problem
			if !errors.As(err, &found) {
				t.Fatalf("error is %v, want a problem", err)
			}
			if found.Title != c.title {
				t.Errorf("title is %q, want %q", found.Title, c.title)
			}
			for _, words := range c.says {
				if !strings.Contains(found.Detail(), words) {
					t.Errorf("%q is not in the detail:\n%s", words, found.Detail())
				}
			}
			if len(found.Logs) > 40 {
				t.Errorf("%d log lines, want 40 at most", len(found.Logs))
			}
			if left := b.registry.Left(t); len(left) > 0 {
				t.Errorf("left in the registry: %v", left)
			}
		})
	}
}

func TestTargetIsProbedBeforeAnythingIsBuilt(t *testing.T) {
	users := map[string]string{"reader": "read-only-password"}
	b := newBench(t, enginetest.BasicAuth(users, func(_, method, _ string) bool { return method == http.MethodGet || method == http.MethodHead }))
	connected := false
	b.publisher.Connect = func(context.Context) (*buildkit.Daemon, error) {
		connected = true
		return b.daemon, nil
	}
	_, err := b.publish(t.Context(), b.request(t, "six.lock"))
	if err == nil || connected {
		t.Fatalf("error %v, daemon reached: %v; want an error before the daemon is reached", err, connected)
	}
	if text := err.Error(); !strings.Contains(text, "401") || !strings.Contains(text, target) {
		t.Errorf("error does not name status and repository: %s", text)
	}
}

func TestPushIsTriedAgainWhileTheReasonMayPass(t *testing.T) {
	for name, c := range map[string]struct {
		fault *enginetest.FaultResponse
		fails int32
		ends  string
	}{
		"5xx that passes":        {fault: &enginetest.FaultResponse{Status: http.StatusBadGateway, Body: "<html>bad gateway</html>"}, fails: 1},
		"reset that passes":      {fault: &enginetest.FaultResponse{Cut: true}, fails: 1},
		"5xx that stays":         {fault: &enginetest.FaultResponse{Status: http.StatusServiceUnavailable, Body: "down"}, fails: 1 << 20, ends: "503"},
		"refusal is not retried": {fault: &enginetest.FaultResponse{Status: http.StatusForbidden, Body: "token no longer valid"}, fails: 1 << 20, ends: "403"},
	} {
		t.Run(name, func(t *testing.T) {
			var refused atomic.Int32
			b := newBench(t, enginetest.Fault(func(r *http.Request) *enginetest.FaultResponse {
				if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/sha256:") && refused.Add(1) <= c.fails {
					return c.fault
				}
				return nil
			}))
			b.daemon.SetClock(func(time.Duration) <-chan time.Time { return closed() })
			published, err := b.publish(t.Context(), b.request(t, "six.lock"))
			if c.ends == "" {
				if err != nil {
					t.Fatal(err)
				}
				if want := []string{target + ":" + b.tagged, target + "@" + published.Digest}; !slices.Equal(b.registry.Left(t), want) {
					t.Errorf("in the registry: %v, want %v", b.registry.Left(t), want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.ends) {
				t.Fatalf("error is %v, want one with %q", err, c.ends)
			}
			var found *problem.Problem
			if !errors.As(err, &found) || found.Title != "Image was built but not pushed" || !strings.Contains(found.Detail(), b.registry.Host+"/"+target) {
				t.Errorf("title %q, detail:\n%s", found.Title, found.Detail())
			}
			if left := b.registry.Left(t); len(left) > 0 {
				t.Errorf("left in the registry: %v", left)
			}
		})
	}
}

func closed() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}

func TestCancelEndsTheBuild(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	request.Spec.PostInstall = []environment.Command{{Command: "echo sleeping; exec sleep 600"}}
	ctx, cancel := context.WithCancel(t.Context())
	b.publisher.Logger = onLine("sleeping", cancel)
	b.daemon.SetLogger(b.publisher.Logger)
	_, err := b.publish(ctx, request)
	var found *problem.Problem
	if !errors.As(err, &found) || found.Title != "Image build was cancelled" || !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
	if !strings.Contains(found.Object, "while building and pushing") {
		t.Errorf("the error does not name the phase: %s", found.Object)
	}
	if left := b.registry.Left(t); len(left) > 0 {
		t.Errorf("left in the registry: %v", left)
	}
}

func TestDeadlineNamesPhaseObjectAndTime(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	request.Spec.PostInstall = []environment.Command{{Command: "exec sleep 599"}}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := b.publish(ctx, request)
	var found *problem.Problem
	if !errors.As(err, &found) || found.Title != "Image build took longer than its timeout" {
		t.Fatalf("error is %v", err)
	}
	if !strings.Contains(found.Object, target) || !strings.Contains(found.Object, "after 3s") || !strings.Contains(found.Advice, "timeouts.create") {
		t.Errorf("object %q, advice %q", found.Object, found.Advice)
	}
}

func TestDaemonThatIsNotThere(t *testing.T) {
	_, err := buildkit.Connect(t.Context(), "unix:///nonexistent/buildkitd.sock", 1, nil)
	var found *problem.Problem
	if !errors.As(err, &found) || found.Title != "BuildKit daemon does not answer" || !strings.Contains(found.Detail(), "/nonexistent/buildkitd.sock") {
		t.Fatalf("error is %v", err)
	}
}

package e2b_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/steps"
)

// checkoutVariable names a checkout of github.com/e2b-dev/code-interpreter at the pinned commit, outside this project.
const checkoutVariable = "DATALAYER_CODE_INTERPRETER_SRC"

// TestCodeInterpreter_RunsOnTheBase carries a recipe out in a container of the real base, step by step as E2B would, and
// starts the server that it made as the user of the contract.
func TestCodeInterpreter_RunsOnTheBase(t *testing.T) {
	checkout := os.Getenv(checkoutVariable)
	if checkout == "" {
		t.Skip("NOT RUN: set " + checkoutVariable + ", or run make check-code-interpreter SRC=<checkout>")
	}
	env := enginetest.Engine(t)
	recipe := recipeOf(t)
	var err error
	if recipe.Base, err = reference.ParsePinned(env.BaseReference); err != nil {
		t.Fatal(err)
	}
	recipe.Python, recipe.Interpreter.Source = env.BasePython, checkout
	recipe.Spec.AptPackages = nil
	recipe.Spec.PostInstall = []environment.Command{{Command: `test "$(id -u):$(id -g):$PWD:$MODE" = '1000:100:/home/datalayer/content:it'"'"'s $HOME'`}}
	made := instructions(t, recipe)
	w := newWorkshop(t, env, recipe.Base)
	log := made.ReportLog()
	for i, step := range made.Start.Steps {
		printed := w.step(t, made, i)
		for line := range strings.Lines(printed) {
			log.Take(e2b.LogEntry{Step: strconv.Itoa(i + 1), Message: "[stdout]: " + strings.TrimSpace(line)})
		}
		t.Logf("step %d %s: %s", i+1, step.Type, made.Origins[i].Does)
	}
	report := log.Report()
	if !strings.HasPrefix(report.Python, env.BasePython+".") || report.Packages["six"] != "1.17.0" {
		t.Errorf("the template told of itself: %+v", report)
	}
	if left := w.run(t, nil, "ls", "/opt/datalayer"); left.Stdout != "code-interpreter\nenvironment.json\n" {
		t.Errorf("/opt/datalayer holds %q", left.Stdout)
	}
	w.serves(t, made.Start.StartCommand)
}

// workshop is a container of the base in which steps run as root, with the index of this machine.
type workshop struct {
	container *buildkit.Container
	user      string
	dir       string
}

func newWorkshop(t *testing.T, env *enginetest.Env, image reference.Reference) *workshop {
	t.Helper()
	daemon, err := buildkit.Connect(t.Context(), env.BuildkitAddress, 2, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Close() })
	// E2B_LOCAL: there is no envd to ask for the sandbox's variables.
	variables := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "E2B_LOCAL=true"}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"} {
		if value := os.Getenv(name); value != "" {
			variables = append(variables, name+"="+value)
		}
	}
	container, err := daemon.Start(t.Context(), buildkit.Process{
		Image: image, Platform: environment.DefaultPlatform, Args: []string{"/usr/bin/tini", "--", "sleep", "infinity"}, Env: variables, Cwd: "/", User: "0:0", Network: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := container.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &workshop{container: container, user: "root", dir: "/"}
	if env.CABundle != "" {
		w.run(t, bytes.NewReader(enginetest.CABundle(t)), "sh", "-c", "cat >>/etc/ssl/certs/ca-certificates.crt")
	}
	// The engine's base has Python alone; a base for sandboxes has the kernel stack.
	for name, content := range map[string]string{"install.py": steps.Install, "kernel.txt": parsed(t, base.KernelLock).Canonical()} {
		w.run(t, strings.NewReader(content), "sh", "-c", "cat >/tmp/"+name)
	}
	w.run(t, nil, "python3", "-I", "/tmp/install.py", "/tmp/kernel.txt", "/tmp/report.json")
	return w
}

func parsed(t *testing.T, text string) *lock.Lock {
	t.Helper()
	l, err := lock.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (w *workshop) run(t *testing.T, stdin io.Reader, args ...string) *buildkit.Output {
	t.Helper()
	output, err := w.container.Exec(t.Context(), buildkit.Command{Args: args, Stdin: stdin})
	if err != nil {
		t.Fatal(err)
	}
	if output.ExitCode != 0 {
		t.Fatalf("%q ended with %d:\n%s%s", args, output.ExitCode, output.Stdout, output.Stderr)
	}
	return output
}

// step does what E2B does for a step, and gives what it printed.
func (w *workshop) step(t *testing.T, made e2b.Instructions, index int) string {
	t.Helper()
	step := made.Start.Steps[index]
	switch step.Type {
	case "COPY":
		for _, archive := range made.Archives {
			if archive.Hash == step.FilesHash {
				script := fmt.Sprintf("mkdir -p %[1]s && tar -xz --strip-components=1 --no-same-owner -C %[1]s", step.Args[1])
				return w.run(t, bytes.NewReader(archive.Tar), "sh", "-c", script).Stdout
			}
		}
		t.Fatalf("step %d copies what was not uploaded", index+1)
	case "RUN":
		command := []string{"/bin/bash", "-l", "-c", step.Args[0]}
		if step.Args[1] != "root" {
			command = append([]string{"setpriv", "--reuid=1000", "--regid=100", "--clear-groups", "env", "HOME=" + environment.Home}, command...)
		}
		return w.run(t, nil, command...).Stdout
	case "USER":
		w.user = step.Args[0]
	case "WORKDIR":
		w.dir = step.Args[0]
	default:
		t.Fatalf("step %d is %s", index+1, step.Type)
	}
	return ""
}

// serves starts the server as the template's last user and asks it what the issue asks.
func (w *workshop) serves(t *testing.T, start string) {
	t.Helper()
	if w.user != environment.User || w.dir != environment.WorkDir {
		t.Fatalf("the template ends as %s in %s", w.user, w.dir)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	ended := make(chan string, 1)
	go func() {
		output, err := w.container.Exec(ctx, buildkit.Command{Args: []string{"setpriv", "--reuid=1000", "--regid=100", "--clear-groups", "env", "-C", w.dir, "HOME=" + environment.Home, "/bin/bash", "-l", "-c", start}})
		ended <- fmt.Sprintf("%+v, %v", output, err)
	}()
	transport := &http.Transport{DialContext: w.container.Dial}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	ask := func(method, path, body string) (int, string) {
		request, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1:49999"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return 0, err.Error()
		}
		return answer.StatusCode, string(text)
	}
	for {
		status, text := ask(http.MethodGet, "/health", "")
		if status == http.StatusOK {
			t.Logf("GET /health: %d %s", status, text)
			break
		}
		select {
		case how := <-ended:
			t.Fatalf("the start command ended: %s", how)
		case <-ctx.Done():
			t.Fatalf("no /health within time: %s", text)
		case <-time.After(200 * time.Millisecond):
		}
	}
	execute := func(code string) string {
		body, err := json.Marshal(map[string]string{"code": code})
		if err != nil {
			t.Fatal(err)
		}
		status, text := ask(http.MethodPost, "/execute", string(body))
		result := ""
		for line := range strings.Lines(text) {
			var event struct{ Type, Text, Name, Value string }
			if json.Unmarshal([]byte(line), &event) == nil && (event.Type == "result" || event.Type == "error") {
				result += event.Text + event.Name + event.Value
			}
		}
		t.Logf("POST /execute %s: %d %s", code, status, result)
		return result
	}
	for code, want := range map[string]string{
		"1+1":                         "2",
		"os.getcwd()":                 environment.WorkDir,
		"[os.getuid(), os.getgid()]":  "[1000, 100]",
		"import six; six.__version__": "1.17.0",
		"[os.environ[n] for n in ('LANG', 'LC_ALL', 'TZ', 'MODE')]": `['C.UTF-8', 'C.UTF-8', 'UTC', "it's $HOME"]`,
	} {
		if got := execute("import os; " + code); got != want {
			t.Errorf("%s gave %s, want %s", code, got, want)
		}
	}
	status, text := ask(http.MethodGet, "/contexts", "")
	t.Logf("GET /contexts: %d %s", status, text)
	var contexts []struct{ Language, Cwd string }
	if err := json.Unmarshal([]byte(text), &contexts); err != nil || len(contexts) != 1 || contexts[0].Language != "python" || contexts[0].Cwd != environment.WorkDir {
		t.Errorf("contexts are %s", text)
	}
	status, text = ask(http.MethodPost, "/contexts", "{}")
	if status != http.StatusOK || !strings.Contains(text, environment.WorkDir) {
		t.Errorf("a new context is %d %s", status, text)
	}
	// The owner of each process of the servers and kernels, by /proc.
	owned := w.run(t, nil, "sh", "-c", `for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -qE '(jupyter_serve[r]|uvicor[n]|ipykerne[l])' && stat -c %u $p; done | sort -u`)
	if strings.TrimSpace(owned.Stdout) != "1000" {
		t.Errorf("the servers and kernels run as %q", owned.Stdout)
	}
}

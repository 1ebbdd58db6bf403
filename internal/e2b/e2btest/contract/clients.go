package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

//go:embed js/*.mjs js/*.cjs js/package.json py/contract.py
var scripts embed.FS

// clients are where E2B's own clients are installed.
type clients struct{ node, js, py string }

// versions are those that js/package.json pins.
func (c clients) versions() (map[string]string, error) {
	content, err := scripts.ReadFile("js/package.json")
	if err != nil {
		return nil, err
	}
	var listed struct{ Dependencies map[string]string }
	return listed.Dependencies, json.Unmarshal(content, &listed)
}

// lay puts the scripts of a language into a directory.
func lay(from, dir string) error {
	entries, err := fs.ReadDir(scripts, from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		content, err := scripts.ReadFile(from + "/" + entry.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, entry.Name()), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// environment is all that a client gets: the server's address, and for what is not on loopback a proxy where nobody is.
func environment(s *e2btest.Server, dir string, more ...string) []string {
	const nobody = "http://127.0.0.1:1"
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "CI=1", "NO_COLOR=1", "NO_PROXY=127.0.0.1,localhost",
		"HTTP_PROXY=" + nobody, "HTTPS_PROXY=" + nobody, "http_proxy=" + nobody, "https_proxy=" + nobody, "no_proxy=127.0.0.1,localhost",
		"E2B_API_KEY=" + e2btest.Key, "E2B_API_URL=" + s.URL, "E2B_SANDBOX_URL=" + s.URL, "E2B_DOMAIN=e2b.invalid"}, more...)
}

// output runs a program and gives what it printed; all of it is in the error if it failed.
func output(ctx context.Context, dir string, env []string, program string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir, command.Env, command.WaitDelay = dir, env, 5*time.Second
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(arguments, " "), err, out)
	}
	return string(out), nil
}

func callsIn(out string) []string {
	var calls []string
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "call "); ok {
			calls = append(calls, name)
		}
	}
	return calls
}

// script runs one of the scripts of js/.
func (c clients) script(name string) func(context.Context, *e2btest.Server, string) ([]string, error) {
	return func(ctx context.Context, s *e2btest.Server, dir string) ([]string, error) {
		if err := c.modules(dir); err != nil {
			return nil, err
		}
		limit(s)
		out, err := output(ctx, dir, environment(s, dir), c.node, "--require", "./loopback.cjs", name)
		return callsIn(out), err
	}
}

func (c clients) modules(dir string) error {
	if err := lay("js", dir); err != nil {
		return err
	}
	return os.Symlink(filepath.Join(c.js, "node_modules"), filepath.Join(dir, "node_modules"))
}

// limit refuses the builds of the template "limited": first with Retry-After, and after one that passes, without.
func limit(s *e2btest.Server) {
	const route = "POST /v3/templates"
	limited := func(request e2btest.Request) bool { return strings.Contains(string(request.Body), `"limited"`) }
	s.Inject(
		e2btest.Fault{Route: route, If: limited, Status: 429, Header: map[string]string{"Retry-After": "1"}, Message: "Rate limit exceeded"},
		e2btest.Fault{Route: route, If: limited, Skip: 1, Times: -1, Status: 429, Message: "you have reached the maximum number of concurrent template builds (20)."},
	)
}

// python runs py/contract.py.
func (c clients) python(ctx context.Context, s *e2btest.Server, dir string) ([]string, error) {
	if err := lay("py", dir); err != nil {
		return nil, err
	}
	out, err := output(ctx, dir, environment(s, dir, "PYTHONPATH="+c.py, "PYTHONDONTWRITEBYTECODE=1"), "python3", "-P", "contract.py")
	return callsIn(out), err
}

// commandLine runs E2B's command line, one command after the other.
func (c clients) commandLine(ctx context.Context, s *e2btest.Server, dir string) ([]string, error) {
	if err := c.modules(dir); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM python:3.12\nRUN pip install x\nCOPY data.txt /app/\nWORKDIR /app\n"), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "data.txt"), []byte("data\n"), 0o600); err != nil {
		return nil, err
	}
	var calls []string
	e2b := func(wants string, arguments ...string) error {
		out, err := output(ctx, dir, environment(s, dir), c.node, append([]string{"--require", "./loopback.cjs", "node_modules/@e2b/cli/dist/index.js"}, arguments...)...)
		if err != nil {
			return err
		}
		if !strings.Contains(out, wants) {
			return fmt.Errorf("e2b %s does not say %q but:\n%s", strings.Join(arguments, " "), wants, out)
		}
		calls = append(calls, "e2b "+strings.Join(arguments, " "))
		return nil
	}
	for _, step := range [][]string{
		{"", "template", "create", "cli-tpl", "--cpu-count", "2", "--memory-mb", "512"},
		{"cli-tpl", "template", "list"},
		{"", "template", "publish", "-y", "cli-tpl"},
		{"", "template", "unpublish", "-y", "cli-tpl"},
		{"", "sandbox", "create", "--detach", "cli-tpl"},
		{"cli-tpl", "sandbox", "list"},
	} {
		if err := e2b(step[0], step[1:]...); err != nil {
			return calls, err
		}
	}
	id := sandboxID(s)
	for _, step := range [][]string{
		{id, "sandbox", "info", id},
		{"from-cli", "sandbox", "exec", id, "echo", "from-cli"},
		{"", "sandbox", "logs", id},
		{"", "sandbox", "pause", id},
		{"", "sandbox", "kill", id},
		{"", "template", "delete", "-y", "cli-tpl"},
	} {
		if err := e2b(step[0], step[1:]...); err != nil {
			return calls, err
		}
	}
	return calls, nil
}

// sandboxID is that of the only sandbox.
func sandboxID(s *e2btest.Server) string {
	for _, line := range s.Left() {
		if rest, ok := strings.CutPrefix(line, "sandbox "); ok {
			id, _, _ := strings.Cut(rest, " ")
			return id
		}
	}
	return ""
}

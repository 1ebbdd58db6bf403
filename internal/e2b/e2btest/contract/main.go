// Contract lets E2B's own SDKs and command line, of the versions that js/ and py/ lock, drive the stand-in for E2B on
// loopback, and says which calls each made and which routes they reached. It fails if one of them made none, found the
// stand-in other than E2B, or left anything behind that it did not ask for.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

// vendor is one of E2B's own clients.
type vendor struct {
	name string
	// run drives the server with the client, in a directory of its own, and gives the calls that it made.
	run func(ctx context.Context, s *e2btest.Server, dir string) ([]string, error)
	// left is how many templates it leaves, since it cannot delete them.
	left int
	// replays says that it sends the headers along that come with an upload's address.
	replays bool
}

func run(ctx context.Context) error {
	js, err := install(ctx, "e2b-js")
	if err != nil {
		return err
	}
	py, err := install(ctx, "e2b-py")
	if err != nil {
		return err
	}
	node, err := install(ctx, "node")
	if err != nil {
		return err
	}
	clients := clients{node: node, js: js, py: py}
	versions, err := clients.versions()
	if err != nil {
		return err
	}
	reached := map[string]int{}
	for _, one := range []vendor{
		{"e2b " + versions["e2b"] + " (npm)", clients.script("e2b.mjs"), 3, true},
		{"@e2b/code-interpreter " + versions["@e2b/code-interpreter"] + " (npm)", clients.script("code-interpreter.mjs"), 0, false},
		{"@e2b/cli " + versions["@e2b/cli"] + " (npm)", clients.commandLine, 0, false},
		{"e2b and e2b-code-interpreter (Python)", clients.python, 2, true},
	} {
		if err := one.drive(ctx, reached); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	var unreached []string
	for name, times := range reached {
		if times == 0 {
			unreached = append(unreached, name)
		}
	}
	slices.Sort(unreached)
	fmt.Printf("E2B: %d of the stand-in's %d routes were reached; not these: %s\n", len(reached)-len(unreached), len(reached), strings.Join(unreached, ", "))
	return nil
}

// drive lets one client loose on a server of its own, and adds to reached how often it asked for each route.
func (v vendor) drive(ctx context.Context, reached map[string]int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	options := e2btest.Options{Pace: time.Millisecond, Registries: map[string]map[string]string{"registry.example:5000": {"ci": "registry-password"}}}
	if v.replays {
		options.UploadHeaders = map[string]string{"x-ms-blob-type": "BlockBlob"}
	}
	server, err := e2btest.New(options)
	if err != nil {
		return err
	}
	defer server.Close()
	many := make([]string, 230)
	for i := range many {
		many[i] = fmt.Sprintf("many lines, %d", i)
	}
	server.OnStep(e2btest.StepAnswer{Holds: "print-many-lines", Stdout: many}, e2btest.StepAnswer{Holds: "fail-here", Exit: 7})
	dir, err := os.MkdirTemp("", "e2b-contract-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	began := time.Now()
	calls, err := v.run(ctx, server, dir)
	if err != nil {
		return err
	}
	routes := map[string]int{}
	for _, name := range server.Routes() {
		reached[name] += 0
	}
	for _, request := range server.Requests() {
		routes[request.Name()]++
		reached[request.Name()]++
		if request.Status >= 500 && request.Status != 502 {
			return fmt.Errorf("%s was answered %d", request.Name(), request.Status)
		}
		if strings.Contains(request.Route, "(none)") {
			return fmt.Errorf("it asked for %s, which the stand-in does not have", request.Name())
		}
	}
	if len(calls) == 0 || len(routes) == 0 {
		return fmt.Errorf("it made %d calls and reached %d routes", len(calls), len(routes))
	}
	if left := server.Left(); len(left) != v.left {
		return fmt.Errorf("it should leave %d templates and nothing else, but left %q", v.left, left)
	}
	fmt.Printf("%s: %d calls, %d routes, %.1f s\n", v.name, len(calls), len(routes), time.Since(began).Seconds())
	fmt.Printf("  calls: %s\n", strings.Join(distinct(calls), "; "))
	names := make([]string, 0, len(routes))
	for name, count := range routes {
		names = append(names, fmt.Sprintf("%s (%d)", name, count))
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Println("  route:", name)
	}
	return nil
}

func distinct(all []string) []string {
	var kept []string
	for _, one := range all {
		if !slices.Contains(kept, one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// install makes a tool that tools/install.sh knows, and gives its path.
func install(ctx context.Context, name string) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join("tools", "install.sh"), name)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s could not be installed, and the contract is not to be skipped: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

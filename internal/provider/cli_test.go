package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// These tests run Terraform or OpenTofu as a person does, with the provider's own program: what the plugin testing
// framework cannot do is to interrupt a run, to look at all that it writes, and to use what was really built.

// cliLimit bounds a run that nobody interrupts.
const cliLimit = 3 * time.Minute

const requiredProviders = `
terraform {
  required_providers {
    datalayer = { source = "datalayer/datalayer" }
  }
}
`

var providerFolder string

func TestMain(m *testing.M) {
	code := m.Run()
	if providerFolder != "" {
		_ = os.RemoveAll(providerFolder)
	}
	os.Exit(code)
}

// builtProvider compiles the provider once for all tests of a run, and gives a CLI configuration that uses it.
var builtProvider = sync.OnceValues(func() (config string, err error) {
	if providerFolder, err = os.MkdirTemp("", "provider-"); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(providerFolder, "terraform-provider-datalayer"), "github.com/datalayer/terraform-provider-datalayer")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, output)
	}
	text, err := exec.Command(filepath.Join("..", "..", "tools", "cli-config.sh"), providerFolder).Output()
	if err != nil {
		return "", fmt.Errorf("tools/cli-config.sh: %w", err)
	}
	config = filepath.Join(providerFolder, "cli.tfrc")
	return config, os.WriteFile(config, text, 0o600)
})

// cli is Terraform or OpenTofu in a working directory, a home and a temporary directory of its own. It sees none of
// this process's environment.
type cli struct {
	t                        *testing.T
	program, dir, home, temp string
	// env is what every run gets.
	env map[string]string
}

func newCLI(t *testing.T) *cli {
	t.Helper()
	program := cliProgram(t)
	config, err := builtProvider()
	if err != nil {
		t.Fatal(err)
	}
	c := &cli{t: t, program: program, dir: t.TempDir(), home: t.TempDir(), temp: t.TempDir()}
	c.env = map[string]string{
		"HOME": c.home, "TMPDIR": c.temp, "TF_CLI_CONFIG_FILE": config, "TF_CLI_ARGS": "-no-color", "TF_INPUT": "0",
		"TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1",
	}
	c.write("providers.tf", requiredProviders)
	return c
}

// newCLI gives a CLI whose runs build on the stack.
func (s *stack) newCLI(t *testing.T) *cli {
	t.Helper()
	c := newCLI(t)
	c.env["BUILDKIT_HOST"] = s.BuildkitAddress
	if s.CABundle != "" {
		c.env["DATALAYER_CA_BUNDLE"] = s.CABundle
	}
	return c
}

// cliProgram is the absolute path of the CLI to test.
func cliProgram(t *testing.T) string {
	t.Helper()
	const variable = "TF_ACC_TERRAFORM_PATH"
	program := os.Getenv(variable)
	if program == "" {
		program, _ = exec.LookPath("terraform")
	}
	if program != "" {
		absolute, err := filepath.Abs(program)
		if err != nil {
			t.Fatal(err)
		}
		return absolute
	}
	const advice = variable + " is not set and terraform is not on PATH: set it to the path of Terraform or OpenTofu >= 1.11"
	if os.Getenv(enginetest.RequiredVariable) == "1" {
		t.Fatal(advice)
	}
	t.Skip(advice)
	return ""
}

func (c *cli) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// run runs to the end, whatever that is.
func (c *cli) run(arguments ...string) outcome {
	c.t.Helper()
	return c.start(arguments...).wait(cliLimit)
}

// expect runs to the end and fails the test on any other exit code.
func (c *cli) expect(code int, arguments ...string) outcome {
	c.t.Helper()
	o := c.run(arguments...)
	if o.code != code {
		c.t.Fatalf("%s ended with %d, want %d:\n%s%s", strings.Join(arguments, " "), o.code, code, o.stdout, o.stderr)
	}
	return o
}

func (c *cli) apply(arguments ...string) outcome {
	c.t.Helper()
	return c.expect(0, append([]string{"apply", "-auto-approve"}, arguments...)...)
}

// planIsEmpty checks that a plan finds nothing to do.
func (c *cli) planIsEmpty(arguments ...string) {
	c.t.Helper()
	c.expect(0, append([]string{"plan", "-detailed-exitcode"}, arguments...)...)
}

// destroy checks that afterwards the registry is empty.
func (c *cli) destroy(s *stack) {
	c.t.Helper()
	c.expect(0, "destroy", "-auto-approve")
	if left := s.registry.Left(c.t); len(left) > 0 {
		c.t.Errorf("left in the registry after destroy: %v", left)
	}
}

// instance is one resource instance of a state file.
type instance struct {
	Status     string
	Attributes map[string]any
}

// instances gives what the state holds.
func (c *cli) instances() []instance {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil // It is made empty, before anything is written to it.
	}
	var state struct {
		Resources []struct{ Instances []instance }
	}
	if err := errors.Join(err, json.Unmarshal(data, &state)); err != nil {
		c.t.Fatal(err)
	}
	var all []instance
	for _, r := range state.Resources {
		all = append(all, r.Instances...)
	}
	return all
}

// noFilesLeft checks that the provider wrote nothing into the home and kept no temporary file.
func (c *cli) noFilesLeft() {
	c.t.Helper()
	for _, path := range append(filesBelow(c.t, c.home), filesBelow(c.t, c.temp)...) {
		if path != filepath.Join(c.home, ".terraform.d") { // OpenTofu's own, and empty.
			c.t.Errorf("left in the home or the temporary directory: %s", path)
		}
	}
}

// filesBelow gives all that is in a directory, directories too.
func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

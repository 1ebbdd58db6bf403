package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

// oldestMinor is the first Terraform 1.x that knows write-only arguments.
const oldestMinor = 11

// cli is Terraform or OpenTofu on examples/quickstart with the provider in bin/.
type cli struct {
	path, name string
	// dir is .demo/quickstart, which links to the example's files: the CLI keeps its state beside the configuration.
	dir string
	env []string
}

// newCLI takes the one that TF names; by default Terraform, if one that knows write-only arguments is on PATH, else OpenTofu.
func newCLI(ctx context.Context, s *state, progress io.Writer) (*cli, error) {
	return newCLIOn(ctx, s, "quickstart", progress)
}

// newCLIOn is newCLI on another example.
func newCLIOn(ctx context.Context, s *state, example string, progress io.Writer) (*cli, error) {
	c := &cli{dir: s.path(example)}
	wanted := os.Getenv("TF")
	switch wanted {
	case "", "terraform", "tofu":
	default:
		return nil, fmt.Errorf("TF is %q: it can be terraform or tofu", wanted)
	}
	if wanted != "tofu" {
		path, found, err := terraform(ctx)
		if path == "" && wanted == "terraform" {
			return nil, fmt.Errorf("TF=terraform needs Terraform >= 1.%d on PATH: %w", oldestMinor, err)
		}
		c.path, c.name = path, "Terraform "+found
	}
	if c.path == "" {
		paths, err := engine.Tools(ctx, progress, "tofu")
		if err != nil {
			return nil, err
		}
		found, err := versionOf(ctx, paths["tofu"])
		if err != nil {
			return nil, err
		}
		c.path, c.name = paths["tofu"], "OpenTofu "+found
	}
	if err := linkFiles(filepath.Join(s.project, "examples", example), c.dir); err != nil {
		return nil, err
	}
	config, err := exec.CommandContext(ctx, filepath.Join(s.project, "tools", "cli-config.sh"), filepath.Join(s.project, "bin")).Output()
	if err != nil {
		return nil, fmt.Errorf("tools/cli-config.sh: %w", err)
	}
	if err := os.WriteFile(s.path("cli.tfrc"), config, 0o644); err != nil {
		return nil, err
	}
	// The user's own settings of the CLIs have no part in the demo, but for their log.
	c.env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "TF_") && !strings.HasPrefix(variable, "TF_LOG")
	})
	c.env = append(c.env,
		"TF_CLI_CONFIG_FILE="+s.path("cli.tfrc"), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1", "AWS_EC2_METADATA_DISABLED=true",
	)
	if bundle := engine.CABundle(); bundle != "" {
		c.env = append(c.env, "DATALAYER_CA_BUNDLE="+bundle)
	}
	return c, nil
}

// terraform finds Terraform on PATH and its version; an old one or none gives no path, and why.
func terraform(ctx context.Context) (path, found string, err error) {
	path, err = exec.LookPath("terraform")
	if err != nil {
		return "", "", err
	}
	found, err = versionOf(ctx, path)
	if err != nil {
		return "", "", err
	}
	var major, minor int
	if _, err := fmt.Sscanf(found, "%d.%d", &major, &minor); err != nil {
		return "", "", fmt.Errorf("%s version: %q: %w", path, found, err)
	}
	if major < 1 || major == 1 && minor < oldestMinor {
		return "", "", fmt.Errorf("%s is %s", path, found)
	}
	return path, found, nil
}

// versionOf asks Terraform or OpenTofu, which gives its own under the same key.
func versionOf(ctx context.Context, path string) (string, error) {
	data, err := exec.CommandContext(ctx, path, "version", "-json").Output()
	if err != nil {
		return "", fmt.Errorf("%s version: %w", path, err)
	}
	var answer struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return "", fmt.Errorf("%s version: %w", path, err)
	}
	return answer.Version, nil
}

// linkFiles makes the directory to with a link to each Terraform file and each lock in from.
func linkFiles(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(from, "*.t[fx]*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		link := filepath.Join(to, filepath.Base(file))
		if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.Symlink(file, link); err != nil {
			return err
		}
	}
	return nil
}

// plan tells whether there is something to apply, and keeps the plan for apply; options are as the CLI's own. What the CLI prints is kept in plan.log,
// because the lock alone fills screens; shown is its summary, or all of it if it fails.
func (c *cli) plan(ctx context.Context, options ...string) (changes bool, err error) {
	log, err := os.Create(filepath.Join(c.dir, "plan.log"))
	if err != nil {
		return false, err
	}
	defer log.Close()
	args := append([]string{"plan", "-no-color", "-detailed-exitcode", "-out=plan.tfplan"}, options...)
	err = c.run(ctx, log, args...)
	text, readErr := os.ReadFile(log.Name())
	if readErr != nil {
		return false, errors.Join(err, readErr)
	}
	var exit *exec.ExitError
	changes = errors.As(err, &exit) && exit.ExitCode() == 2 && ctx.Err() == nil
	if err != nil && !changes {
		return false, fmt.Errorf("%w\n%s", err, text)
	}
	fmt.Printf("   %s\n", summary.Find(text))
	return changes, nil
}

// summary is the line that matters of what plan prints.
var summary = regexp.MustCompile(`(?m)^(Plan:|No changes\.).*`)

// apply applies the last plan.
func (c *cli) apply(ctx context.Context) error {
	args := []string{"apply", "-compact-warnings"}
	if info, err := os.Stdout.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		args = append(args, "-no-color")
	}
	return c.run(ctx, os.Stdout, append(args, "plan.tfplan")...)
}

// output reads one output of the state.
func (c *cli) output(ctx context.Context, name string) (string, error) {
	data, err := c.command("output", "-raw", name).Output()
	if err != nil {
		return "", errors.Join(ctx.Err(), fmt.Errorf("%s output %s: %w", c.name, name, err))
	}
	return string(data), nil
}

// run runs a command of the CLI. On a signal to us it is interrupted, as a Ctrl-C at the terminal would, and waited for:
// the provider cleans up meanwhile.
func (c *cli) run(ctx context.Context, output io.Writer, args ...string) error {
	cmd := c.command(args...)
	cmd.Stdout, cmd.Stderr = output, output
	process, err := engine.Start(c.name, cmd)
	if err != nil {
		return err
	}
	select {
	case <-process.Done():
	case <-ctx.Done():
		process.SignalGroup(syscall.SIGINT)
	}
	return errors.Join(ctx.Err(), process.Wait())
}

func (c *cli) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.path, append([]string{"-chdir=" + c.dir}, args...)...) //nolint:noctx // run interrupts it instead of killing it.
	cmd.Env = c.env
	return cmd
}

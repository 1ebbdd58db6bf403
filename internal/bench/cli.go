package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

const overrides = `
provider_installation {
  dev_overrides {
    "hashicorp/datalayer" = %q
    "datalayer/minimal"   = %q
  }
  direct {}
}
`

// cli runs OpenTofu in a folder with the provider in bin/ and the minimal one.
type cli struct {
	program, dir string
	env          []string
}

func (b *bench) cli(ctx context.Context, name, config string) (*cli, error) {
	paths, err := engine.Tools(ctx, io.Discard, "tofu")
	if err != nil {
		return nil, err
	}
	c := &cli{program: paths["tofu"], dir: filepath.Join(b.dir, name)}
	rc, overrides := filepath.Join(b.dir, name+".tfrc"), fmt.Sprintf(overrides, filepath.Join(b.project, "bin"), filepath.Join(b.dir, "minimal"))
	c.env = []string{"TF_CLI_CONFIG_FILE=" + rc, "TF_INPUT=0", "BUILDKIT_HOST=" + b.env.BuildkitAddress, "AWS_EC2_METADATA_DISABLED=true"}
	return c, firstOf(os.Mkdir(c.dir, 0o755), os.WriteFile(rc, []byte(overrides), 0o644), c.write("main.tf", config))
}

func (c *cli) write(name, text string) error {
	return os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644)
}

func (c *cli) run(ctx context.Context, arguments ...string) error {
	return command(ctx, c.dir, c.env, c.program, arguments...)
}

// multiply makes the one instance in state into many that name the same image.
func (c *cli) multiply() error {
	path := filepath.Join(c.dir, "terraform.tfstate")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var state map[string]any
	if err := json.Unmarshal(text, &state); err != nil {
		return err
	}
	resources, _ := state["resources"].([]any)
	if len(resources) != 1 {
		return fmt.Errorf("the state has %d resources, want one", len(resources))
	}
	resource, _ := resources[0].(map[string]any)
	instances, _ := resource["instances"].([]any)
	if len(instances) != 1 {
		return fmt.Errorf("the state has %d instances, want one", len(instances))
	}
	one, _ := instances[0].(map[string]any)
	var all []any
	for i := range many {
		copied := map[string]any{}
		for name, value := range one {
			copied[name] = value
		}
		copied["index_key"] = fmt.Sprint(i)
		all = append(all, copied)
	}
	resource["instances"] = all
	text, err = json.Marshal(state)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

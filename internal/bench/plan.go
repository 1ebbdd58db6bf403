package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

// many is how many resources a plan refreshes.
const many = 200

const environments = `
resource "datalayer_environment" "e" {
  for_each     = toset([for i in range(%d) : tostring(i)])
  name         = "bench"
  base         = %q
  repository   = "%s/bench/plan"
  attestations = { sbom = false, provenance = "none" }
}
`

const builtin = `
resource "terraform_data" "e" {
  for_each = toset([for i in range(%d) : tostring(i)])
  input    = each.key
}
`

// cli runs OpenTofu in a folder with the provider in bin/.
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
	overrides, err := exec.CommandContext(ctx, filepath.Join(b.project, "tools", "cli-config.sh"), filepath.Join(b.project, "bin")).Output()
	if err != nil {
		return nil, err
	}
	rc := filepath.Join(b.dir, name+".tfrc")
	c.env = []string{"TF_CLI_CONFIG_FILE=" + rc, "TF_INPUT=0", "BUILDKIT_HOST=" + b.env.BuildkitAddress, "AWS_EC2_METADATA_DISABLED=true"}
	return c, firstOf(os.Mkdir(c.dir, 0o755), os.WriteFile(rc, overrides, 0o644), c.write("main.tf", config))
}

func (c *cli) write(name, text string) error {
	return os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644)
}

func (c *cli) run(ctx context.Context, arguments ...string) error {
	return command(ctx, c.dir, c.env, c.program, arguments...)
}

// counter is a proxy before the registry that counts requests.
type counter struct {
	host     string
	requests atomic.Int64
	server   *http.Server
}

func (b *bench) counter(ctx context.Context) (*counter, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &counter{host: listener.Addr().String()}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: b.env.RegistryHost}) }}
	c.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = c.server.Serve(listener) }()
	return c, nil
}

// plans measures an empty plan of 200 environments, each refreshed, against one of 200 terraform_data; and what an apply
// adds to the build itself.
func (b *bench) plans(ctx context.Context) (err error) {
	registry, err := b.counter(ctx)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, registry.server.Close()) }()
	ours, err := b.cli(ctx, "ours", fmt.Sprintf(environments, 1, b.env.BaseReference, registry.host))
	if err != nil {
		return err
	}
	theirs, err := b.cli(ctx, "theirs", fmt.Sprintf(builtin, many))
	if err != nil {
		return err
	}
	// The built-in provider needs init; ours, by dev_overrides, does not take it.
	if err := firstOf(ours.run(ctx, "apply", "-auto-approve"), theirs.run(ctx, "init"), theirs.run(ctx, "apply", "-auto-approve")); err != nil {
		return err
	}
	if err := firstOf(ours.multiply(), ours.write("main.tf", fmt.Sprintf(environments, many, b.env.BaseReference, registry.host))); err != nil {
		return err
	}
	plan := func(c *cli) func() error {
		return func() error { return c.run(ctx, "plan", "-detailed-exitcode") }
	}
	first, second, err := ratio(func() error { registry.requests.Store(0); return nil }, plan(ours), plan(theirs))
	if err != nil {
		return err
	}
	b.keep("plan_200_vs_terraform_data", first, second)
	registry.requests.Store(0)
	if err := plan(ours)(); err != nil {
		return err
	}
	b.results["plan_200_requests_count"] = registry.requests.Load()
	return nil
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

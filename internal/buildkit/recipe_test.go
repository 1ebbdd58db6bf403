package buildkit

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/solver/pb"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

var update = flag.Bool("update", false, "write golden files")

const baseConfig = `{"architecture":"amd64","os":"linux","unknown":{"kept":true},"config":{"Env":["PATH=/usr/bin","MODE=base"],"Labels":{"base":"yes","io.datalayer.environment.cache-key":"the base's own"},"User":"root","Healthcheck":{"Test":["NONE"]}},"rootfs":{"type":"layers","diff_ids":[]}}`

func fullRecipe(t *testing.T) recipe {
	t.Helper()
	locked, err := lock.Parse("six==1.17.0 --hash=sha256:" + strings.Repeat("1", 64) + "\n")
	if err != nil {
		t.Fatal(err)
	}
	base, err := reference.ParsePinned("registry.example.com/base@sha256:" + strings.Repeat("a", 64))
	if err != nil {
		t.Fatal(err)
	}
	return recipe{platform: "linux/amd64", python: python{Python: "3.13.5"}, baseConfig: []byte(baseConfig), request: Request{
		Base: base, Lock: locked, Labels: map[string]string{environment.LabelCacheKey: "sha256:key", "team": "a"},
		Spec: environment.Spec{
			Env: map[string]string{"MODE": "own", "A": "1"}, AptPackages: []string{"git", "curl=8.0-1"},
			Files:       []environment.File{{Path: "/srv/b", Content: []byte("b"), Mode: "755"}, {Path: "/home/datalayer/a", Content: []byte("a"), Mode: "0600"}},
			PostInstall: []environment.Command{{Command: "echo $MODE"}},
		},
		Network: Network{CABundle: []byte("certificates"), HTTPSProxy: "http://proxy:3128"},
	}}
}

func TestRecipeIsTheGoldenOne(t *testing.T) {
	golden(t, fullRecipe(t), "testdata/recipe.golden")
}

func golden(t *testing.T, r recipe, golden string) {
	t.Helper()
	root, _, err := r.content().image()
	if err != nil {
		t.Fatal(err)
	}
	got := describe(t, root)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the recipe is\n%s\nwant (go test -run Golden -update writes it)\n%s", got, want)
	}
}

// TestSecretsAreMountedInTheStepsThatNeedThem reads the graph, which is what provenance holds: it has names and no values.
func TestSecretsAreMountedInTheStepsThatNeedThem(t *testing.T) {
	r := fullRecipe(t)
	r.request.BuildSecrets = map[string]secret.Value{"licence": secret.New("cnry-licence")}
	r.request.PackageIndex = &PackageIndex{URL: &url.URL{Scheme: "https", Host: "index.example.com", Path: "/simple/"}, Username: "u", Password: secret.New("cnry-index"), CACertificates: []byte("cnry-ca")}
	root, _, err := r.content().image()
	if err != nil {
		t.Fatal(err)
	}
	graph := describe(t, root)
	if strings.Contains(graph, "cnry") || strings.Contains(graph, "index.example.com") {
		t.Errorf("a secret or the index is in the graph:\n%s", graph)
	}
	const own, index, ca = "/run/secrets/licence SECRET readonly=false secret=build-secret-licence 400\n", "/run/secrets/datalayer-index-url SECRET readonly=false secret=datalayer-index-url 400\n", "secret=datalayer-index-ca 400\n"
	steps := map[string][]string{"apt.sh": {own}, "install.py": {index, ca}, "echo $MODE": {own}}
	for _, step := range strings.Split(graph, "exec ")[1:] {
		for command, want := range steps {
			if !strings.Contains(strings.SplitN(step, "\n", 2)[0], command) {
				continue
			}
			for _, mount := range []string{own, index, ca} {
				if strings.Contains(step, mount) != slices.Contains(want, mount) {
					t.Errorf("mount %sfor the step with %s:\n%s", mount, command, step)
				}
			}
			delete(steps, command)
		}
	}
	if len(steps) > 0 {
		t.Errorf("no step has %v", steps)
	}
}

// TestTriggerIsInTheStepsThatReachSomething: what cannot move needs no other run.
func TestTriggerIsInTheStepsThatReachSomething(t *testing.T) {
	r := fullRecipe(t)
	r.request.RebuildTrigger = "0123"
	r.request.Spec.PostInstall = append(r.request.Spec.PostInstall, environment.Command{Command: "curl", Network: new(true)})
	root, _, err := r.content().image()
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]bool{"apt.sh": true, "install.py": false, "echo $MODE": false, `"-c" "curl"`: true}
	for _, step := range strings.Split(describe(t, root), "exec ")[1:] {
		for command, want := range steps {
			if strings.Contains(strings.SplitN(step, "\n", 2)[0], command) {
				if strings.Contains(step, "secret=datalayer-rebuild-trigger-0123 ") != want {
					t.Errorf("trigger in the step with %s is %v:\n%s", command, !want, step)
				}
				delete(steps, command)
			}
		}
	}
	if len(steps) > 0 {
		t.Errorf("no step has %v", steps)
	}
}

func TestRecipeIsPure(t *testing.T) {
	one, _, err := fullRecipe(t).content().image()
	if err != nil {
		t.Fatal(err)
	}
	other := fullRecipe(t)
	slices.Reverse(other.request.Spec.Files)
	slices.Reverse(other.request.Spec.AptPackages)
	two, _, err := other.content().image()
	if err != nil {
		t.Fatal(err)
	}
	if describe(t, one) != describe(t, two) || !bytes.Equal(definition(t, one), definition(t, two)) {
		t.Error("two spellings of one request give two graphs")
	}
}

func definition(t *testing.T, state llb.State) []byte {
	t.Helper()
	marshalled, err := state.Marshal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Join(marshalled.Def, nil)
}

// describe lists the operations of a graph in the order of the marshalled definition, a line for what matters of each.
func describe(t *testing.T, state llb.State) string {
	t.Helper()
	marshalled, err := state.Marshal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, raw := range marshalled.Def {
		var op pb.Op
		if err := op.UnmarshalVT(raw); err != nil {
			t.Fatal(err)
		}
		switch o := op.Op.(type) {
		case *pb.Op_Source:
			fmt.Fprintf(&out, "source %s\n", o.Source.Identifier)
		case *pb.Op_Exec:
			meta := o.Exec.Meta
			fmt.Fprintf(&out, "exec %q\n  user=%s cwd=%s network=%s\n  env=%q\n", meta.Args, meta.User, meta.Cwd, o.Exec.Network, meta.Env)
			if meta.ProxyEnv != nil {
				t.Error("a proxy is in the graph, and so in the provenance")
			}
			for _, s := range o.Exec.Secretenv {
				fmt.Fprintf(&out, "  secret env %s\n", s.Name)
			}
			for _, m := range o.Exec.Mounts {
				fmt.Fprintf(&out, "  mount %s %s readonly=%v", m.Dest, m.MountType, m.Readonly)
				if m.SecretOpt != nil {
					fmt.Fprintf(&out, " secret=%s %o", m.SecretOpt.ID, m.SecretOpt.Mode)
				}
				out.WriteString("\n")
			}
		case *pb.Op_File:
			for _, action := range o.File.Actions {
				switch a := action.Action.(type) {
				case *pb.FileAction_Mkdir:
					fmt.Fprintf(&out, "mkdir %s %o owner=%s\n", a.Mkdir.Path, a.Mkdir.Mode, owners(a.Mkdir.Owner))
				case *pb.FileAction_Mkfile:
					fmt.Fprintf(&out, "mkfile %s %o owner=%s %d bytes\n", a.Mkfile.Path, a.Mkfile.Mode, owners(a.Mkfile.Owner), len(a.Mkfile.Data))
				}
			}
		}
	}
	return out.String()
}

func owners(o *pb.ChownOpt) string {
	if o == nil {
		return "root"
	}
	return fmt.Sprintf("%d:%d", o.User.GetByID(), o.Group.GetByID())
}

func TestImageConfigKeepsTheBase(t *testing.T) {
	text, err := fullRecipe(t).imageConfig()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Unknown map[string]bool
		Config  struct {
			Env         []string
			Labels      map[string]string
			User        string
			WorkingDir  string
			Healthcheck map[string][]string
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if want := []string{"PATH=/usr/bin", "MODE=own", "A=1"}; !slices.Equal(got.Config.Env, want) {
		t.Errorf("env is %q, want %q", got.Config.Env, want)
	}
	for name, want := range map[string]string{"base": "yes", "team": "a", environment.LabelCacheKey: "sha256:key", environment.LabelPython: "3.13"} {
		if got.Config.Labels[name] != want {
			t.Errorf("label %s is %q, want %q", name, got.Config.Labels[name], want)
		}
	}
	if got.Config.User != "1000:100" || got.Config.WorkingDir != "/home/datalayer/content" || !got.Unknown["kept"] || got.Config.Healthcheck == nil {
		t.Errorf("config is %s", text)
	}
}

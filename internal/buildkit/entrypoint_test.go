package buildkit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// started starts the image as a service does that appends its command to an entrypoint, and tells whether the command ran.
func (b *bench) started(t *testing.T, ref reference.Reference, config image.Config, entrypoint []string) (bool, string) {
	t.Helper()
	output, err := b.daemon.Run(t.Context(), buildkit.Process{
		Image: ref, Platform: environment.DefaultPlatform, Args: slices.Concat(entrypoint, []string{"sh", "-c", `echo "$1"; exit 7`, "name", "an argument"}),
		Env: config.Env, Cwd: config.WorkingDir, User: config.User,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return output.ExitCode == 7 && output.Stdout == "an argument\n", fmt.Sprintf("exit %d: %s%s", output.ExitCode, output.Stdout, output.Stderr)
}

func judged(config image.Config, entrypoint []string) *bool {
	points := environment.ContractPoints(map[string]environment.ImageConfig{environment.DefaultPlatform: {
		User: config.User, WorkingDir: config.WorkingDir, Env: config.Env, Entrypoint: entrypoint,
	}})
	return points[slices.IndexFunc(points, func(p environment.Point) bool { return p.ID == "entrypoint" })].Met
}

func TestEntrypointOfAPushedImageRunsTheCommandItIsGiven(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	config := published.Image.Configs[environment.DefaultPlatform]
	if len(config.Entrypoint) == 0 || config.StopSignal != "" || len(config.Volumes)+len(config.OnBuild) > 0 {
		t.Errorf("the config is %s", config.Raw)
	}
	if met := judged(config, config.Entrypoint); met == nil || !*met {
		t.Errorf("the entrypoint %q is not one of those that are known to exec their arguments", config.Entrypoint)
	}
	if ran, said := b.started(t, published.Reference(request.Repository), config, config.Entrypoint); !ran {
		t.Errorf("the entrypoint %q did not run the command: %s", config.Entrypoint, said)
	}
}

// What is judged without a start must hold in one.
func TestJudgementOfAnEntrypointHoldsInAContainer(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	found, err := b.images.Inspect(t.Context(), request.Base)
	if err != nil {
		t.Fatal(err)
	}
	config := found.Configs[environment.DefaultPlatform]
	for _, entrypoint := range [][]string{
		nil, {"/usr/bin/tini", "--"}, {"tini", "-g", "--"}, {"/usr/bin/env"}, {"/bin/sh", "-c", `exec "$@"`, "--"}, {"tini", "--", "bash", "-ec", `exec "$@"`, "bash"},
		{"/bin/bash"}, {"bash", "-l"}, {"python3"}, {"/usr/bin/python3", "-u"}, {"/bin/sh", "-c", "true"}, {"/bin/sh", "-c", `exec "$@"`}, {"tini", "--", "/bin/bash"},
	} {
		t.Run(strings.Join(entrypoint, " "), func(t *testing.T) {
			met := judged(config, entrypoint)
			if met == nil {
				t.Fatal("it is not judged")
			}
			if ran, said := b.started(t, request.Base, config, entrypoint); ran != *met {
				t.Errorf("judged %t, but the command ran: %t (%s)", *met, ran, said)
			}
		})
	}
}

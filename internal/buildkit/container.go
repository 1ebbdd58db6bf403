package buildkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	gatewaypb "github.com/moby/buildkit/frontend/gateway/pb"
	"github.com/moby/buildkit/solver/pb"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Process is one command in a container that is started from an image's digest on the daemon's worker.
type Process struct {
	Image    reference.Reference
	Platform string
	Args     []string
	Env      []string
	// Cwd and User ("1000:100") are the process's own; the image's config is not applied.
	Cwd, User string
	// Network lets the process reach the daemon's network.
	Network bool
}

// Output is what a process printed, and its exit status.
type Output struct {
	Stdout, Stderr string
	ExitCode       int
}

// Run starts the container, waits for the process and removes the container. A status other than 0 is no error.
func (d *Daemon) Run(ctx context.Context, process Process, credentials image.Credentials) (*Output, error) {
	parsed, err := platforms.Parse(process.Platform)
	if err != nil {
		return nil, err
	}
	output := &Output{}
	_, err = d.client.Build(ctx, client.SolveOpt{Session: attachables(newCredentialServer(credentials), nil)}, "", func(ctx context.Context, daemon gateway.Client) (*gateway.Result, error) {
		root, err := evaluate(ctx, daemon, llb.Image(process.Image.String(), llb.Platform(parsed)).Platform(parsed))
		if err != nil {
			return nil, err
		}
		return gateway.NewResult(), output.run(ctx, daemon, root, process)
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("container of %s: %w", process.Image, err)
	}
	return output, nil
}

func (o *Output) run(ctx context.Context, daemon gateway.Client, root gateway.Reference, process Process) (err error) {
	network := pb.NetMode_NONE
	if process.Network {
		network = pb.NetMode_UNSET
	}
	container, err := daemon.NewContainer(ctx, gateway.NewContainerRequest{
		Mounts: []gateway.Mount{{Dest: "/", MountType: pb.MountType_BIND, Ref: root}}, NetMode: network,
	})
	if err != nil {
		return err
	}
	defer func() {
		// The first process is the container: releasing it repeats how that process ended.
		if released := container.Release(context.WithoutCancel(ctx)); !errors.As(released, new(*gatewaypb.ExitError)) {
			err = errors.Join(err, released)
		}
	}()
	var stdout, stderr bytes.Buffer
	started, err := container.Start(ctx, gateway.StartRequest{
		Args: process.Args, Env: process.Env, Cwd: process.Cwd, User: process.User,
		Stdout: keepOpen{&stdout}, Stderr: keepOpen{&stderr},
	})
	if err != nil {
		return err
	}
	err = started.Wait()
	o.Stdout, o.Stderr = stdout.String(), stderr.String()
	var exit *gatewaypb.ExitError
	if errors.As(err, &exit) {
		o.ExitCode = int(exit.ExitCode)
		return nil
	}
	return err
}

// keepOpen is a writer that the gateway may close.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

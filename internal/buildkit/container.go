package buildkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

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
	// Init is the container's first process, beside which Args run; with none, Args are the first process themselves.
	Init []string
	// ReadOnly are directories of the image to which no process can write, not even root.
	ReadOnly []string
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
	var stdout, stderr bytes.Buffer
	container, err := d.start(ctx, process, credentials, &stdout, &stderr)
	if err != nil {
		return nil, err
	}
	<-container.Ended()
	code, err := container.result()
	if err := errors.Join(err, container.Close()); err != nil {
		return nil, err
	}
	return &Output{Stdout: stdout.String(), Stderr: stderr.String(), ExitCode: code}, nil
}

// Start starts the container with the process as its first and returns while that runs. The container ends with ctx, with
// Close, or with its first process, whichever is first.
func (d *Daemon) Start(ctx context.Context, process Process, credentials image.Credentials) (*Container, error) {
	log := &tail{}
	container, err := d.start(ctx, process, credentials, log, log)
	if err != nil {
		return nil, err
	}
	container.log = log
	return container, nil
}

// closeWithin bounds the removal of a container.
const closeWithin = 30 * time.Second

// Container is a container that runs on the daemon's worker. Its methods may be called at once.
type Container struct {
	process Process
	log     *tail

	container gateway.Container
	// running is closed when the first process has been started, ended when it has ended, gone when the container has been removed.
	running, ended, gone chan struct{}
	// code and failed are how the first process ended; lost is why the container is no more, if that was not asked for.
	code         int
	failed, lost error

	release func()
	// caller is the context of Start, ctx the container's own life.
	caller, ctx context.Context

	opening sync.Mutex
	agent   *agent
}

func (d *Daemon) start(ctx context.Context, process Process, credentials image.Credentials, stdout, stderr io.Writer) (*Container, error) {
	parsed, err := platforms.Parse(process.Platform)
	if err != nil {
		return nil, err
	}
	released := make(chan struct{})
	c := &Container{
		process: process, caller: ctx, running: make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{}),
		release: sync.OnceFunc(func() { close(released) }),
	}
	// The daemon keeps a container for as long as the build function that made it runs.
	go func() {
		defer close(c.gone)
		_, err := d.client.Build(ctx, client.SolveOpt{Session: attachables(newCredentialServer(credentials), nil)}, "", func(ctx context.Context, daemon gateway.Client) (*gateway.Result, error) {
			root, err := evaluate(ctx, daemon, llb.Image(process.Image.String(), llb.Platform(parsed)).Platform(parsed))
			if err != nil {
				return nil, err
			}
			return gateway.NewResult(), c.live(ctx, daemon, root, stdout, stderr, released)
		}, nil)
		if err != nil {
			c.lost = fmt.Errorf("container of %s: %w", process.Image, err)
		}
	}()
	select {
	case <-c.running:
		return c, nil
	case <-c.gone:
		return nil, c.lost
	}
}

// live starts the container, and removes it when it is released or ctx ends.
func (c *Container) live(ctx context.Context, daemon gateway.Client, root gateway.Reference, stdout, stderr io.Writer, released <-chan struct{}) (err error) {
	network := pb.NetMode_NONE
	if c.process.Network {
		network = pb.NetMode_UNSET
	}
	mounts := []gateway.Mount{{Dest: "/", MountType: pb.MountType_BIND, Ref: root}}
	for _, directory := range c.process.ReadOnly {
		mounts = append(mounts, gateway.Mount{Dest: directory, Selector: directory, MountType: pb.MountType_BIND, Ref: root, Readonly: true})
	}
	c.ctx = ctx
	c.container, err = daemon.NewContainer(ctx, gateway.NewContainerRequest{Mounts: mounts, NetMode: network})
	if err != nil {
		return err
	}
	defer func() {
		releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		c.closeAgent()
		// The first process is the container: releasing it repeats how that process ended.
		if removed := c.container.Release(releasing); !errors.As(removed, new(*gatewaypb.ExitError)) {
			err = errors.Join(err, removed)
		}
	}()
	start := func(args []string, stdout, stderr io.Writer) (gateway.ContainerProcess, error) {
		return c.container.Start(ctx, gateway.StartRequest{
			Args: args, Env: c.process.Env, Cwd: c.process.Cwd, User: c.process.User, Stdout: keepOpen{stdout}, Stderr: keepOpen{stderr},
		})
	}
	if len(c.process.Init) > 0 {
		if _, err := start(c.process.Init, io.Discard, io.Discard); err != nil {
			return err
		}
	}
	started, err := start(c.process.Args, stdout, stderr)
	if err != nil {
		return err
	}
	go c.follow(started)
	close(c.running)
	select {
	case <-released:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// errRemoved says that the daemon removed a container and did not say how its first process ended.
var errRemoved = errors.New("it was removed")

// follow waits for the first process. BuildKit's client may never hear of one whose container is removed at that moment, and
// waits for ever then.
func (c *Container) follow(started gateway.ContainerProcess) {
	defer close(c.ended)
	waited := make(chan error, 1)
	go func() { waited <- started.Wait() }()
	select {
	case err := <-waited:
		c.code, c.failed = exitCode(err)
	case <-c.gone:
		select {
		case err := <-waited:
			c.code, c.failed = exitCode(err)
		default:
			c.failed = errRemoved
		}
	}
}

// Ended is closed when the first process has ended, and the container with it.
func (c *Container) Ended() <-chan struct{} { return c.ended }

// result is how the first process ended, once it has.
func (c *Container) result() (int, error) {
	if c.failed != nil {
		return 0, fmt.Errorf("container of %s: %w", c.process.Image, c.failed)
	}
	return c.code, nil
}

// Failure is nil while the first process runs. Then it says how that ended, with the last it printed.
func (c *Container) Failure() error {
	select {
	case <-c.ended:
	default:
		return nil
	}
	code, err := c.result()
	if err == nil {
		err = fmt.Errorf("container of %s: %s ended with status %d", c.process.Image, c.process.Args[0], code)
	}
	return fmt.Errorf("%w\n%s", err, c.Log())
}

// Log is the last that the first process printed.
func (c *Container) Log() string { return c.log.String() }

// Close removes the container, and with it every process in it; Ended is closed then.
func (c *Container) Close() error {
	c.release()
	<-c.gone
	select {
	case <-c.running:
		<-c.ended
	default:
	}
	if c.caller.Err() == nil {
		return c.lost
	}
	// It ended with its context, which is what the caller wanted.
	return nil
}

// exitCode takes the status out of an error that is no more than that.
func exitCode(err error) (int, error) {
	var exit *gatewaypb.ExitError
	if errors.As(err, &exit) {
		return int(exit.ExitCode), nil
	}
	return 0, err
}

// keepOpen is a writer that the gateway may close.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

package buildkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client"
	"golang.org/x/sync/semaphore"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// oldest is the first BuildKit whose image exporter takes rewrite-timestamp, without which bytes differ at each build.
var oldest = [2]int{0, 13}

const answerWithin = 20 * time.Second

// Daemon is a BuildKit daemon that answered.
type Daemon struct {
	// Address is where it was reached, Version what it says of itself ("v0.34.2"), Platforms what it can run ("linux/amd64").
	Address, Version string
	Platforms        []string

	client *client.Client
	slots  *semaphore.Weighted
	logger *slog.Logger
	// after is the clock between two attempts of a push.
	after func(time.Duration) <-chan time.Time
}

// reach is how Connect reaches the daemon.
type reach struct {
	tls *TLS
	// argument is where the configuration says the address.
	argument string
}

// Option changes how Connect reaches the daemon.
type Option func(*reach)

// WithTLS makes the connection with TLS; the address is a tcp:// one.
func WithTLS(settings TLS) Option { return func(r *reach) { r.tls = &settings } }

// FromArgument says which argument the address is from, for errors: buildkit.nodes["linux/arm64"]. Default: buildkit.address.
func FromArgument(name string) Option { return func(r *reach) { r.argument = name } }

const addressArgument = "buildkit.address"

// Connect reaches the daemon and asks for its version and platforms: creating a client alone never fails.
// maxParallel bounds the builds that run at once through this Daemon.
func Connect(ctx context.Context, address string, maxParallel int64, logger *slog.Logger, options ...Option) (*Daemon, error) {
	how := reach{argument: addressArgument}
	for _, option := range options {
		option(&how)
	}
	link, err := newLink(address, how)
	if err != nil {
		return nil, err
	}
	c, err := client.New(ctx, address, link.options...)
	if err != nil {
		return nil, link.unreachable(ctx, err)
	}
	asking, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	info, err := c.Info(asking)
	if err != nil {
		return nil, errors.Join(ctx.Err(), link.unreachable(ctx, err), c.Close())
	}
	workers, err := c.ListWorkers(asking)
	if err != nil {
		return nil, errors.Join(ctx.Err(), link.unreachable(ctx, err), c.Close())
	}
	d := &Daemon{Address: address, Version: info.BuildkitVersion.Version, client: c, slots: semaphore.NewWeighted(maxParallel), logger: logger, after: time.After}
	for _, worker := range workers {
		for _, p := range worker.Platforms {
			name := strings.TrimSuffix(platforms.Format(platforms.Normalize(p)), "/v8")
			if !slices.Contains(d.Platforms, name) {
				d.Platforms = append(d.Platforms, name)
			}
		}
	}
	if err := checkVersion(address, d.Version); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return d, nil
}

// Close ends the connection.
func (d *Daemon) Close() error { return d.client.Close() }

// CanRun checks that the daemon runs steps for all these platforms.
func (d *Daemon) CanRun(wanted []string) error {
	for _, p := range wanted {
		if !slices.Contains(d.Platforms, p) {
			return &problem.Problem{
				Title:  "BuildKit cannot run the platform",
				Path:   []any{"platforms"},
				Object: fmt.Sprintf("%s at %s runs %s, not %s", d.Version, d.Address, strings.Join(d.Platforms, ", "), p),
				Advice: "Build on a machine of that platform, or register an emulator for it on the daemon's machine (binfmt_misc with qemu-user-static).",
			}
		}
	}
	return nil
}

var versionPattern = lazyregexp.New(`^v?(\d+)\.(\d+)`)

func checkVersion(address, version string) error {
	match := versionPattern.FindStringSubmatch(version)
	// A daemon built from source without a version says v0.0.0+unknown: let the solve tell what it can.
	if match == nil || strings.Contains(version, "unknown") {
		return nil
	}
	major, _ := strconv.Atoi(match[1])
	minor, _ := strconv.Atoi(match[2])
	if major > oldest[0] || major == oldest[0] && minor >= oldest[1] {
		return nil
	}
	return &problem.Problem{Title: "BuildKit is too old", Object: fmt.Sprintf("%s at %s", version, address),
		Advice: fmt.Sprintf("Version %d.%d or newer is needed: older ones cannot write images whose bytes are the same at each build.", oldest[0], oldest[1])}
}

// otherProtocol are gRPC's words for a server that chose no HTTP/2 in the TLS handshake, and for one that answers in HTTP/1.
var otherProtocol = lazyregexp.New(`missing selected ALPN property|looked like an HTTP/1`)

func unreachable(address, argument string, err error) error {
	from := argument
	if argument == addressArgument {
		from += ", then " + AddressVariable
	}
	advice := "Check that the daemon runs and that its address is right (provider " + from + ")."
	switch {
	case otherProtocol.MatchString(err.Error()):
		return &problem.Problem{Title: "Server at the address is not BuildKit", Object: address, Cause: errors.New("it answers in another protocol than HTTP/2, which BuildKit speaks"),
			Advice: "Check host and port (provider " + from + "): a web server, or a proxy that does not pass HTTP/2 on, is not the daemon."}
	case strings.HasPrefix(address, "unix://"):
		advice += " For a socket, check too that this user may open it."
	case strings.Contains(err.Error(), "server preface") || strings.Contains(err.Error(), "broken pipe") || strings.Contains(err.Error(), "reset by peer"):
		advice += " The connection was opened and then dropped: most often the daemon expects TLS, which this address does not speak."
	}
	return &problem.Problem{Title: "BuildKit daemon does not answer", Object: address, Cause: err, Advice: advice}
}

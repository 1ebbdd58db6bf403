package buildkit

import (
	"context"
	"crypto/tls"
	"strings"

	"github.com/moby/buildkit/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// link is how an address is reached.
type link struct {
	address string
	// argument is where the configuration says the address.
	argument string
	options  []client.ClientOpt
	// tls is nil where none is spoken; program is nil where none is started.
	tls     *tls.Config
	program *program
}

func newLink(address string, how reach) (*link, error) {
	l := &link{address: address, argument: how.argument}
	if settings := how.tls; settings != nil {
		if err := settings.Check(address); err != nil {
			return nil, err
		}
		host, err := hostOf(address)
		if err != nil {
			return nil, err
		}
		if l.tls, err = settings.config(host); err != nil {
			return nil, err
		}
		// The client's own options for TLS take files. gRPC takes the server's name from the authority, and checks that
		// it is this one.
		l.options = append(l.options,
			client.WithGRPCDialOption(grpc.WithTransportCredentials(credentials.NewTLS(l.tls))),
			client.WithGRPCDialOption(grpc.WithAuthority(host)))
	}
	command, err := commandOf(address)
	if err != nil || command == nil {
		return l, err
	}
	if l.program, err = findProgram(address, command); err != nil {
		return nil, err
	}
	l.options = append(l.options, client.WithContextDialer(l.program.dial))
	return l, nil
}

// unreachable says why the daemon did not answer.
func (l *link) unreachable(ctx context.Context, err error) error {
	if l.program != nil {
		return l.program.failed(err)
	}
	if strings.HasPrefix(l.address, "tcp://") && ctx.Err() == nil {
		if found := tlsFailure(ctx, l.address, l.argument, l.tls); found != nil {
			return found
		}
	}
	return unreachable(l.address, l.argument, err)
}

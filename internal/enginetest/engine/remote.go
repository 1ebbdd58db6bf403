package engine

import (
	"context"
	"fmt"
)

// TCP says how a daemon listens on a port of loopback, beside its socket. The fields are paths of PEM files: without
// Certificate it speaks no TLS, without CA it asks no client for a certificate.
type TCP struct{ CA, Certificate, Key string }

func (t *TCP) config() string {
	if t.Certificate == "" {
		return ""
	}
	text := fmt.Sprintf("[grpc.tls]\ncert = %q\nkey = %q\n", t.Certificate, t.Key)
	if t.CA != "" {
		text += fmt.Sprintf("ca = %q\n", t.CA)
	}
	return text
}

// StartRemoteBuildkit starts a daemon as StartBuildkit does, reached over TCP too. It always starts one of its own, so the
// process needs root. Variables are added to the daemon's environment.
func StartRemoteBuildkit(ctx context.Context, binaries map[string]string, state string, tcp TCP, variables ...string) (*Buildkit, error) {
	return startBuildkit(ctx, binaries, state, &tcp, variables...)
}

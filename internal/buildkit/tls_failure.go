package buildkit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

const diagnoseWithin = 5 * time.Second

const http2Protocol = "h2"

// tlsFailure finds out whether TLS is why a daemon at a tcp:// address did not answer, by a handshake of its own: of a
// daemon that refuses a client, gRPC tells only that the connection broke. It gives nil where TLS is not the reason.
// config is nil where the connection was made without TLS.
func tlsFailure(ctx context.Context, address, argument string, config *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, diagnoseWithin)
	defer cancel()
	if config == nil {
		if !speaksTLS(ctx, address) {
			return nil
		}
		return &problem.Problem{Title: "BuildKit daemon expects TLS", Object: address,
			Advice: "Set buildkit.tls in the provider: ca, and cert and key if the daemon asks clients for a certificate."}
	}
	fault := handshake(ctx, address, config)
	var untrusted *tls.CertificateVerificationError
	var name x509.HostnameError
	var plain tls.RecordHeaderError
	p := &problem.Problem{Object: address, Cause: fault}
	switch {
	case fault == nil:
		return nil
	case errors.As(fault, &name):
		p.Title = "TLS certificate of BuildKit is for another name"
		p.Advice = "The daemon's certificate has to name the host of " + argument + " (subject alternative name). Use a name that it has, or issue another."
	case errors.As(fault, &untrusted):
		p.Title = "TLS certificate of BuildKit is not trusted"
		p.Advice = "buildkit.tls.ca has to be the certificate of the authority that signed the daemon's. Check too that the certificate has not expired. `openssl s_client -connect HOST:PORT -showcerts` shows what the daemon sends."
	case isAlert(fault) && strings.Contains(fault.Error(), "certificate"):
		p.Title = "BuildKit daemon refused the TLS client certificate"
		p.Advice = "buildkit.tls.cert has to be signed by the authority that the daemon was given (--tlscacert), for client authentication (extended key usage clientAuth), and not expired."
		if len(config.Certificates) == 0 {
			p.Title = "BuildKit daemon wants a TLS client certificate"
			p.Advice = "Set buildkit.tls.cert and buildkit.tls.key, signed by the authority that the daemon was given (--tlscacert)."
		}
	case errors.As(fault, &plain), errors.Is(fault, errNoHandshake):
		p.Title = "BuildKit daemon does not speak TLS"
		p.Advice = "Start it with --tlscert, --tlskey and --tlscacert, or remove buildkit.tls. Without TLS, whoever reaches the port controls the daemon."
	case isAlert(fault):
		p.Title = "TLS handshake with BuildKit failed"
		p.Advice = "The daemon ended it. Check that what listens at this address is BuildKit, with TLS 1.2 or later."
	default:
		return nil
	}
	return p
}

// errNoHandshake: the other side hung up where a TLS server would have answered.
var errNoHandshake = errors.New("the connection was closed during the TLS handshake")

// handshake makes a connection as gRPC does, up to the server's first word: only then has it judged the client.
func handshake(ctx context.Context, address string, config *tls.Config) error {
	raw, err := dialTCP(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	config = config.Clone()
	config.NextProtos = []string{http2Protocol}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			return errNoHandshake
		}
		return err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	// The daemon speaks first: its settings, or an alert. A write would race with the end of the connection.
	_, err = conn.Read(make([]byte, 1))
	return err
}

// speaksTLS tells whether a TLS server is at the address, whatever its certificate. Nothing is sent to it.
func speaksTLS(ctx context.Context, address string) bool {
	raw, err := dialTCP(ctx, address)
	if err != nil {
		return false
	}
	defer func() { _ = raw.Close() }()
	// Whether to trust it is decided when buildkit.tls is there to decide it.
	err = tls.Client(raw, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, NextProtos: []string{http2Protocol}}).HandshakeContext(ctx)
	return err == nil || isAlert(err)
}

// isAlert tells whether the other side ended TLS with a reason of its own.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", strings.TrimSuffix(strings.TrimPrefix(address, "tcp://"), "/"))
}

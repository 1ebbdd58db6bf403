package buildkit

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// TLS is how a daemon at a tcp:// address is trusted, and how it knows its client. All texts are PEM.
type TLS struct {
	// CA holds the certificates that may have signed the daemon's; empty: those that this machine trusts.
	CA []byte
	// Certificate and Key prove the client; both are empty where the daemon asks for none.
	Certificate []byte
	Key         secret.Value
}

// Check holds the texts against what TLS needs, and the address against the form that speaks it. An empty address is
// not known yet.
func (t TLS) Check(address string) error {
	if address != "" && !strings.HasPrefix(address, "tcp://") {
		return &problem.Problem{Title: "TLS needs a tcp:// address of BuildKit", Path: []any{"buildkit", "tls"}, Object: address,
			Advice: "Remove buildkit.tls, or give the address at which the daemon speaks TLS: tcp://host:port. A socket and a local program need none."}
	}
	_, err := t.config("")
	return err
}

// config is for the daemon of this name.
func (t TLS) config(host string) (*tls.Config, error) {
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if len(t.CA) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(t.CA) {
			return nil, &problem.Problem{Title: "No CA certificate for BuildKit", Path: []any{"buildkit", "tls", "ca"}, Cause: errors.New("no PEM certificate could be read in it"),
				Advice: "Give the certificate of the authority that signed the daemon's (-----BEGIN CERTIFICATE-----), or a path to it."}
		}
	}
	if len(t.Certificate) == 0 && t.Key.Empty() {
		return config, nil
	}
	pair, err := tls.X509KeyPair(t.Certificate, []byte(t.Key.Reveal()))
	if err != nil {
		return nil, &problem.Problem{Title: "Client certificate for BuildKit cannot be used", Path: []any{"buildkit", "tls", "cert"}, Cause: err,
			Advice: "buildkit.tls.cert and buildkit.tls.key are one certificate and its own private key, both in PEM and the key without a passphrase."}
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// hostOf is the name that the certificate of the daemon at a tcp:// address has to bear.
func hostOf(address string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("address of the daemon: %w", err)
	}
	return parsed.Hostname(), nil
}

package provider

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// caBundleVariable names the file of PEM certificates that the package steps of a build trust.
const caBundleVariable = "DATALAYER_CA_BUNDLE"

// services are the engines that the provider's configuration wires together; each resource is given them.
type services struct {
	userAgent   string
	logger      *slog.Logger
	credentials *credential.Resolver
	// static are the logins of the provider's own configuration, for masking.
	static credential.Static
	// registriesUnknown: the configuration gives registries that are not known yet, so that a missing login means nothing.
	registriesUnknown bool
	address           string
	tls               *buildkitTLS
	nodes             map[string]string
	maxParallel       int64

	registries *image.Client
	connecting singleflight.Group
	daemons    sync.Map // address → *buildkit.Daemon
}

// login is a resource's own credential for one host.
type login struct {
	host       string
	credential image.Credential
}

// registry gives the client for reads and deletes, which have the provider's own logins alone.
func (s *services) registry() *image.Client { return s.registries }

// resolver adds a resource's logins to the provider's.
func (s *services) resolver(logins []login) *credential.Resolver {
	resolver := s.credentials
	for _, l := range logins {
		resolver = resolver.With(l.host, l.credential)
	}
	return resolver
}

// registryWith gives a client that uses a resource's own logins first.
func (s *services) registryWith(logins []login) *image.Client {
	if len(logins) == 0 {
		return s.registries
	}
	return image.New(image.Options{Credentials: s.resolver(logins), UserAgent: s.userAgent, Logger: s.logger})
}

// publisher gives the builder of images.
func (s *services) publisher(logins []login) *buildkit.Publisher {
	return &buildkit.Publisher{Registry: s.registryWith(logins), Connect: s.connect, Nodes: s.connectors(), Logger: s.logger, Now: time.Now}
}

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// secrets are the passwords that a log or an error of a build must not show, beside those that it uses itself.
func (s *services) secrets(logins []login) []secret.Value {
	var values []secret.Value
	for _, c := range s.static {
		values = append(values, c.Password)
	}
	for _, l := range logins {
		values = append(values, l.credential.Password)
	}
	return values
}

// buildNetwork reads what stands between the build's steps and the package indexes from this process's environment.
func buildNetwork() (buildkit.Network, error) {
	either := func(upper, lower string) string {
		if value := os.Getenv(upper); value != "" {
			return value
		}
		return os.Getenv(lower)
	}
	network := buildkit.Network{
		HTTPProxy: either("HTTP_PROXY", "http_proxy"), HTTPSProxy: either("HTTPS_PROXY", "https_proxy"), NoProxy: either("NO_PROXY", "no_proxy"),
	}
	path := os.Getenv(caBundleVariable)
	if path == "" {
		return network, nil
	}
	var err error
	if network.CABundle, err = os.ReadFile(path); err != nil {
		return network, &problem.Problem{Title: "CA bundle cannot be read", Object: fmt.Sprintf("%s = %q", caBundleVariable, path), Cause: err,
			Advice: "It names a file of PEM certificates that the package steps of the build trust. Correct the path or unset it."}
	}
	if len(network.CABundle) > buildkit.MaxSecret || !x509.NewCertPool().AppendCertsFromPEM(network.CABundle) {
		return network, &problem.Problem{Title: "CA bundle cannot be used", Object: fmt.Sprintf("%s = %q, of %d bytes", caBundleVariable, path, len(network.CABundle)),
			Advice: "It names a file with at least one PEM certificate (-----BEGIN CERTIFICATE-----), of at most 500 KiB. Correct the path or unset it."}
	}
	return network, nil
}

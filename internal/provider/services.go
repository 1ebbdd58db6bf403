package provider

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
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
	// registriesUnknown: the configuration gives registries, and not even their hosts are known yet, so that a missing login
	// means nothing. hostsUnknown are those with something that is not known yet.
	registriesUnknown bool
	hostsUnknown      map[string]bool
	// aws asks AWS for the logins of ECR; awsUnknown: its configuration is not known yet.
	aws        *credential.AWS
	awsUnknown bool
	// clients is what all registry clients have in common.
	clients     image.Options
	address     string
	tls         *buildkitTLS
	nodes       map[string]string
	maxParallel int64
	// e2b is nil while its configuration is not known, which e2bUnknown says, and where e2bFault says why a setting of the
	// environment cannot be used: that is no matter of resources that E2B has no part in.
	e2b        *e2b.Client
	e2bUnknown bool
	e2bFault   error

	registries *image.Client
	connecting singleflight.Group
	daemons    sync.Map // address → *buildkit.Daemon
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

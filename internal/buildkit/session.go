package buildkit

import (
	"context"
	"net/url"
	"strings"

	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"google.golang.org/grpc"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
)

// Ids of secret mounts. The first three are also the names of their files under /run/secrets.
const (
	caSecret      = "datalayer-ca-bundle"
	indexSecret   = "datalayer-index-url"
	indexCASecret = "datalayer-index-ca"
	// buildSecretPrefix keeps the user's names apart from ours.
	buildSecretPrefix = "build-secret-"
)

// credentialServer answers the daemon's requests for registry credentials from memory. BuildKit's own provider would
// read and write files in the user's Docker configuration.
type credentialServer struct {
	auth.UnimplementedAuthServer
	source image.Credentials
}

func (s *credentialServer) Register(server *grpc.Server) { auth.RegisterAuthServer(server, s) }

// Credentials is asked once or more for each host of a solve; the host is spelled as in the image name, but for
// Docker Hub, whose requests go to another one.
func (s *credentialServer) Credentials(ctx context.Context, request *auth.CredentialsRequest) (*auth.CredentialsResponse, error) {
	host := request.Host
	if host == "registry-1.docker.io" || host == "index.docker.io" {
		host = "docker.io"
	}
	credential, err := s.source.Credential(ctx, host)
	if err != nil {
		return nil, err
	}
	return &auth.CredentialsResponse{Username: credential.Username, Secret: credential.Password.Reveal()}, nil
}

func attachables(credentials image.Credentials, secrets map[string][]byte) []session.Attachable {
	return []session.Attachable{&credentialServer{source: credentials}, secretsprovider.FromMap(secrets)}
}

// mounts are all secrets of the request by their id.
func (r Request) mounts() map[string][]byte {
	secrets := r.Network.proxies()
	if len(r.Network.CABundle) > 0 {
		secrets[caSecret] = r.Network.CABundle
	}
	if r.PackageIndex != nil {
		secrets[indexSecret] = []byte(r.PackageIndex.address())
		if len(r.PackageIndex.CACertificates) > 0 {
			secrets[indexCASecret] = r.PackageIndex.CACertificates
		}
	}
	for name, value := range r.BuildSecrets {
		secrets[buildSecretPrefix+name] = []byte(value.Reveal())
	}
	return secrets
}

// address is the URL with the login in it, which is the form that pip takes.
func (i PackageIndex) address() string {
	address := *i.URL
	if i.Username != "" {
		address.User = url.UserPassword(i.Username, i.Password.Reveal())
	}
	return address.String()
}

// proxies are the environment variables, in both of the spellings that programs read, of a step that uses the network.
func (n Network) proxies() map[string][]byte {
	variables := map[string][]byte{}
	for name, value := range map[string]string{"HTTP_PROXY": n.HTTPProxy, "HTTPS_PROXY": n.HTTPSProxy, "NO_PROXY": n.NoProxy} {
		if value != "" {
			variables[name], variables[strings.ToLower(name)] = []byte(value), []byte(value)
		}
	}
	return variables
}

package buildkit

import (
	"context"
	"strings"

	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"google.golang.org/grpc"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
)

// caSecret is the id of the secret mount that carries the CA bundle into the steps that use the network.
const caSecret = "datalayer-ca-bundle"

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

func attachables(credentials image.Credentials, network Network) []session.Attachable {
	secrets := network.proxies()
	if len(network.CABundle) > 0 {
		secrets[caSecret] = network.CABundle
	}
	return []session.Attachable{&credentialServer{source: credentials}, secretsprovider.FromMap(secrets)}
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

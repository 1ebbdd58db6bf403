package buildkit

import (
	"context"

	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"google.golang.org/grpc"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
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

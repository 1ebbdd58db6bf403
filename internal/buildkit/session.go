package buildkit

import (
	"context"
	"sync"

	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"google.golang.org/grpc"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// credentialServer answers the daemon's requests for registry credentials from memory. BuildKit's own provider would
// read and write files in the user's Docker configuration.
type credentialServer struct {
	auth.UnimplementedAuthServer
	source image.Credentials

	mu    sync.Mutex
	given map[string][]image.Credential // by host, oldest first
	fault error
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fault = err
		return nil, err
	}
	s.given[host] = append(s.given[host], credential)
	return &auth.CredentialsResponse{Username: credential.Username, Secret: credential.Password.Reveal()}, nil
}

// renewed tells whether the host's credential is another one by now than the daemon was given: a refusal may then be of
// the old one, which the daemon keeps for a whole solve where a registry answers 403 to a login that has ended.
func (s *credentialServer) renewed(ctx context.Context, host string) bool {
	s.mu.Lock()
	given := s.given[host]
	s.mu.Unlock()
	if len(given) == 0 {
		return false
	}
	now, err := s.source.Credential(ctx, host)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fault = err
		return false
	}
	return now.Password != given[len(given)-1].Password
}

// refusal is why the daemon's last request for a credential could not be answered; nil if none was refused.
func (s *credentialServer) refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// secrets are what the daemon was given.
func (s *credentialServer) secrets() []secret.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	var values []secret.Value
	for _, logins := range s.given {
		for _, login := range logins {
			values = append(values, login.Password, basic(login.Username, login.Password))
		}
	}
	return values
}

func newCredentialServer(source image.Credentials) *credentialServer {
	return &credentialServer{source: source, given: map[string][]image.Credential{}}
}

func attachables(credentials *credentialServer, secrets map[string][]byte) []session.Attachable {
	return []session.Attachable{credentials, secretsprovider.FromMap(secrets)}
}

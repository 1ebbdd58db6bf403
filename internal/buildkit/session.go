package buildkit

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"golang.org/x/crypto/nacl/sign"
	"google.golang.org/grpc"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// credentialServer answers the daemon's requests for registry credentials from memory. BuildKit's own provider would
// read and write files in the user's Docker configuration.
//
// Bearer tokens are fetched here and not by the daemon, which keeps the password of a push's first token for all that
// follow it. So a login that changes is asked for again, and none leaves this process but for a registry that takes it
// as it is.
type credentialServer struct {
	auth.UnimplementedAuthServer
	source image.Credentials

	mu sync.Mutex
	// given are the logins that were sent, and the forms in which they are.
	given []secret.Value
	// refusals are why the last login or token for a host could not be had; nil if it could.
	refusals map[string]error
	// last are the logins, by host, that the daemon itself was given last.
	last map[string]image.Credential
}

func newCredentialServer(source image.Credentials) *credentialServer {
	return &credentialServer{source: source, refusals: map[string]error{}, last: map[string]image.Credential{}}
}

func (s *credentialServer) Register(server *grpc.Server) { auth.RegisterAuthServer(server, s) }

// Credentials is asked for a host that takes logins as they are, once or more for each solve. Where another one is asked
// for and cannot be had, the daemon gets the last one again, which the registry refuses: see FetchToken.
func (s *credentialServer) Credentials(ctx context.Context, request *auth.CredentialsRequest) (*auth.CredentialsResponse, error) {
	login, err := s.login(ctx, request.Host)
	host := imageHost(request.Host)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals[host] = err
	if last, given := s.last[host]; err != nil && given {
		login, err = last, nil
	}
	if err != nil {
		return nil, err
	}
	s.last[host] = login
	return &auth.CredentialsResponse{Username: login.Username, Secret: login.Password.Reveal()}, nil
}

// FetchToken is asked for each token. It never fails: containerd's pusher waits for ever where a token fails between a
// 401 and the request's next attempt, so the daemon gets a token that the registry refuses, and the reason stays here.
func (s *credentialServer) FetchToken(ctx context.Context, request *auth.FetchTokenRequest) (*auth.FetchTokenResponse, error) {
	login, err := s.login(ctx, request.Host)
	var token *auth.FetchTokenResponse
	if err == nil {
		token, err = fetchToken(ctx, request, login)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusals[imageHost(request.Host)] = err; err != nil {
		return &auth.FetchTokenResponse{Token: "none", ExpiresIn: refusedFor}, nil
	}
	s.given = append(s.given, secret.New(token.GetToken()))
	return token, nil
}

// GetTokenAuthority says that tokens are fetched here. Builds whose login for a host is the same share its tokens.
func (s *credentialServer) GetTokenAuthority(ctx context.Context, request *auth.GetTokenAuthorityRequest) (*auth.GetTokenAuthorityResponse, error) {
	key, err := s.authority(ctx, request.Host, request.Salt)
	if err != nil {
		return nil, err
	}
	return &auth.GetTokenAuthorityResponse{PublicKey: key[ed25519.SeedSize:]}, nil
}

// VerifyTokenAuthority proves that this is who fetched a token, or would have with the same login.
func (s *credentialServer) VerifyTokenAuthority(ctx context.Context, request *auth.VerifyTokenAuthorityRequest) (*auth.VerifyTokenAuthorityResponse, error) {
	key, err := s.authority(ctx, request.Host, request.Salt)
	if err != nil {
		return nil, err
	}
	return &auth.VerifyTokenAuthorityResponse{Signed: sign.Sign(nil, request.Payload, (*[ed25519.PrivateKeySize]byte)(key))}, nil
}

// processSeed ties the keys below to this process.
var processSeed = sync.OnceValue(func() []byte {
	seed := make([]byte, sha256.Size)
	_, _ = rand.Read(seed) // It never fails.
	return seed
})

func (s *credentialServer) authority(ctx context.Context, host string, salt []byte) (ed25519.PrivateKey, error) {
	login, err := s.login(ctx, host)
	if err != nil {
		return nil, err
	}
	sum := hmac.New(sha256.New, processSeed())
	for _, part := range []string{string(salt), host, login.Username, login.Password.Reveal(), login.RefreshToken.Reveal()} {
		_, _ = fmt.Fprintf(sum, "%d %s", len(part), part) // A hash takes all.
	}
	return ed25519.NewKeyFromSeed(sum.Sum(nil)), nil
}

// imageHost is a host as image names spell it, which is how the daemon does too, but for Docker Hub, whose requests go to
// another one.
func imageHost(host string) string {
	if host == "registry-1.docker.io" || host == "index.docker.io" {
		return "docker.io"
	}
	return host
}

// login asks for the credential of a host.
func (s *credentialServer) login(ctx context.Context, host string) (image.Credential, error) {
	login, err := s.source.Credential(ctx, imageHost(host))
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.given = append(s.given, login.Password, login.RefreshToken, basic(login.Username, login.Password))
	}
	return login, err
}

// seen are the secrets that the daemon and the registries got, to mask them in their words.
func (s *credentialServer) seen() []secret.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.given)
}

// refusal is why the last login or token for a host could not be had; nil if it could.
func (s *credentialServer) refusal(host string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusals[host]
}

// renewed tells whether the host's login is another one by now than the daemon was given: a refusal may then be of the old
// one, which the daemon keeps for a whole solve where a registry answers 403 to a login that has ended.
func (s *credentialServer) renewed(ctx context.Context, host string) bool {
	s.mu.Lock()
	last, given := s.last[host]
	s.mu.Unlock()
	if !given {
		return false
	}
	now, err := s.login(ctx, host)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refusals[host] = err
		return false
	}
	return now.Password != last.Password
}

func attachables(credentials *credentialServer, secrets map[string][]byte) []session.Attachable {
	return []session.Attachable{credentials, secretsprovider.FromMap(secrets)}
}

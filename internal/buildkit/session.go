package buildkit

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"google.golang.org/grpc"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
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

// loginSecrets are what registries may repeat of the logins they are sent: a refused push is reported by the daemon in
// the registry's own words. A login that cannot be had is reported where it is used.
func (r Request) loginSecrets(ctx context.Context) []secret.Value {
	var values []secret.Value
	for _, host := range []string{r.Base.Host, r.Repository.Host} {
		if login, err := r.Credentials.Credential(ctx, host); err == nil {
			values = append(values, login.Password, login.RefreshToken, basic(login.Username, login.Password))
		}
	}
	for _, proxy := range []string{r.Network.HTTPProxy, r.Network.HTTPSProxy} {
		// A proxy is often written without a scheme, which no URL parser takes for a login.
		_, rest, found := strings.Cut(proxy, "://")
		if !found {
			rest = proxy
		}
		login, _, found := strings.Cut(rest, "@")
		username, text, _ := strings.Cut(login, ":")
		if !found || text == "" {
			continue
		}
		for _, spelling := range []func(string) (string, error){unchanged, url.PathUnescape} {
			if password, err := spelling(text); err == nil {
				values = append(values, secret.New(password), basic(username, secret.New(password)))
			}
		}
	}
	return values
}

func unchanged(text string) (string, error) { return text, nil }

// basic is the form in which a login is sent (RFC 7617).
func basic(username string, password secret.Value) secret.Value {
	if password.Empty() {
		return password
	}
	return secret.New(base64.StdEncoding.EncodeToString([]byte(username + ":" + password.Reveal())))
}

func attachables(credentials image.Credentials, caBundle []byte) []session.Attachable {
	list := []session.Attachable{&credentialServer{source: credentials}}
	if len(caBundle) > 0 {
		list = append(list, secretsprovider.FromMap(map[string][]byte{caSecret: caBundle}))
	}
	return list
}

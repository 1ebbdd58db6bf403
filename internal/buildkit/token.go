package buildkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	registryauth "github.com/containerd/containerd/v2/core/remotes/docker/auth"
	remoteserrors "github.com/containerd/containerd/v2/core/remotes/errors"
	"github.com/moby/buildkit/session/auth"
	"github.com/moby/buildkit/util/resolver/retryhandler"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
)

const (
	// refusedFor is how long the daemon keeps a token that is none, in seconds: fewer it takes for ever.
	refusedFor = 3
	// tokenLife is what a token is good for whose service does not say, by the token specification, in seconds.
	tokenLife = 60
	// tokenWithin bounds the requests for one token, which are repeated while the reason may pass.
	tokenWithin = time.Minute
	// tokenClient is the name by which token services that speak OAuth know us.
	tokenClient = "terraform-provider-datalayer"
	maxQuote    = 300
)

// fetchToken asks the token service that a registry names (distribution's token and OAuth2 specifications): by GET, and
// where the service does not take that, or the login is a refresh token, by POST.
func fetchToken(ctx context.Context, request *auth.FetchTokenRequest, login image.Credential) (*auth.FetchTokenResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenWithin)
	defer cancel()
	options := registryauth.TokenOptions{Realm: request.Realm, Service: request.Service, Scopes: request.Scopes, Username: login.Username, Secret: login.Password.Reveal()}
	agent := http.Header{"User-Agent": {tokenClient}}
	if !login.RefreshToken.Empty() {
		options.Username, options.Secret = "", login.RefreshToken.Reveal()
		return byPost(ctx, agent, options)
	}
	got, err := retryhandler.WithRetry(ctx, nil, func(ctx context.Context) (*registryauth.FetchTokenResponse, error) {
		return registryauth.FetchToken(ctx, http.DefaultClient, agent, options)
	})
	var refused remoteserrors.ErrUnexpectedStatus
	switch {
	case err == nil:
		return response(got.Token, got.IssuedAt, got.ExpiresInSeconds), nil
	case options.Secret != "" && errors.As(err, &refused) && (refused.StatusCode == http.StatusMethodNotAllowed || refused.StatusCode == http.StatusNotFound):
		return byPost(ctx, agent, options)
	}
	return nil, tokenRefused(err)
}

func byPost(ctx context.Context, agent http.Header, options registryauth.TokenOptions) (*auth.FetchTokenResponse, error) {
	got, err := retryhandler.WithRetry(ctx, nil, func(ctx context.Context) (*registryauth.OAuthTokenResponse, error) {
		return registryauth.FetchTokenWithOAuth(ctx, http.DefaultClient, agent, tokenClient, options)
	})
	if err != nil {
		return nil, tokenRefused(err)
	}
	return response(got.AccessToken, got.IssuedAt, got.ExpiresInSeconds), nil
}

func response(token string, issued time.Time, seconds int) *auth.FetchTokenResponse {
	if seconds == 0 {
		seconds = tokenLife
	}
	answer := &auth.FetchTokenResponse{Token: token, ExpiresIn: int64(seconds)}
	if !issued.IsZero() {
		answer.IssuedAt = issued.Unix()
	}
	return answer
}

// tokenRefused names the service and quotes it, without the address's query.
func tokenRefused(err error) error {
	var refused remoteserrors.ErrUnexpectedStatus
	var network *url.Error
	switch {
	case errors.As(err, &refused):
		host := refused.RequestURL
		if address, err := url.Parse(host); err == nil {
			host = address.Host
		}
		return fmt.Errorf("the token service %s answered %s: %s", host, refused.Status, quoted(refused.Body))
	case errors.As(err, &network):
		host := network.URL
		if address, err := url.Parse(host); err == nil {
			host = address.Host
		}
		return fmt.Errorf("the token service %s: %w", host, network.Err)
	}
	return fmt.Errorf("the token service: %w", err)
}

// quoted is what a service said, in one line.
func quoted(body []byte) string {
	var answer struct {
		Errors []struct{ Message string }
	}
	text := string(body)
	if json.Unmarshal(body, &answer) == nil && len(answer.Errors) > 0 {
		text = answer.Errors[0].Message
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "�")), " ")
	if utf8.RuneCountInString(text) > maxQuote {
		text = string([]rune(text)[:maxQuote-1]) + "…"
	}
	return text
}

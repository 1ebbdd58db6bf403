package buildkit

import (
	"context"
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/moby/buildkit/session/secrets/secretsprovider"

	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// Ids of secret mounts. The first three are also the names of their files under /run/secrets.
const (
	caSecret      = "datalayer-ca-bundle"
	indexSecret   = "datalayer-index-url"
	indexCASecret = "datalayer-index-ca"
	// buildSecretPrefix keeps the user's names apart from ours.
	buildSecretPrefix = "build-secret-"
	// triggerSecret, with a digest behind it, is never given.
	triggerSecret = "datalayer-rebuild-trigger"
)

// MaxSecret is how many bytes a secret of a build may have: what BuildKit's client sends at most.
const MaxSecret = secretsprovider.MaxSecretSize

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

// Variables are the environment of a program that is to use the proxies.
func (n Network) Variables() map[string]string {
	variables := map[string]string{}
	for name, value := range n.proxies() {
		variables[name] = string(value)
	}
	return variables
}

// Basic is the login as it is sent; empty if there is none.
func (i PackageIndex) Basic() secret.Value { return basic(i.Username, i.Password) }

// loginSecrets are what registries may repeat of the logins they are sent: a refused push is reported by the daemon in
// the registry's own words. A login that cannot be had is reported where it is used.
func (r Request) loginSecrets(ctx context.Context) []secret.Value {
	var values []secret.Value
	for _, host := range append(r.Cache.hosts(), r.Base.Host, r.Repository.Host, r.Attestations.SBOMGenerator.Host) {
		if host == "" {
			continue
		}
		if login, err := r.Credentials.Credential(ctx, host); err == nil {
			values = append(values, login.Password, login.RefreshToken, basic(login.Username, login.Password))
		}
	}
	return append(values, r.Network.Passwords()...)
}

// Passwords are those in the addresses of the proxies, in the forms in which they are sent and repeated.
func (n Network) Passwords() []secret.Value {
	var values []secret.Value
	for _, proxy := range []string{n.HTTPProxy, n.HTTPSProxy} {
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

// secrets are all values that no log line and no error may show.
func (r Request) secrets() []secret.Value {
	values := slices.Collect(maps.Values(r.BuildSecrets))
	if r.PackageIndex != nil {
		values = append(values, r.PackageIndex.Password)
	}
	return append(values, r.Secrets...)
}

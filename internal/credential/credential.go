// Package credential alone decides what a registry host gets: the resource's own argument, then the provider's
// registries[host], then the Docker configuration with its credential helpers, then nothing (anonymous). It is asked
// when a request needs a credential and keeps none.
package credential

import (
	"context"
	"fmt"
	"io"
	"maps"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Static is the provider's registries: credentials by host, as reference.ParseHost gives it.
type Static map[string]image.Credential

// Resolver decides for every host. It implements image.Credentials and is safe for concurrent use.
type Resolver struct {
	own    Static
	static Static
}

// NewResolver uses the provider's registries; nil means none.
func NewResolver(static Static) *Resolver { return &Resolver{static: static} }

// With is a copy of the resolver that gives this host the resource's own credential. A host that is no registry
// address is never asked for, so it changes nothing.
func (r *Resolver) With(host string, c image.Credential) *Resolver {
	own := maps.Clone(r.own)
	if own == nil {
		own = Static{}
	}
	own[canonical(host)] = c
	return &Resolver{own: own, static: r.static}
}

// Credential gives the host's credential; zero is anonymous. Errors are *problem.Problem: a Docker configuration that
// cannot be read, or a credential helper that is missing, fails or hangs.
func (r *Resolver) Credential(ctx context.Context, host string) (image.Credential, error) {
	host = canonical(host)
	if c, ok := r.own[host]; ok {
		return c, nil
	}
	if c, ok := r.static[host]; ok {
		return c, nil
	}
	c, err := fromDocker(ctx, host)
	if c != (image.Credential{}) {
		c.Source = "the Docker configuration"
	}
	return c, err
}

// Format keeps the credentials out of every way of printing: fmt does not ask what lies in unexported fields.
func (r Resolver) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "credential.Resolver")
}

// canonical is the one spelling of a host: "ghcr.io:443" and "ghcr.io" get the same credential.
func canonical(host string) string {
	if parsed, err := reference.ParseHost(host); err == nil {
		return parsed
	}
	return host
}

// Package credential alone decides what a registry host gets: the resource's own argument, then the provider's
// registries[host], then AWS where it is asked for, then the Docker configuration with its credential helpers, then nothing
// (anonymous). It is asked when a request needs a credential, and keeps none but AWS's, which have an end.
package credential

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// DockerSource is the Source of a credential that the Docker configuration or one of its helpers gave.
const DockerSource = "the Docker configuration"

// Static is the provider's registries: credentials by host, as reference.ParseHost gives it.
type Static map[string]image.Credential

// Resolver decides for every host. It implements image.Credentials and is safe for concurrent use.
type Resolver struct {
	own    Static
	static Static
	aws    *AWS
	uses   map[string]use
}

// use is what a host's credential is for, and the role that a resource brings for it, with its external id.
type use struct {
	grants []Grant
	own    Identity
}

// NewResolver uses the provider's registries; nil means none.
func NewResolver(static Static) *Resolver { return &Resolver{static: static} }

// WithAWS is a copy of the resolver that asks AWS for the hosts of ECR that have no login.
func (r *Resolver) WithAWS(source *AWS) *Resolver {
	with := *r
	with.aws = source
	return &with
}

// Using is a copy of the resolver whose credential for the host is held to the grants, where the host can be told so.
func (r *Resolver) Using(host string, grants ...Grant) *Resolver {
	return r.using(host, func(u *use) { u.grants = append(slices.Clone(u.grants), grants...) })
}

// Assuming is a copy of the resolver that opens the host, one of ECR, with the resource's own role. externalID is empty where
// the role's trust policy asks for none.
func (r *Resolver) Assuming(host, role, externalID string) *Resolver {
	return r.using(host, func(u *use) { u.own = Identity{RoleARN: role, ExternalID: externalID} })
}

func (r *Resolver) using(host string, change func(*use)) *Resolver {
	with := *r
	if with.uses = maps.Clone(r.uses); with.uses == nil {
		with.uses = map[string]use{}
	}
	host = reference.CanonicalHost(host)
	changed := with.uses[host]
	change(&changed)
	with.uses[host] = changed
	return &with
}

// With is a copy of the resolver that gives this host the resource's own credential. A host that is no registry
// address is never asked for, so it changes nothing.
func (r *Resolver) With(host string, c image.Credential) *Resolver {
	own := maps.Clone(r.own)
	if own == nil {
		own = Static{}
	}
	own[reference.CanonicalHost(host)] = c
	with := *r
	with.own = own
	return &with
}

// hasLogin tells whether a configuration holds a login for the host: AWS is not asked then.
func (r *Resolver) hasLogin(host string) bool {
	if _, own := r.own[host]; own {
		return true
	}
	_, static := r.static[host]
	return static && r.uses[host].own.RoleARN == ""
}

// Credential gives the host's credential; zero is anonymous. Errors are *problem.Problem: a Docker configuration that
// cannot be read, or a credential helper that is missing, fails or hangs.
func (r *Resolver) Credential(ctx context.Context, host string) (image.Credential, error) {
	host = reference.CanonicalHost(host)
	if c, ok := r.own[host]; ok {
		return c, nil
	}
	use := r.uses[host]
	if c, ok := r.static[host]; ok && use.own.RoleARN == "" {
		return c, nil
	}
	if who, at, ok := r.aws.identity(host, use.own); ok {
		state, err := r.aws.login(ctx, host, who, at, use.grants)
		return state.login, err
	}
	c, err := fromDocker(ctx, host)
	if c != (image.Credential{}) {
		c.Source = DockerSource
	}
	return c, err
}

// LastEnd is when the last of the login tokens ends that AWS gave for the hosts in use; zero if it gave none.
func (r *Resolver) LastEnd() time.Time {
	var last time.Time
	for host, use := range r.uses {
		who, at, ok := r.aws.identity(host, use.own)
		if !ok || r.hasLogin(host) {
			continue
		}
		if end := r.aws.end(who, at, use.grants); end.After(last) {
			last = end
		}
	}
	return last
}

// Format keeps the credentials out of every way of printing: fmt does not ask what lies in unexported fields.
func (r Resolver) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "credential.Resolver")
}

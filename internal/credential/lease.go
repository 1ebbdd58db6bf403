package credential

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// Action is something that a Grant allows in a repository.
type Action string

// The actions. Mounting a layer from another repository needs Pull there.
const (
	Pull     Action = "pull"
	Push     Action = "push"
	Delete   Action = "delete"
	Describe Action = "describe"
)

// Grant is what one use of a credential needs in one repository: its path, without the host, and the actions.
type Grant struct {
	Repository string
	Actions    []Action
}

// AWSKeys are the keys of a session, for a service that calls AWS itself.
type AWSKeys struct {
	AccessKeyID     string
	SecretAccessKey secret.Value
	SessionToken    secret.Value
	// Region is that of the registry's host.
	Region string
	// ExpiresAt is the end of the session, which comes long before that of its login token.
	ExpiresAt time.Time
}

// Lease is a credential for one host that was made for one use, and is given back after it. Safe for concurrent use.
type Lease struct {
	// ID is the name under which a service keeps the credential, as Marker.String writes it. Empty: no service keeps any,
	// so that nothing of it is left but the login itself until ExpiresAt.
	ID string
	// Host is the registry that it opens, as reference.ParseHost gives it.
	Host string
	// Login is what a registry takes: for ECR the user "AWS" and a login token.
	Login image.Credential
	// AWS are the keys of the session that the login came from; nil where the host is not ECR, or where the session is
	// not the lease's own and so not narrowed.
	AWS *AWSKeys
	// ExpiresAt is from when on the login opens nothing: for ECR 12 hours after it was made, however short the session.
	// Zero: it is not known to end.
	ExpiresAt time.Time
	// Narrowed tells whether the login is held to the grants that it was acquired for.
	Narrowed bool

	releasing sync.Mutex
	release   func(context.Context) error
}

// OnRelease says what takes the credential back from the service that keeps it.
func (l *Lease) OnRelease(release func(context.Context) error) { l.release = release }

// Release takes the credential back. Once that succeeded, further calls do nothing; after an error it can be tried again.
func (l *Lease) Release(ctx context.Context) error {
	l.releasing.Lock()
	defer l.releasing.Unlock()
	if l.release == nil {
		return nil
	}
	if err := l.release(ctx); err != nil {
		return err
	}
	l.release = nil
	return nil
}

// Format keeps the secrets out of every way of printing.
func (l *Lease) Format(state fmt.State, _ rune) {
	_, _ = fmt.Fprintf(state, "lease %q for %s", l.ID, l.Host)
}

// Format keeps the secrets out of every way of printing.
func (AWSKeys) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "AWS keys") }

// Acquire gives a credential for the host that allows what is granted there and, where the host can be told so, nothing
// else. What AWS gives is made for this one lease. Errors are *problem.Problem.
func (r *Resolver) Acquire(ctx context.Context, host string, grants []Grant) (*Lease, error) {
	host = reference.CanonicalHost(host)
	use := r.uses[host]
	if who, at, ok := r.aws.identity(host, use.own); ok && !r.hasLogin(host) {
		state, err := r.aws.lease(ctx, host, who, at, grants)
		if err != nil {
			return nil, err
		}
		lease := &Lease{Host: host, Login: state.login, ExpiresAt: state.expires, Narrowed: who.RoleARN != ""}
		if lease.Narrowed {
			lease.AWS = new(AWSKeys).from(state.session, at.Region)
		}
		return lease, nil
	}
	login, err := r.Credential(ctx, host)
	if err != nil {
		return nil, err
	}
	return &Lease{Host: host, Login: login}, nil
}

package credential

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
)

// Bounds of Identity.SessionDuration, which are those of STS, and what it is if zero.
const (
	MinSessionDuration     = 15 * time.Minute
	MaxSessionDuration     = 12 * time.Hour
	DefaultSessionDuration = 15 * time.Minute
)

// awsTimeout bounds one call to AWS, the SDK's own repetitions included.
const awsTimeout = time.Minute

// Identity is who asks AWS for a registry's credential.
type Identity struct {
	// Profile is one of the shared configuration; "" takes the SDK's default chain.
	Profile string
	// RoleARN is assumed with a policy that names what a use needs; equal uses share the session. "" uses the profile as it is.
	RoleARN, ExternalID string
	// SessionDuration is how long a session of the role lasts.
	SessionDuration time.Duration
}

var roleARN = lazyregexp.New(`^arn:[a-z-]+:iam::\d{12}:role/[\w+=,.@/-]+$`)

// ValidRoleARN tells whether a text can be the ARN of an IAM role.
func ValidRoleARN(text string) bool { return len(text) <= 640 && roleARN.MatchString(text) }

var externalID = lazyregexp.New(`^[\w+=,.@:/-]{2,}$`)

// ValidExternalID tells whether STS takes a text as an external id.
func ValidExternalID(text string) bool { return len(text) <= 1224 && externalID.MatchString(text) }

// ParseSessionDuration reads a duration ("15m") that STS takes: MinSessionDuration to MaxSessionDuration, in whole seconds.
func ParseSessionDuration(text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	if err == nil && duration >= MinSessionDuration && duration <= MaxSessionDuration && duration%time.Second == 0 {
		return duration, nil
	}
	return 0, &problem.Problem{Title: "Invalid session_duration", Object: fmt.Sprintf("session_duration = %q", text),
		Advice: `Write a duration from "15m" (900 seconds) to "12h" (43200 seconds), in whole seconds: STS takes no other.`}
}

// written is a duration as people write it in a configuration: "1h30m", "15m".
func written(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (i Identity) sessionDuration() time.Duration {
	if i.SessionDuration == 0 {
		return DefaultSessionDuration
	}
	return i.SessionDuration
}

// over is the identity with the fields of a more special one. An external id belongs to its role.
func (i Identity) over(special Identity) Identity {
	if special.Profile != "" {
		i.Profile = special.Profile
	}
	if special.RoleARN != "" && special.RoleARN != i.RoleARN {
		i.RoleARN, i.ExternalID = special.RoleARN, ""
	}
	if special.ExternalID != "" {
		i.ExternalID = special.ExternalID
	}
	if special.SessionDuration != 0 {
		i.SessionDuration = special.SessionDuration
	}
	return i
}

// AWSOptions say how AWS is asked. Every field may be left zero.
type AWSOptions struct {
	// Default serves every host of ECR; nil means that only the hosts of Hosts are AWS's matter.
	Default *Identity
	// Hosts are identities of single hosts, whose fields go before Default's.
	Hosts map[string]Identity
	// Withheld tells of a host that its identity is not known yet, so that AWS must not be asked with less than it; nil: of
	// none.
	Withheld func(host string) bool
	// Region is where STS is asked for the registries of its partition; that of the registry's host if empty.
	Region string
	// STSEndpoint and ECREndpoint are URLs in place of AWS's own.
	STSEndpoint, ECREndpoint string
	// HTTPClient is the SDK's if nil.
	HTTPClient aws.HTTPClient
	// Now is the clock, Sleep waits d or until ctx ends.
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Logger *slog.Logger
}

// AWS gets sessions from STS and login tokens from ECR, each when it is needed first, and keeps it until shortly before
// it ends. Safe for concurrent use.
type AWS struct {
	options AWSOptions

	mu     sync.Mutex
	bases  map[baseKey]aws.Config
	states map[stateKey]*awsState
	warned map[string]bool
	unsaid problem.List
}

// baseKey is all that makes two configurations different: an identity is one of one partition.
type baseKey struct{ profile, partition string }

// stateKey is all that makes two credentials different.
type stateKey struct {
	identity Identity
	host     ECRHost
	// policy is empty without a role, which no policy can narrow.
	policy string
}

// awsState is what was got for one key. The channel lets one in at a time, which then finds what the last one got, or how
// it failed.
type awsState struct {
	turn    chan struct{}
	tries   *tries
	session aws.Credentials
	// sessionUntil is when the session is renewed, zero if it has no end; loginUntil when the login is; expires is the
	// login's end.
	sessionUntil, loginUntil, expires time.Time
	login                             image.Credential
}

// Format keeps the session's keys, which the SDK holds in the clear, out of every way of printing.
func (awsState) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "AWS state") }

// NewAWS makes a source; nothing is read or asked yet.
func NewAWS(o AWSOptions) *AWS {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = retry.Sleep
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &AWS{options: o, bases: map[baseKey]aws.Config{}, states: map[stateKey]*awsState{}, warned: map[string]bool{}}
}

// Format keeps sessions and tokens out of every way of printing.
func (a *AWS) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "credential.AWS") }

// identity tells who asks for a host's credential; ok is false where that is not AWS's matter. own, if it has a role,
// goes before what is configured for the host.
func (a *AWS) identity(host string, own Identity) (who Identity, at ECRHost, ok bool) {
	at, isECR := ParseECRHost(host)
	if a == nil || !isECR || a.options.Withheld != nil && a.options.Withheld(host) {
		return Identity{}, ECRHost{}, false
	}
	special, configured := a.options.Hosts[host]
	if a.options.Default != nil {
		who = *a.options.Default
	}
	who = who.over(special).over(own)
	return who, at, own.RoleARN != "" || configured || a.options.Default != nil
}

func (a *AWS) state(who Identity, at ECRHost, grants []Grant) (*awsState, string, error) {
	key := stateKey{identity: who, host: at}
	if who.RoleARN != "" {
		var err error
		if key.policy, err = sessionPolicy(at, grants); err != nil {
			return nil, "", err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	state := a.states[key]
	if state == nil {
		state = &awsState{turn: make(chan struct{}, 1), tries: new(tries)}
		a.states[key] = state
	}
	return state, key.policy, nil
}

// lease gives a login token and the session that it came from, made for this one use: both have their whole life before
// them, and nobody else is given them.
func (a *AWS) lease(ctx context.Context, host string, who Identity, at ECRHost, grants []Grant) (*awsState, error) {
	var policy string
	if who.RoleARN != "" {
		var err error
		if policy, err = sessionPolicy(at, grants); err != nil {
			return nil, err
		}
	}
	state := &awsState{tries: new(tries)}
	return state, a.renew(ctx, state, host, who, at, policy)
}

// login gives a login token for the host that allows the grants, and how long it and its session last.
func (a *AWS) login(ctx context.Context, host string, who Identity, at ECRHost, grants []Grant) (awsState, error) {
	state, policy, err := a.state(who, at, grants)
	if err != nil {
		return awsState{}, err
	}
	leave, missed, err := state.enter(ctx, host, who)
	if err != nil {
		return awsState{}, err
	}
	defer leave()
	if !state.login.Password.Empty() && a.options.Now().Before(state.loginUntil) {
		return *state, nil
	}
	if missed.failure == nil {
		missed.failure = a.renew(ctx, state, host, who, at, policy)
	}
	if missed.failure != nil {
		return awsState{}, a.again(state, host, missed.failure)
	}
	return *state, nil
}

// renew gets a login token, and a session for it where the state has none that works.
func (a *AWS) renew(ctx context.Context, state *awsState, host string, who Identity, at ECRHost, policy string) error {
	now := a.options.Now()
	if err := a.enterSession(ctx, state, host, who, at, policy); err != nil {
		return err
	}
	login, expires, err := a.token(ctx, host, who, at, state.session)
	if err != nil {
		state.tries.ended(ctx, try{failure: err})
		return err
	}
	// AWS does not say whether a login token ends with the session that it came from: it is used no longer than that.
	if state.loginUntil = renewal(now, expires); !state.sessionUntil.IsZero() && state.sessionUntil.Before(state.loginUntil) {
		state.loginUntil = state.sessionUntil
	}
	login.RenewAt = state.loginUntil
	state.login, state.expires = login, expires
	a.options.Logger.DebugContext(ctx, "got a login token", "host", host, "role", who.RoleARN, "expires", expires.UTC().Format(time.RFC3339))
	return nil
}

// end is when the login token that was given last ends; zero if none was.
func (a *AWS) end(who Identity, at ECRHost, grants []Grant) time.Time {
	state, _, err := a.state(who, at, grants)
	if err != nil {
		return time.Time{}
	}
	state.turn <- struct{}{} // Whoever is in there now is bounded.
	defer func() { <-state.turn }()
	return state.expires
}

// enterSession sees to it that the state holds keys that work.
func (a *AWS) enterSession(ctx context.Context, state *awsState, host string, who Identity, at ECRHost, policy string) error {
	now := a.options.Now()
	if who.RoleARN != "" && state.session.HasKeys() && now.Before(state.sessionUntil) {
		return nil
	}
	keys, err := a.session(ctx, host, who, at, policy)
	if err != nil {
		state.tries.ended(ctx, try{failure: err, session: true})
		return err
	}
	state.session, state.sessionUntil = keys, time.Time{}
	switch {
	case who.RoleARN != "":
		// The end that STS names is by its clock, which need not be ours; how long a session lasts is the same by both.
		state.sessionUntil = renewal(now, now.Add(who.sessionDuration()))
	case keys.CanExpire:
		state.sessionUntil = renewal(now, keys.Expires)
	}
	return nil
}

// renewal is shortly before the end: five minutes, or a fifth of a short life.
func renewal(now, expires time.Time) time.Time {
	return expires.Add(-min(5*time.Minute, expires.Sub(now)/5))
}

// again says of a failure that it is not the first credential that could not be had.
func (a *AWS) again(state *awsState, host string, err error) error {
	var p *problem.Problem
	if state.login.Password.Empty() || !errors.As(err, &p) {
		return err
	}
	said := *p
	said.Object = fmt.Sprintf("%s: the login token for %s has expired (or is about to, %s) and no new one could be had", p.Object, host, state.expires.UTC().Format(time.RFC3339))
	return &said
}

package credential

import (
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
)

// Whoever is handed a lease keeps it for the time of a build, so it does not begin with what another use has left.
func TestALeaseHasItsWholeLifeBeforeIt(t *testing.T) {
	c := newCloud(t)
	for name, identity := range map[string]Identity{"role": {RoleARN: c.roleFor(awstest.Role{})}, "own keys": {}} {
		t.Run(name, func(t *testing.T) {
			grants := []Grant{{"team/env", []Action{Pull}}}
			r := c.resolver(AWSOptions{Default: &identity}).Using(ecrHost, grants...)
			first, err := r.Acquire(t.Context(), ecrHost, grants)
			must(t, err)
			_, err = r.Credential(t.Context(), ecrHost)
			must(t, err)
			c.pass(11 * time.Minute)
			second, err := r.Acquire(t.Context(), ecrHost, grants)
			must(t, err)
			if first.Login.Password == second.Login.Password || second.ExpiresAt.Sub(c.clock.Now()) < 12*time.Hour-time.Second {
				t.Errorf("the second lease ends at %s, the first at %s", second.ExpiresAt, first.ExpiresAt)
			}
			if second.Narrowed && (first.AWS.AccessKeyID == second.AWS.AccessKeyID || second.AWS.ExpiresAt.Sub(c.clock.Now()) < 15*time.Minute-time.Second) {
				t.Errorf("the second session ends at %s, the first at %s", second.AWS.ExpiresAt, first.AWS.ExpiresAt)
			}
		})
	}
}

// Our clock is half an hour behind AWS's, or before it: a session still ends when it has lasted as long as it does.
func TestASessionEndsByOurClockToo(t *testing.T) {
	for name, behind := range map[string]time.Duration{"behind": 30 * time.Minute, "ahead": -30 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			role := c.roleFor(awstest.Role{})
			r := NewResolver(nil).WithAWS(NewAWS(AWSOptions{
				Default: &Identity{RoleARN: role}, HTTPClient: c.Client(t), Sleep: c.Sleep,
				Now: func() time.Time { return c.clock.Now().Add(-behind) },
			})).Using(ecrHost, Grant{"team/env", []Action{Describe}})
			for _, step := range []struct {
				after    time.Duration
				sessions int
			}{{0, 1}, {11 * time.Minute, 1}, {2 * time.Minute, 2}} {
				c.pass(step.after)
				_, _, _, err := r.Session(t.Context(), ecrHost)
				must(t, err)
				if got := len(c.Calls("AssumeRole")); got != step.sessions {
					t.Errorf("%s later there are %d sessions, want %d", step.after, got, step.sessions)
				}
			}
		})
	}
}

// A token of keys that end is used no longer than they are, as that of a role's session is.
func TestATokenIsUsedNoLongerThanTheKeysItCameFrom(t *testing.T) {
	c := newCloud(t)
	key, secret, token := c.Temporary(account, "ci")
	c.profiles("[profile p]\ncredential_process = printf '{\"Version\": 1, \"AccessKeyId\": \"" + key + "\", \"SecretAccessKey\": \"" + secret + "\", \"SessionToken\": \"" + token +
		"\", \"Expiration\": \"" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + "\"}'\n")
	r := c.resolver(AWSOptions{Default: &Identity{Profile: "p"}})
	got, err := r.Credential(t.Context(), ecrHost)
	must(t, err)
	if until := got.RenewAt.Sub(c.clock.Now()); until < 50*time.Minute || until > time.Hour {
		t.Errorf("the token is used for %s", until)
	}
}

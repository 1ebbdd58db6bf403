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

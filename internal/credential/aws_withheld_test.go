package credential

import (
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
)

func TestAnIdentityThatIsNotKnownYetIsNotAskedAsAnother(t *testing.T) {
	c := newCloud(t)
	r := c.resolver(AWSOptions{Default: &Identity{}, Withheld: func(host string) bool { return host == ecrHost }})
	got, err := r.Credential(t.Context(), ecrHost)
	must(t, err)
	_, _, ok, err := r.Session(t.Context(), ecrHost)
	must(t, err)
	lease, err := r.Acquire(t.Context(), ecrHost, nil)
	must(t, err)
	if ok || !got.Password.Empty() || !lease.Login.Password.Empty() || len(c.Calls()) > 0 {
		t.Errorf("got %v, %v, %t after %+v", got, lease.Login, ok, c.Calls())
	}
	if got, err = r.Credential(t.Context(), awstest.Host(other, region)); err != nil || got.Username != "AWS" {
		t.Errorf("another host: got %v, %v", got, err)
	}
}

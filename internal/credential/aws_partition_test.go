package credential

import (
	"fmt"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
)

// No STS knows the role of another partition, so that none is asked.
func TestARoleOfAnotherPartitionIsRefused(t *testing.T) {
	c := newCloud(t)
	gov := account + ".dkr.ecr.us-gov-west-1.amazonaws.com"
	_, err := c.resolver(AWSOptions{Default: &Identity{RoleARN: c.roleFor(awstest.Role{})}}).Credential(t.Context(), gov)
	p := asProblem(t, err)
	if p.Title != "AWS role of another partition" || !strings.Contains(p.Detail(), "aws-us-gov") || !strings.Contains(p.Detail(), "role/"+roleName) || len(c.Calls()) > 0 {
		t.Errorf("got %q after %+v", p.Detail(), c.Calls())
	}
	for role, fits := range map[string]bool{
		"": true, "arn:aws-us-gov:iam::111122223333:role/team/builder": true, "arn:aws:iam::111122223333:role/builder": false, "arn:aws-cn:iam::111122223333:role/builder": false,
	} {
		at, _ := ParseECRHost(gov)
		if err := at.CheckRole(role); (err == nil) != fits {
			t.Errorf("%q: %v", role, err)
		}
	}
	if _, err := ParseRegistries(`{"` + gov + `": {"ecr": {"role_arn": "arn:aws:iam::111122223333:role/builder"}}}`); err == nil || asProblem(t, err).Title != "AWS role of another partition" || !strings.Contains(err.Error(), RegistriesVariable) {
		t.Errorf("got %v", err)
	}
}

// What a profile gets in one partition is nothing that another knows.
func TestEachPartitionHasItsOwnConfiguration(t *testing.T) {
	c := newCloud(t)
	key, secret := c.User(account, "base")
	own := c.Role(account, "own", awstest.Role{Repositories: []string{"*"}})
	c.profiles(fmt.Sprintf("[profile chained]\nrole_arn = %s\nsource_profile = base\n[profile base]\naws_access_key_id = %s\naws_secret_access_key = %s\n", own, key, secret))
	r := c.resolver(AWSOptions{Default: &Identity{Profile: "chained"}})
	var tokens []string
	for _, host := range []string{ecrHost, account + ".dkr.ecr.us-gov-west-1.amazonaws.com"} {
		got, err := r.Credential(t.Context(), host)
		must(t, err)
		tokens = append(tokens, got.Password.Reveal())
	}
	calls := c.Calls("AssumeRole")
	if len(calls) != 2 || calls[0].Region != region || calls[1].Region != "us-gov-west-1" || tokens[0] == tokens[1] {
		t.Errorf("the profile's role was asked for by %+v", calls)
	}
}

package credential

import (
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

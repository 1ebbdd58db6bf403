package credential

import (
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
)

// Who was refused reads where the login came from, and, on ECR, what was not asked.
func TestSoughtNamesWhatCanBeSetForTheHost(t *testing.T) {
	const role = "arn:aws:iam::111122223333:role/ci"
	login := Static{ecrHost: image.Credential{Username: "u"}, "r.example.com": image.Credential{Username: "u"}}
	using := func(o AWSOptions) *Resolver { return NewResolver(nil).WithAWS(NewAWS(o)) }
	for name, tt := range map[string]struct {
		resolver  *Resolver
		host      string
		has, lack []string
	}{
		"other host":       {NewResolver(nil), "r.example.com", []string{`registries["r.example.com"] and DATALAYER_REGISTRIES, then in the Docker configuration`, "base_registry"}, []string{"AWS", "ECR"}},
		"first step":       {NewResolver(nil), ecrHost, []string{"is a registry of Amazon ECR", "aws = {}", "ecr = {}", "then at AWS, where", "then in the Docker configuration"}, nil},
		"another is asked": {using(AWSOptions{Hosts: map[string]Identity{"444455556666.dkr.ecr.us-east-1.amazonaws.com": {}}}), ecrHost, []string{"aws = {}"}, nil},
		"login of its own": {NewResolver(login), ecrHost, []string{"then at AWS, where"}, []string{"aws = {}"}},
		"role":             {using(AWSOptions{Default: &Identity{RoleARN: role}}), ecrHost, []string{"from AWS with the role " + role, "policy of the repository"}, []string{"Docker", "registries["}},
		"resource's role":  {using(AWSOptions{}).Assuming(ecrHost, role, ""), ecrHost + ":443", []string{"from AWS with the role " + role}, []string{"Docker"}},
		"no role":          {using(AWSOptions{Default: &Identity{Profile: "ci"}}), ecrHost, []string{`from AWS with the identity of profile "ci"`}, []string{"Docker"}},
		"AWS elsewhere":    {using(AWSOptions{Default: &Identity{RoleARN: role}}), "r.example.com", []string{"Docker"}, []string{"AWS"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := tt.resolver.Sought(tt.host)
			for _, words := range tt.has {
				if !strings.Contains(got, words) {
					t.Errorf("%q is not in %q", words, got)
				}
			}
			for _, words := range tt.lack {
				if strings.Contains(got, words) {
					t.Errorf("%q is in %q", words, got)
				}
			}
		})
	}
}

package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
)

// handing configures one instance of the provider that opens the login of the target's registry with these arguments, and
// another one, which knows nothing of AWS there, that builds with it.
func (s *ecrStack) handing(aws, login string) {
	s.t.Helper()
	host := awstest.Host(targetAccount, targetRegion)
	s.configure(fmt.Sprintf(`  registries = {
    %q = { username = ephemeral.datalayer_registry_credentials.r.username, password = ephemeral.datalayer_registry_credentials.r.password }
    %q = { ecr = { role_arn = %q } }
  }`, host, awstest.Host(baseAccount, baseRegion), s.baseRole), "")
	s.write("login.tf", fmt.Sprintf(`
provider "datalayer" {
  alias = "logins"
  aws   = %s
}

ephemeral "datalayer_registry_credentials" "r" {
  provider = datalayer.logins
  host     = %q
%s
  lifecycle {
    postcondition {
      condition     = self.username == "AWS" && timecmp(self.expires_at, plantimestamp()) > 0
      error_message = "username or expires_at"
    }
  }
}
`, aws, host, login))
}

func TestCLI_EphemeralLoginOfECRIsHeldToItsGrants(t *testing.T) {
	s := newECRStack(t)
	s.needsCLI(1, 11)
	role, grants := fmt.Sprintf(`{ role_arn = %q }`, s.targetRole), fmt.Sprintf(`  grants = [{ repository = %q, actions = ["push", "pull"] }]`, targetName)
	// Another repository of the registry is closed to it.
	target := s.target
	s.target = s.Repository(t, targetAccount, targetRegion, "team/other")
	s.handing(role, grants)
	s.expect(1, "apply", "-auto-approve").says(t, "Push to the repository is not possible", "team/other")
	s.target = target
	s.handing(role, grants)
	s.Forget()
	o := s.expect(0, "apply", "-auto-approve")
	for _, warning := range []string{"Grants do not narrow", "about to expire"} {
		if strings.Contains(o.stdout+o.stderr, warning) {
			t.Errorf("it warns:\n%s", o.stdout)
		}
	}
	// It is opened in plan and again in apply; each session is held to the one repository.
	var got []string
	for _, call := range s.Calls("AssumeRole") {
		if call.Parameters["RoleArn"] == s.targetRole {
			got = append(got, call.Parameters["Policy"])
		}
	}
	want := policy(map[string][]string{awstest.ARN(targetAccount, targetRegion, targetName): pushes})
	if len(got) < 2 || len(slices.Compact(got)) != 1 || got[0] != want {
		t.Errorf("the role was assumed with the policies\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}

	s.write("login.tf", "")
	s.twoRoles("")
	s.expect(0, "destroy", "-auto-approve")
	if left := s.left(); len(left) > 0 {
		t.Errorf("left in the target registry: %q", left)
	}
	s.noFilesLeft()
}

func TestCLI_EphemeralLoginOfECRNeedsGrants(t *testing.T) {
	s := newECRStack(t)
	s.handing(fmt.Sprintf(`{ role_arn = %q }`, s.targetRole), "")
	s.expect(1, "plan").says(t, "Registry login without grants", awstest.Host(targetAccount, targetRegion), `grants = [{ repository = "team/env", actions = ["pull"] }]`)
	// Without a role there is nothing that could be narrowed, and both warnings say so.
	s.handing("{}", fmt.Sprintf(`  grants = [{ repository = %q, actions = ["pull"] }]`, targetName))
	s.expect(0, "plan").says(t, "Grants do not narrow this login", "arn:aws:iam::777788889999:user/ci")
	s.handing("{}", "")
	s.expect(0, "plan").says(t, "arn:aws:iam::777788889999:user/ci")
	s.handing(`{ role_arn = "arn:aws:iam::444455556666:role/none" }`, fmt.Sprintf(`  grants = [{ repository = %q, actions = ["pull"] }]`, targetName))
	s.expect(1, "plan").says(t, "AWS role for the registry cannot be assumed", "arn:aws:iam::444455556666:role/none", "arn:aws:iam::777788889999:user/ci", "AccessDenied")
}

// The login ends while the apply runs: Terraform asks for more, which nobody can give. Terraform 1.11.4 shows no warning
// of a renewal, so the log is what is read.
func TestCLI_EphemeralLoginThatIsAboutToExpireIsLogged(t *testing.T) {
	s := newECRStack(t)
	s.TokenLife = 5*time.Minute + time.Second
	s.handing(fmt.Sprintf(`{ role_arn = %q }`, s.targetRole), fmt.Sprintf(`  grants = [{ repository = %q, actions = ["push", "pull"] }]`, targetName))
	o := s.expect(0, "apply", "-auto-approve")
	o.says(t, "Renewing...")
	if want := "Registry login is about to expire: The password for " + awstest.Host(targetAccount, targetRegion); !strings.Contains(o.log, want) {
		t.Errorf("the log does not say %q", want)
	}
	s.write("login.tf", "")
	s.twoRoles("")
	s.expect(0, "destroy", "-auto-approve")
	if left := s.left(); len(left) > 0 {
		t.Errorf("left in the target registry: %q", left)
	}
}

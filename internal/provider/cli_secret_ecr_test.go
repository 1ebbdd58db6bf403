package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// given are all secrets that AWS has given out so far, and the user's own key.
func (s *ecrStack) given() enginetest.Canaries {
	secrets := enginetest.Canaries{"the user's secret key": s.secret}
	for i, secret := range s.Secrets() {
		secrets[fmt.Sprintf("secret %d of AWS", i)] = secret
	}
	return secrets
}

// unseen runs to the end, and searches all that was written for what AWS has given.
func (s *ecrStack) unseen(code int, arguments ...string) outcome {
	s.t.Helper()
	o := s.expect(code, arguments...)
	secrets := s.given()
	unsaid(s.t, secrets, arguments[0], o)
	if secrets.NowhereIn(s.t, s.dir) == 0 {
		s.t.Error("no file is in the working directory")
	}
	s.noFilesLeft()
	return o
}

func TestCLI_SecretsOfAWSAreKeptNowhere(t *testing.T) {
	s := newECRStack(t)
	s.twoRoles("")
	s.unseen(0, "plan", "-out=plan")
	s.unseen(0, "show", "-json", "plan")
	s.unseen(0, "apply", "plan")
	s.unseen(0, "show", "-json")
	s.unseen(0, "plan", "-detailed-exitcode")
	// A login that AWS gives and the registry then refuses: the error names role and host alone.
	before := s.targetRole
	s.targetRole = s.Role(targetAccount, "elsewhere", awstest.Role{Repositories: []string{awstest.ARN(targetAccount, targetRegion, "other*")}})
	s.twoRoles("")
	s.unseen(1, "apply", "-auto-approve", "-refresh=false", "-replace="+address).says(t, "403")
	s.targetRole = before
	s.twoRoles("")
	// Session keys with their token, and login tokens: a user's key alone would prove little.
	if given := len(s.given()); given < 10 {
		t.Errorf("AWS gave %d secrets only", given)
	}
	if kinds := s.Registry(t, targetAccount, targetRegion).Sweep(t, s.given()); len(kinds) < 3 {
		t.Errorf("%v is in the registry's storage, want manifests, configs and layers", kinds)
	}
	s.unseen(0, "destroy", "-auto-approve")
	if left := s.left(); len(left) > 0 {
		t.Errorf("left in the target registry: %q", left)
	}
}

func TestCLI_SweepOfECRIsHeldToTheRepository(t *testing.T) {
	s := newECRStack(t)
	s.twoRoles("")
	s.expect(0, "apply", "-auto-approve")
	reference := fmt.Sprint(s.only().Attributes["reference"])
	s.expect(0, "state", "rm", address)
	s.Forget()

	// AWS is not asked unless the environment says so.
	said, code := s.sweepImages("--repository", s.target)
	if code != 1 || !strings.Contains(said, "failed    artifacts could not be listed") || len(s.Calls()) > 0 {
		t.Errorf("sweep without a login ended with %d, after %v:\n%s", code, s.Calls(), said)
	}
	s.env["DATALAYER_REGISTRIES"] = fmt.Sprintf(`{%q: {"ecr": {"role_arn": %q}}}`, awstest.Host(targetAccount, targetRegion), s.targetRole)
	said, code = s.sweepImages("--repository", s.target)
	if code != 0 || !strings.Contains(said, "artifact  "+reference+", ") {
		t.Errorf("sweep ended with %d:\n%s", code, said)
	}
	said, code = s.sweepImages("--repository", s.target, "--delete-artifact", reference)
	if code != 0 || !strings.Contains(said, "removed   artifact "+reference) {
		t.Errorf("sweep by id ended with %d:\n%s", code, said)
	}
	if left := s.left(); len(left) > 0 {
		t.Errorf("left in the target registry: %q", left)
	}
	for _, asked := range s.Policies() {
		if strings.Count(asked, "arn:") != 1 || !strings.Contains(asked, awstest.ARN(targetAccount, targetRegion, targetName)) || strings.Contains(asked, "PutImage") {
			t.Errorf("a session was asked for with the policy %s", asked)
		}
	}
	for _, name := range s.given().Found([]byte(said)) {
		t.Errorf("%s is in what sweep says", name)
	}
}

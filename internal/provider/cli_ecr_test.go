package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// Two accounts in two regions: the base is read in one, the image pushed to the other.
const (
	baseAccount, baseRegion     = "111122223333", "eu-west-1"
	targetAccount, targetRegion = "444455556666", "us-east-1"
	targetName                  = "team/env"
)

// ecrStack is an AWS with a base in one account, a repository in another, a role for each, a daemon that reaches AWS
// through the proxy alone, and a CLI of a user whose keys are in the environment.
type ecrStack struct {
	*awstest.Cloud
	*cli
	t                    *testing.T
	remote               *enginetest.Remote
	base, target         string // repositories with their hosts
	baseRole, targetRole string
	secret               string
}

func newECRStack(t *testing.T) *ecrStack {
	t.Helper()
	enginetest.Engine(t)
	s := &ecrStack{Cloud: awstest.Start(t), cli: newCLI(t), t: t}
	s.remote = s.Remote(t)
	_, digest, _ := strings.Cut(s.Registry(t, baseAccount, baseRegion).PushBase(t), "@")
	s.base = s.Repository(t, baseAccount, baseRegion, "base") + "@" + digest
	s.target = s.Repository(t, targetAccount, targetRegion, targetName)
	s.baseRole = s.Role(baseAccount, "reader", awstest.Role{Repositories: []string{awstest.ARN(baseAccount, baseRegion, "*")}})
	s.targetRole = s.Role(targetAccount, "builder", awstest.Role{Repositories: []string{awstest.ARN(targetAccount, targetRegion, "*")}})
	key, secret := s.User("777788889999", "ci")
	s.secret = secret
	maps.Copy(s.env, s.Environment(t, key, secret))
	s.env["DATALAYER_REGISTRIES"], s.env["DOCKER_CONFIG"] = "", t.TempDir()
	return s
}

// configure writes a provider with these arguments and an environment with those.
func (s *ecrStack) configure(provider, resource string) {
	s.t.Helper()
	pair := s.remote.CA.Client(s.t)
	s.write("main.tf", fmt.Sprintf(`
provider "datalayer" {
  buildkit = { address = %q, tls = { ca = %q, cert = %q, key = %q } }
%s
}
resource "datalayer_environment" "e" {
  name         = "env-a"
  base         = %q
  repository   = %q
  attestations = { sbom = false, provenance = "none" }
%s
}
`, s.remote.Address, enginetest.WritePEM(s.t, s.remote.CA.PEM), enginetest.WritePEM(s.t, pair.Certificate), enginetest.WritePEM(s.t, pair.Key), provider, s.base, s.target, resource))
}

// twoRoles is the usual configuration: the provider's role pushes, the resource's reads the base.
func (s *ecrStack) twoRoles(more string) {
	s.t.Helper()
	s.configure(fmt.Sprintf("  registries = { %q = { ecr = { role_arn = %q } } }", awstest.Host(targetAccount, targetRegion), s.targetRole),
		fmt.Sprintf("  base_registry = { role_arn = %q }\n%s", s.baseRole, more))
}

// expect also looks for secrets in all that was written.
func (s *ecrStack) expect(code int, arguments ...string) outcome {
	s.t.Helper()
	o := s.cli.expect(code, arguments...)
	written := o.stdout + o.stderr + o.log
	for _, path := range filesBelow(s.t, s.dir) {
		written += path
	}
	state, err := json.Marshal(s.instances())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, secret := range append(s.Secrets(), s.secret) {
		if strings.Contains(written+string(state), secret) {
			s.t.Errorf("%s wrote a secret", arguments[0])
		}
	}
	return o
}

func (s *ecrStack) left() []string { return s.Registry(s.t, targetAccount, targetRegion).Left(s.t) }

// policy is what a session policy must be to the letter: the actions by repository ARN.
func policy(allowed map[string][]string) string {
	text := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ecr:GetAuthorizationToken","Resource":"*"}`
	for _, arn := range slices.Sorted(maps.Keys(allowed)) {
		actions, _ := json.Marshal(allowed[arn])
		if len(allowed[arn]) == 1 {
			actions, _ = json.Marshal(allowed[arn][0])
		}
		text += fmt.Sprintf(`,{"Effect":"Allow","Action":%s,"Resource":%q}`, actions, arn)
	}
	return text + "]}"
}

var (
	pulls   = []string{"ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"}
	pushes  = []string{"ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:CompleteLayerUpload", "ecr:GetDownloadUrlForLayer", "ecr:InitiateLayerUpload", "ecr:PutImage", "ecr:UploadLayerPart"}
	deletes = []string{"ecr:BatchDeleteImage", "ecr:BatchGetImage", "ecr:DescribeImages"}
)

func TestCLI_BaseOfOneAccountIsPushedToAnotherWithTwoNarrowRoles(t *testing.T) {
	s := newECRStack(t)
	s.twoRoles("")
	base, target := awstest.ARN(baseAccount, baseRegion, "base"), awstest.ARN(targetAccount, targetRegion, targetName)
	asked := func(what string, want ...string) {
		t.Helper()
		got := s.Policies()
		for _, call := range s.Calls("AssumeRole") {
			if call.Caller != "arn:aws:iam::777788889999:user/ci" {
				t.Errorf("%s: the role was assumed by %s", what, call.Caller)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(slices.Compact(got), want) {
			t.Errorf("%s asked for the policies\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		s.Forget()
	}
	s.expect(0, "plan")
	asked("a plan of what is not there")
	before := time.Now()
	s.expect(0, "apply", "-auto-approve")
	asked("create", policy(map[string][]string{base: pulls}), policy(map[string][]string{target: pushes}))
	built := s.instances()[0].Attributes
	if left := s.left(); len(left) != 2 || !strings.HasSuffix(left[1], fmt.Sprint(built["digest"])) {
		t.Errorf("the target registry holds %q", left)
	}
	end, err := time.Parse(time.RFC3339, fmt.Sprint(built["credential_expires_at"]))
	if err != nil || end.Before(before.Add(12*time.Hour-time.Minute)) || end.After(time.Now().Add(12*time.Hour)) {
		t.Errorf("the credential is said to end at %v", built["credential_expires_at"])
	}
	s.expect(0, "plan", "-detailed-exitcode")
	asked("refresh", policy(map[string][]string{target: {"ecr:DescribeImages"}}))
	s.expect(0, "destroy", "-auto-approve", "-refresh=false")
	asked("destroy", policy(map[string][]string{target: deletes}))
	if left := s.left(); len(left) > 0 {
		t.Errorf("left in the target registry: %q", left)
	}
	if left := s.Registry(t, baseAccount, baseRegion).Left(t); len(left) != 1 || left[0] != strings.TrimPrefix(s.base, awstest.Host(baseAccount, baseRegion)+"/") {
		t.Errorf("the base registry holds %q", left)
	}
	if strangers := s.Strangers(); len(strangers) > 0 {
		t.Errorf("somebody reached for %q", strangers)
	}
	s.noFilesLeft()
}

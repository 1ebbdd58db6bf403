package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	imageref "github.com/datalayer/terraform-provider-datalayer/internal/reference"
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

// succeed runs to a good end, and looks for secrets in all that was written.
func (s *ecrStack) succeed(arguments ...string) outcome {
	s.t.Helper()
	return s.unseen(0, arguments...)
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

// policyOf is the policy of two repositories, statements in the order of what they allow.
func policyOf(one string, ofOne []string, other string, ofOther []string) string {
	first, second := policy(map[string][]string{one: ofOne}), policy(map[string][]string{other: ofOther})
	_, statement, _ := strings.Cut(second, `"Resource":"*"},`)
	return strings.TrimSuffix(first, "]}") + "," + statement
}

// read gives a file of the configuration.
func (s *ecrStack) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// copyTag puts another tag on what a tag points to, and remove removes one, past AWS as another client would.
func (s *ecrStack) copyTag(host, name, from, to string) {
	s.t.Helper()
	client := image.New(image.Options{})
	repository := imageref.Repository{Host: host, Path: name}
	found, err := client.Head(s.t.Context(), repository, from)
	if err == nil {
		err = client.Tag(s.t.Context(), repository, found.Digest, to)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *ecrStack) remove(host, name, tag string) {
	s.t.Helper()
	if err := image.New(image.Options{}).Untag(s.t.Context(), imageref.Repository{Host: host, Path: name}, tag); err != nil {
		s.t.Fatal(err)
	}
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
	s.succeed("plan")
	asked("a plan of what is not there")
	before := time.Now()
	s.succeed("apply", "-auto-approve")
	asked("create", policy(map[string][]string{base: pulls}), policy(map[string][]string{target: pushes}))
	built := s.instances()[0].Attributes
	if left := s.left(); len(left) != 2 || !strings.HasSuffix(left[1], fmt.Sprint(built["digest"])) {
		t.Errorf("the target registry holds %q", left)
	}
	end, err := time.Parse(time.RFC3339, fmt.Sprint(built["credential_expires_at"]))
	if err != nil || end.Before(before.Add(12*time.Hour-time.Minute)) || end.After(time.Now().Add(12*time.Hour)) {
		t.Errorf("the credential is said to end at %v", built["credential_expires_at"])
	}
	s.succeed("plan", "-detailed-exitcode")
	asked("refresh", policy(map[string][]string{target: {"ecr:DescribeImages"}}))
	s.succeed("destroy", "-auto-approve", "-refresh=false")
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

// One registry for base and image, as most have it: one session for both, layers mounted, an index with attestations, a new
// tag for a new version, an import, and a removal that leaves nothing of ours and all that is not.
// A lock reads its base with a role of its own, and keeps nothing of it.
func TestCLI_LockOfABaseOnECRTakesANarrowRole(t *testing.T) {
	s := newECRStack(t)
	pair := s.remote.CA.Client(t)
	// The proxy leads to AWS alone, and uv and six come from the real index.
	s.env["NO_PROXY"] = strings.TrimPrefix(s.env["NO_PROXY"]+",pypi.org,files.pythonhosted.org", ",")
	if bundle := enginetest.CABundle(t); len(bundle) > 0 {
		s.env["DATALAYER_CA_BUNDLE"] = enginetest.WritePEM(t, bundle)
	}
	s.write("main.tf", fmt.Sprintf(`
provider "datalayer" {
  buildkit = { address = %q, tls = { ca = %q, cert = %q, key = %q } }
}
resource "datalayer_package_lock" "l" {
  requirements  = ["six"]
  base          = %q
  base_registry = { role_arn = %q }
}
`, s.remote.Address, enginetest.WritePEM(t, s.remote.CA.PEM), enginetest.WritePEM(t, pair.Certificate), enginetest.WritePEM(t, pair.Key), s.base, s.baseRole))
	s.succeed("apply", "-auto-approve")
	want := []string{policy(map[string][]string{awstest.ARN(baseAccount, baseRegion, "base"): pulls})}
	if got := slices.Compact(s.Policies()); !slices.Equal(got, want) {
		t.Errorf("asked for the policies\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.Forget()
	s.planIsEmpty()
	s.succeed("destroy", "-auto-approve")
	if got := s.Policies(); len(got) > 0 {
		t.Errorf("plan and destroy of a lock asked for %q", got)
	}
}

func TestCLI_LifeOnOneECRRegistry(t *testing.T) {
	s := newECRStack(t)
	s.Mounting = true
	s.target = s.Repository(t, baseAccount, baseRegion, targetName)
	registry := s.Registry(t, baseAccount, baseRegion)
	provider := fmt.Sprintf("  aws = { role_arn = %q, session_duration = \"30m\" }", s.baseRole)
	mine := func() []string {
		return slices.DeleteFunc(registry.Left(t), func(one string) bool { return !strings.HasPrefix(one, targetName) })
	}
	both := func(arguments string) {
		s.configure(provider, arguments)
		s.write("main.tf", strings.Replace(s.read("main.tf"), `provenance = "none"`, `provenance = "min"`, 1))
	}
	both("")
	s.succeed("apply", "-auto-approve")
	base, target := awstest.ARN(baseAccount, baseRegion, "base"), awstest.ARN(baseAccount, baseRegion, targetName)
	got := slices.Compact(s.Policies())
	if want := policyOf(target, pushes, base, pulls); len(got) != 1 || got[0] != want {
		t.Errorf("create asked for %q, want %q", got, want)
	}
	if sent := s.Calls("AssumeRole")[0].Parameters["DurationSeconds"]; sent != "1800" {
		t.Errorf("the session lasts %s s", sent)
	}
	mounts := 0
	for _, request := range registry.Requests() {
		if strings.Contains(request.Query, "mount=") && request.Status == 201 {
			mounts++
		}
	}
	if mounts == 0 {
		t.Error("no layer of the base was mounted")
	}
	built := s.instances()[0].Attributes
	reference := fmt.Sprint(built["reference"])
	if left := mine(); len(left) != 4 { // Tag, index, image, provenance.
		t.Errorf("the registry holds %q", left)
	}

	both("  version = \"2\"")
	s.Forget()
	s.succeed("apply", "-auto-approve").says(t, "1 changed")
	tag := fmt.Sprint(s.instances()[0].Attributes["tag"])
	if left := mine(); len(left) != 4 || left[0] != targetName+":"+tag || !strings.HasPrefix(tag, "v2-") {
		t.Errorf("after the change to %s the registry holds %q", tag, left)
	}
	if deletions := s.Calls("BatchDeleteImage"); len(deletions) != 1 || !strings.Contains(deletions[0].Body, "v1-") {
		t.Errorf("the old tag was removed by %+v", deletions)
	}

	s.succeed("state", "rm", "datalayer_environment.e")
	s.succeed("import", "datalayer_environment.e", reference)
	s.succeed("apply", "-auto-approve")
	s.succeed("plan", "-detailed-exitcode")

	// Somebody else's tag on the same digest: only ours goes.
	s.copyTag(registry.Host, targetName, tag, "prod")
	s.succeed("destroy", "-auto-approve").says(t, "Image was left in the registry", "prod")
	if left := mine(); len(left) != 4 || left[0] != targetName+":prod" {
		t.Errorf("with another tag the registry holds %q", left)
	}
	s.succeed("import", "datalayer_environment.e", reference)
	s.remove(registry.Host, targetName, "prod")
	s.Forget()
	s.succeed("destroy", "-auto-approve")
	if left := mine(); len(left) > 0 {
		t.Errorf("left in the registry: %q", left)
	}
	if deletions := s.Calls("BatchDeleteImage"); len(deletions) != 3 || !strings.Contains(deletions[0].Body, fmt.Sprint(built["digest"])) {
		t.Errorf("the index and its children were removed by %+v", deletions)
	}
	s.noFilesLeft()
}

// The port that needs no writing, written: it is the same registry, with the same roles and the same API.
func TestCLI_ECRWithItsPortWrittenOut(t *testing.T) {
	s := newECRStack(t)
	s.base = strings.Replace(s.base, "/", ":443/", 1)
	s.target = strings.Replace(s.target, "/", ":443/", 1)
	s.twoRoles("")
	s.succeed("apply", "-auto-approve")
	if ends := s.instances()[0].Attributes["credential_expires_at"]; ends == nil {
		t.Error("state does not say when the login token ends")
	}
	s.Forget()
	s.succeed("plan", "-detailed-exitcode")
	target := awstest.ARN(targetAccount, targetRegion, targetName)
	if got, want := s.Policies(), []string{policy(map[string][]string{target: {"ecr:DescribeImages"}})}; !slices.Equal(got, want) {
		t.Errorf("refresh asked for the policies %q, want %q", got, want)
	}
	s.succeed("destroy", "-auto-approve")
	if left := s.left(); len(left) > 0 {
		t.Errorf("left in the target registry: %q", left)
	}
}

func TestCLI_WithoutARoleEachApplyWarnsOnce(t *testing.T) {
	s := newECRStack(t)
	s.configure("  aws = {}", "")
	applied := s.succeed("apply", "-auto-approve")
	const warning = "Registry credential is not narrowed to what is built"
	applied.says(t, warning, "arn:aws:iam::777788889999:user/ci", "12 hours", "role_arn")
	if times := strings.Count(applied.stdout+applied.stderr, warning); times != 1 {
		t.Errorf("it is said %d times", times)
	}
	if assumed := s.Calls("AssumeRole"); len(assumed) > 0 {
		t.Errorf("a role was assumed: %+v", assumed)
	}
	// One token for each registry, however many requests there are.
	if tokens := s.Calls("GetAuthorizationToken"); len(tokens) != 2 {
		t.Errorf("%d login tokens were got", len(tokens))
	}
	s.succeed("destroy", "-auto-approve").says(t, warning)
	if left := s.left(); len(left) > 0 {
		t.Errorf("left in the registry: %q", left)
	}
}

// C09 to the letter: a token of some seconds, and a command that takes longer.
func TestCLI_LoginTokenEndsWhileACommandRuns(t *testing.T) {
	s := newECRStack(t)
	s.TokenLife = 15 * time.Second
	s.twoRoles(`  post_install = [{ command = "sleep 20" }]`)
	s.succeed("apply", "-auto-approve")
	if tokens := s.Calls("GetAuthorizationToken"); len(tokens) < 3 {
		t.Errorf("%d login tokens were got, want one again", len(tokens))
	}
	s.succeed("destroy", "-auto-approve")
	if left := s.left(); len(left) > 0 {
		t.Errorf("left in the registry: %q", left)
	}
}

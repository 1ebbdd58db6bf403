package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// Whatever image a credential is for, the message is that of the credential.
func TestCredentialThatCannotBeHadIsReportedAsItIs(t *testing.T) {
	s := newStackWithoutEngine(t)
	b := newLockBench(t, s)
	closed := enginetest.StartRegistry(t, enginetest.BasicAuth(map[string]string{"reader": "cnry-password"}, nil))
	docker := t.TempDir()
	must(t, os.WriteFile(filepath.Join(docker, "config.json"), fmt.Appendf(nil, `{"credHelpers":{%q:"nowhere"}}`, closed.Host), 0o600))
	t.Setenv("DOCKER_CONFIG", docker)
	pinned := closed.Host + "/base@sha256:" + strings.Repeat("b", 64)
	for name, tt := range map[string]struct {
		config string
		path   string
	}{
		"base":                {strings.Replace(s.config(""), s.BaseReference, pinned, 1), "base"},
		"parent":              {s.baseConfig(pinned, ""), "from"},
		"parent by its tag":   {s.baseConfig(closed.Host+"/debian:13", ""), "from"},
		"base of a lock":      {b.lockOf(`"six"`, fmt.Sprintf("base = %q\nrunner = \"local\"\nuv_path = %q", pinned, b.uv), ""), "base"},
		"base of a lock away": {b.lockOf(`"six"`, fmt.Sprintf("base = %q\nrunner = \"buildkit\"", pinned), ""), "base"},
	} {
		t.Run(name, func(t *testing.T) {
			s.forget()
			s.run(t, resource.TestStep{Config: tt.config, ConfigVariables: password(enginetest.IndexPassword),
				ExpectError: says("Docker credential helper failed", "docker-credential-nowhere for "+closed.Host, "not on the PATH", "Install it")})
			for _, found := range s.errors() {
				if got := found.Attribute.String(); !strings.Contains(got, fmt.Sprintf("AttributeName(%q)", tt.path)) {
					t.Errorf("%q lies at %s, want %s", found.Summary, got, tt.path)
				}
			}
		})
	}
}

// Whoever has set nothing yet is told what asks AWS.
func TestCLI_FirstStepOnECRPointsToAWS(t *testing.T) {
	s := newECRStack(t)
	s.configure("", "")
	s.expect(1, "apply", "-auto-approve").says(t, "Base image cannot be read", "none were found", "is a registry of Amazon ECR", "aws = {}", "Docker configuration")
	s.configure(fmt.Sprintf("  registries = { %q = { ecr = { role_arn = %q } } }", awstest.Host(baseAccount, baseRegion), s.baseRole), "")
	s.expect(1, "apply", "-auto-approve").says(t, "Push to the repository is not possible", "none were found", awstest.Host(targetAccount, targetRegion)+" is a registry of Amazon ECR", "aws = {}")
	named := s.Role(baseAccount, "named", awstest.Role{ExternalID: "team-a", Repositories: []string{awstest.ARN(baseAccount, baseRegion, "*")}})
	s.configure("", fmt.Sprintf("  base_registry = { role_arn = %q, external_id = \"team-a\" }", named))
	s.expect(1, "apply", "-auto-approve").says(t, "Push to the repository is not possible")
	if calls := s.Calls("AssumeRole"); len(calls) == 0 || calls[len(calls)-1].Parameters["ExternalId"] != "team-a" {
		t.Errorf("the base's role was asked for by %+v", calls)
	}
	stranger := s.Role(targetAccount, "stranger", awstest.Role{Repositories: []string{awstest.ARN(targetAccount, targetRegion, "other")}})
	s.configure(fmt.Sprintf("  registries = {\n%q = { ecr = { role_arn = %q } }\n%q = { ecr = { role_arn = %q } }\n}", awstest.Host(baseAccount, baseRegion), s.baseRole, awstest.Host(targetAccount, targetRegion), stranger), "")
	s.expect(1, "apply", "-auto-approve").says(t, "Push to the repository is not possible", "got from AWS with the role "+stranger, "policy of the repository")
	if left := s.left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// The base is the first thing that a private user reads.
func TestCLI_WhatIsWrongWithAWSIsSaidForTheBaseAsForAPush(t *testing.T) {
	s := newECRStack(t)
	closed := s.Role("999900001111", "closed", awstest.Role{Trusts: []string{"arn:aws:iam::777788889999:user/nobody"}})
	must(t, os.WriteFile(filepath.Join(s.dir, "aws"), []byte("[profile tmp]\naws_access_key_id = ASIAXXXXXXXXXXXXXXXX\naws_secret_access_key = cnry\n[profile mfa]\nrole_arn = "+closed+"\nsource_profile = mfa\nmfa_serial = arn:aws:iam::777788889999:mfa/x\naws_access_key_id = AKIAXXXXXXXXXXXXXXXX\naws_secret_access_key = cnry\n"), 0o600))
	s.env["AWS_CONFIG_FILE"] = filepath.Join(s.dir, "aws")
	for name, tt := range map[string]struct {
		aws  string
		says []string
	}{
		"role":                  {fmt.Sprintf("role_arn = %q", closed), []string{"AWS role for the registry cannot be assumed", closed, "arn:aws:iam::777788889999:user/ci", "AccessDenied", "trust policy", "external_id", "MFA"}},
		"keys without a token":  {`profile = "tmp"`, []string{"Temporary AWS keys without their session token", "ASIA", "aws_session_token"}},
		"profile that asks MFA": {`profile = "mfa"`, []string{"AWS profile asks for MFA", `profile "mfa"`, "get-session-token"}},
	} {
		t.Run(name, func(t *testing.T) {
			s.configure(fmt.Sprintf("  registries = { %q = { ecr = { %s } } }", awstest.Host(baseAccount, baseRegion), tt.aws), "")
			s.expect(1, "apply", "-auto-approve").says(t, slices.Concat(tt.says, []string{"base "})...)
			if left := s.left(); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// sweep has no place for warnings but its standard error.
func TestCLI_SweepWithoutARoleWarnsAsABuildDoes(t *testing.T) {
	s := newECRStack(t)
	host := awstest.Host(targetAccount, targetRegion)
	s.env["DATALAYER_REGISTRIES"] = fmt.Sprintf(`{%q: {"ecr": {}}}`, host)
	said, code := s.sweepImages("--repository", s.target)
	if code != 0 || !strings.Contains(said, "sweep: warning: Registry credential is not narrowed to what is built: "+host) || !strings.Contains(said, "arn:aws:iam::777788889999:user/ci") {
		t.Errorf("ended with %d:\n%s", code, said)
	}
	s.env["DATALAYER_REGISTRIES"] = fmt.Sprintf(`{%q: {"ecr": {"role_arn": %q}}}`, host, s.targetRole)
	if said, code := s.sweepImages("--repository", s.target); code != 0 || strings.Contains(said, "warning") {
		t.Errorf("with a role it ended with %d:\n%s", code, said)
	}
}

package provider_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

const (
	ecrHost = "111122223333.dkr.ecr.eu-west-1.amazonaws.com"
	someARN = "arn:aws:iam::111122223333:role/builder"
)

// planOn plans an environment with these parts of provider and resource; nothing is built or asked.
func planOn(provider, base, repository, arguments string) string {
	return fmt.Sprintf(`
provider "datalayer" {
%s
}
resource "datalayer_environment" "e" {
  name       = "env-a"
  base       = "%s@sha256:%s"
  repository = %q
%s
}
`, provider, base, strings.Repeat("b", 64), repository, arguments)
}

func TestAWS_SettingsAreCheckedAtPlan(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	s := newStackWithoutEngine(t)
	for name, tt := range map[string]struct{ provider, says string }{
		"too short":           {`aws = { session_duration = "899s" }`, `(?s)Invalid session_duration.*session_duration = "899s".*900 seconds`},
		"too long":            {`aws = { session_duration = "43201s" }`, `(?s)Invalid session_duration.*43200 seconds`},
		"no duration":         {fmt.Sprintf(`registries = { %q = { ecr = { session_duration = "900" } } }`, ecrHost), `Invalid session_duration`},
		"role":                {`aws = { role_arn = "builder" }`, `(?s)Invalid role ARN.*"builder"`},
		"user":                {`aws = { role_arn = "arn:aws:iam::111122223333:user/builder" }`, `Invalid role ARN`},
		"region":              {`aws = { region = "europe" }`, `Invalid AWS region`},
		"profile":             {`aws = { profile = "" }`, `(?s)Empty AWS setting.*profile`},
		"blank profile":       {`aws = { profile = " " }`, `(?s)Empty AWS setting.*profile = " "`},
		"external id":         {fmt.Sprintf(`aws = { role_arn = %q, external_id = "a b!" }`, someARN), `(?s)Invalid external_id.*"a b!"`},
		"empty external id":   {fmt.Sprintf(`aws = { role_arn = %q, external_id = "" }`, someARN), `Invalid external_id`},
		"external id alone":   {`aws = { external_id = "team-a" }`, `(?s)External id without a role.*aws\.external_id`},
		"endpoint":            {`aws = { endpoints = { sts = "sts.example.com" } }`, `Invalid AWS endpoint`},
		"endpoint in clear":   {`aws = { endpoints = { sts = "http://sts.example.com" } }`, `(?s)AWS endpoint without TLS.*http://sts\.example\.com.*loopback`},
		"ECR in clear":        {`aws = { endpoints = { ecr = "http://10.0.0.1:8080/x" } }`, `(?s)AWS endpoint without TLS.*10\.0\.0\.1:8080`},
		"login in endpoint":   {`aws = { endpoints = { ecr = "https://u:cnry@ecr.example.com" } }`, `Invalid AWS endpoint`},
		"look-alike":          {fmt.Sprintf(`registries = { "%s.evil.example" = { ecr = {} } }`, ecrHost), `(?s)Registry is not one of Amazon ECR.*evil\.example`},
		"public":              {`registries = { "public.ecr.aws" = { ecr = {} } }`, `Registry is not one of Amazon ECR`},
		"partition":           {`registries = { "111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn" = { ecr = { role_arn = "arn:aws:iam::111122223333:role/builder" } } }`, `(?s)AWS role of another partition.*aws-cn`},
		"both":                {fmt.Sprintf(`registries = { %q = { username = "AWS", password = "p", ecr = {} } }`, ecrHost), `Two ways to one registry's login`},
		"neither":             {fmt.Sprintf(`registries = { %q = {} }`, ecrHost), `Empty registry login`},
		"blank password":      {`registries = { "r.example.com" = { username = "u", password = " " } }`, `Empty registry login`},
		"colon":               {`registries = { "r.example.com" = { username = "u:p", password = "p" } }`, `(?s)Registry user name with a colon.*their own arguments`},
		"AWS keys as a login": {fmt.Sprintf(`registries = { %q = { username = "ASIAXXXXXXXXXXXXXXXX", password = "p" } }`, ecrHost), `(?s)AWS keys in place of a registry login.*AWS_SESSION_TOKEN`},
	} {
		t.Run(name, func(t *testing.T) {
			s.run(t, resource.TestStep{Config: planOn(tt.provider, ecrHost+"/base", ecrHost+"/team/env", ""), PlanOnly: true, ExpectError: regexp.MustCompile(tt.says)})
		})
	}
}

func TestAWS_LoginsOfTheResourceAreCheckedAtPlan(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	s := newStackWithoutEngine(t)
	other := "444455556666.dkr.ecr.us-east-1.amazonaws.com/team/env"
	for name, tt := range map[string]struct{ base, repository, arguments, says string }{
		"role elsewhere":  {"r.example.com/base", other, fmt.Sprintf(`base_registry = { role_arn = %q }`, someARN), `(?s)Image to read is not on Amazon ECR.*r\.example\.com`},
		"role look-alike": {ecrHost + ".evil.example/base", other, fmt.Sprintf(`base_registry = { role_arn = %q }`, someARN), `Image to read is not on Amazon ECR`},
		"partition":       {"111122223333.dkr.ecr.us-gov-west-1.amazonaws.com/base", other, fmt.Sprintf(`base_registry = { role_arn = %q }`, someARN), `(?s)AWS role of another partition.*aws-us-gov`},
		"one host":        {ecrHost + "/base", ecrHost + "/team/env", fmt.Sprintf(`base_registry = { role_arn = %q }`, someARN), `(?s)Role for a registry that the build also pushes to.*ecr\.role_arn`},
		"one host, 443":   {ecrHost + ":443/base", ecrHost + "/team/env", fmt.Sprintf(`base_registry = { role_arn = %q }`, someARN), `(?s)Role for a registry that the build also pushes to`},
		"external id":     {ecrHost + "/base", other, fmt.Sprintf(`base_registry = { role_arn = %q, external_id = "a b!" }`, someARN), `Invalid external_id`},
		"id alone":        {ecrHost + "/base", other, `base_registry = { username = "u", password_wo = "p", external_id = "team-a" }`, `(?s)External id without a role.*base_registry\.external_id`},
		"both":            {ecrHost + "/base", other, fmt.Sprintf(`base_registry = { role_arn = %q, username = "u", password_wo = "p" }`, someARN), `Login and role for one registry`},
		"neither":         {ecrHost + "/base", other, `base_registry = {}`, `Missing registry user name`},
		"AWS keys":        {ecrHost + "/base", other, `base_registry = { username = "ASIAXXXXXXXXXXXXXXXX", password_wo = "p" }`, `(?s)AWS keys in place of a registry login.*AWS_SESSION_TOKEN`},
		"no ARN":          {ecrHost + "/base", other, `base_registry = { role_arn = "reader" }`, `Invalid role ARN`},
	} {
		t.Run(name, func(t *testing.T) {
			s.run(t, resource.TestStep{Config: planOn("", tt.base, tt.repository, tt.arguments), PlanOnly: true, ExpectError: regexp.MustCompile(tt.says)})
		})
	}
}

// C10: keys of a session are refused at plan where their session token is missing, before anything is asked.
func TestAWS_TemporaryKeysWithoutTheirTokenAreRefusedAtPlan(t *testing.T) {
	s := newStackWithoutEngine(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "ASIACNRYXXXXXXXXXXXX")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "cnry-secret")
	t.Setenv("AWS_SESSION_TOKEN", "")
	refused := regexp.MustCompile(`(?s)Temporary AWS keys without their session token.*AWS_ACCESS_KEY_ID.*AWS_SESSION_TOKEN`)
	planned := func(provider string, refused *regexp.Regexp) resource.TestStep {
		return resource.TestStep{Config: planOn(provider, ecrHost+"/base", ecrHost+"/team/env", ""), PlanOnly: true, ExpectNonEmptyPlan: refused == nil, ExpectError: refused}
	}
	s.run(t, planned("aws = {}", refused), planned(fmt.Sprintf(`registries = { %q = { ecr = {} } }`, ecrHost), refused),
		// Nobody asks for the environment's keys here.
		planned("", nil), planned(`aws = { profile = "p" }`, nil))
}

func TestAWS_UnknownSettingsPlan(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	s := newStackWithoutEngine(t)
	unknown := later("x", fmt.Sprintf("%q", someARN))
	for name, tt := range map[string][2]string{
		"aws":           {`aws = { role_arn = terraform_data.x.output, external_id = terraform_data.x.output, session_duration = terraform_data.x.output, region = terraform_data.x.output, profile = terraform_data.x.output, endpoints = { sts = terraform_data.x.output } }`, ""},
		"ecr":           {fmt.Sprintf(`registries = { %q = { ecr = { role_arn = terraform_data.x.output } } }`, ecrHost), ""},
		"whole ecr":     {fmt.Sprintf(`registries = { %q = { ecr = terraform_data.x.output == "" ? null : { role_arn = null, external_id = null, session_duration = null, profile = null } } }`, ecrHost), ""},
		"base registry": {"", `base_registry = { role_arn = terraform_data.x.output, external_id = terraform_data.x.output }`},
	} {
		t.Run(name, func(t *testing.T) {
			s.run(t, resource.TestStep{Config: unknown + planOn(tt[0], ecrHost+"/base", "444455556666.dkr.ecr.us-east-1.amazonaws.com/team/env", tt[1]), PlanOnly: true, ExpectNonEmptyPlan: true})
		})
	}
}

func TestAWS_RoleOfTheBaseOfALockIsCheckedAtPlan(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	s := newStackWithoutEngine(t)
	config := func(host, login string) string {
		return fmt.Sprintf("resource \"datalayer_package_lock\" \"l\" {\n  requirements = [\"six\"]\n  base = \"%s/base@sha256:%064d\"\n  base_registry = { %s }\n}\n", host, 1, login)
	}
	role := fmt.Sprintf("role_arn = %q", someARN)
	s.run(t, resource.TestStep{Config: config(ecrHost, role), PlanOnly: true, ExpectNonEmptyPlan: true},
		resource.TestStep{Config: later("x", fmt.Sprintf("%q", someARN)) + config(ecrHost, "role_arn = terraform_data.x.output"), PlanOnly: true, ExpectNonEmptyPlan: true})
	for name, tt := range map[string]struct{ host, login, says string }{
		"elsewhere": {"r.example.com", role, `Image to read is not on Amazon ECR`},
		"both":      {ecrHost, role + `, username = "u", password_wo = "p"`, `Login and role for one registry`},
		"no ARN":    {ecrHost, `role_arn = "reader"`, `Invalid role ARN`},
		"no user":   {"r.example.com", `password_wo = "p"`, `Missing registry user name`},
		"empty":     {"r.example.com", `username = "u", password_wo = ""`, `Empty registry password at plan`},
		"null":      {"r.example.com", `username = "u", password_wo = null`, `Missing registry password`},
	} {
		t.Run(name, func(t *testing.T) {
			s.run(t, resource.TestStep{Config: config(tt.host, tt.login), PlanOnly: true, ExpectError: regexp.MustCompile(tt.says)})
		})
	}
}

func TestAWS_RoleOfABaseImageIsCheckedAtPlan(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	s := newStackWithoutEngine(t)
	for name, tt := range map[string]struct{ from, says string }{
		"one host":  {ecrHost + "/python:3.13", `(?s)Role for a registry that the build also pushes to.*from and repository`},
		"elsewhere": {"r.example.com/python:3.13", `Image to read is not on Amazon ECR`},
		"default":   {"", `Image to read is not on Amazon ECR`},
	} {
		t.Run(name, func(t *testing.T) {
			from := "null"
			if tt.from != "" {
				from = fmt.Sprintf("%q", tt.from)
			}
			s.run(t, resource.TestStep{PlanOnly: true, ExpectError: regexp.MustCompile(tt.says), Config: fmt.Sprintf(`
resource "datalayer_base_image" "b" {
  name          = "base-a"
  repository    = "%s/team/base"
  from          = %s
  from_registry = { role_arn = %q }
}
`, ecrHost, from, someARN)})
		})
	}
}

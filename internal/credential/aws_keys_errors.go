package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/smithy-go"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

func configProblem(profile string, err error) error {
	p := &problem.Problem{Title: "AWS configuration cannot be used", Object: profileName(profile), Cause: err,
		Advice: "Correct the profile, or the files that AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE name (~/.aws/config, ~/.aws/credentials)."}
	if strings.Contains(err.Error(), "role ARN is not set") {
		p.Advice = "A web identity needs its role too: set AWS_ROLE_ARN beside AWS_WEB_IDENTITY_TOKEN_FILE, or role_arn beside web_identity_token_file in the profile."
	}
	if strings.Contains(err.Error(), "TokenProvider") {
		p.Title = "AWS profile asks for MFA"
		p.Advice = "Terraform cannot ask for a code. Sign in first (`aws sts get-session-token --serial-number … --token-code …`, or IAM Identity Center) and use those keys, or a profile without mfa_serial."
	}
	return p
}

// chain is where the SDK looked for an identity's keys.
type chain struct {
	// profile is what was asked for; "" is the default chain.
	profile string
	env     config.EnvConfig
	// shared is the profile that was taken, source the one at the end of its source_profile.
	shared, source config.SharedConfig
}

func chainOf(cfg aws.Config, profile string) chain {
	c := chain{profile: profile}
	for _, source := range cfg.ConfigSources {
		switch read := source.(type) {
		case config.EnvConfig:
			c.env = read
		case config.SharedConfig:
			c.shared = read
		}
	}
	for c.source = c.shared; c.source.Source != nil; {
		c.source = *c.source.Source
	}
	return c
}

// webIdentity gives the token's file, the role, and what names them; file is "" where none is in use.
func (c chain) webIdentity() (file, role, object string) {
	if c.profile == "" && c.env.WebIdentityTokenFilePath != "" {
		return c.env.WebIdentityTokenFilePath, c.env.RoleARN, "AWS_WEB_IDENTITY_TOKEN_FILE = " + c.env.WebIdentityTokenFilePath
	}
	return c.source.WebIdentityTokenFile, c.source.RoleARN, fmt.Sprintf("profile %q, web_identity_token_file = %s", c.source.Profile, c.source.WebIdentityTokenFile)
}

// deepest is the failure at the end of the chain: to ask for a role, the SDK first gets the keys to ask with.
func deepest(err error) error {
	var operation *smithy.OperationError
	for errors.As(err, &operation) {
		inner, deeper := operation.Err, false
		for inner != nil && strings.Contains(inner.Error(), "get identity: ") {
			inner, deeper = errors.Unwrap(inner), true
		}
		if !deeper || inner == nil {
			return operation
		}
		err = inner
	}
	for strings.HasPrefix(err.Error(), "failed to refresh cached credentials, ") || strings.HasPrefix(err.Error(), "get credentials: ") {
		below := errors.Unwrap(err)
		if below == nil {
			break
		}
		err = below
	}
	return err
}

// problem says which link of the chain broke, and what mends it.
func (c chain) problem(err error) error {
	err = deepest(withoutOutput(err))
	said := ReadAWSError(err)
	p := &problem.Problem{Object: profileName(c.profile), Cause: said}
	token, webRole, webObject := c.webIdentity()
	switch {
	case errors.Is(err, context.Canceled):
		p.Title, p.Cause = "Search for AWS credentials was stopped", context.Canceled
	case said.Operation == "STS AssumeRole":
		p.Title, p.Object = "Role of the AWS profile cannot be assumed", fmt.Sprintf("profile %q, role_arn = %s", c.shared.Profile, c.shared.RoleARN)
		p.Advice = c.roleAdvice(said)
	case said.Operation == "STS AssumeRoleWithWebIdentity":
		p.Title, p.Object = "Role of the web identity cannot be assumed", webObject+", role "+webRole
		p.Advice = webIdentityAdvice(said)
	case token != "" && strings.Contains(err.Error(), "failed to retrieve jwt"):
		p.Title, p.Object = "Web identity token cannot be read", webObject
		p.Advice = "The platform that runs Terraform writes this file (GitLab's id_tokens, GitHub's OIDC step, a service account of EKS): check that it did so for this job, and that the path is the one here."
	case c.source.SSOSessionName != "" || c.source.SSOStartURL != "":
		p.Object = fmt.Sprintf("profile %q", c.source.Profile)
		c.ofIdentityCenter(p, said)
	case c.source.LoginSession != "":
		p.Title, p.Object = "AWS profile is not signed in", fmt.Sprintf("profile %q", c.source.Profile)
		p.Advice = fmt.Sprintf("Run `aws login --profile %s`, then apply again.", c.source.Profile)
	case c.source.CredentialProcess != "":
		p.Title, p.Object = "Program of the AWS profile failed", fmt.Sprintf("profile %q, credential_process runs %s", c.source.Profile, programOf(c.source.CredentialProcess))
		p.Advice = "Run the whole line of credential_process by hand: it must end with status 0 and print the keys as JSON. What it prints is not shown here, because keys may be in it."
	case c.env.ContainerCredentialsRelativePath != "" || c.env.ContainerCredentialsEndpoint != "":
		p.Title, p.Object = "AWS credentials of the container cannot be read", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI"
		p.Advice = "The container's platform (ECS, EKS Pod Identity) sets this address: check that the task or service account has a role, and that the address can be reached from here."
	default:
		p.Title = "AWS credentials were not found"
		p.Advice = "Looked for in AWS_ACCESS_KEY_ID, the profile (AWS_PROFILE), AWS_WEB_IDENTITY_TOKEN_FILE, the container's endpoint and the instance's metadata. Sign in, or set aws.profile."
		if present, missing := halfPair(); missing != "" && c.profile == "" {
			p.Title, p.Object, p.Cause = "Half a pair of AWS keys in the environment", present+" is set, and "+missing+" is not", nil
			p.Advice = "The SDK takes the two together only, and found no keys elsewhere. Set " + missing + " too (and AWS_SESSION_TOKEN for keys that begin with ASIA), or remove " + present + "."
		}
	}
	return p
}

func (c chain) roleAdvice(said *AWSError) string {
	switch {
	case strings.HasPrefix(said.Code, "AccessDenied"):
		advice := "The profile assumes this role itself, before any role of the provider's. Check that the role exists, that its trust policy names the identity in the message, and that this identity may sts:AssumeRole it. "
		if c.shared.ExternalID == "" {
			return advice + "A trust policy that asks for an external id needs external_id in the profile."
		}
		return advice + "The trust policy may ask for another external id than the profile's."
	case said.Code == "SignatureDoesNotMatch":
		return "The keys" + c.ofSource() + " that assume the profile's role do not work. " + unsigned
	case strings.HasPrefix(said.Code, "ExpiredToken"), said.Code == "InvalidClientTokenId":
		return "The keys that assume the profile's role do not work" + c.ofSource() + ": sign in again, or correct them."
	case said.Status == 0:
		return "Check that STS can be reached from here (aws.endpoints.sts, HTTPS_PROXY) and that its certificate is trusted."
	}
	return "The profile assumes this role itself, before any role of the provider's. AWS's own words say why it could not."
}

func (c chain) ofSource() string {
	if c.shared.SourceProfileName == "" {
		return ""
	}
	return fmt.Sprintf(" (source_profile = %q)", c.shared.SourceProfileName)
}

func webIdentityAdvice(said *AWSError) string {
	switch {
	case strings.HasPrefix(said.Code, "ExpiredToken"):
		return "The token in the file has expired, and the platform that wrote it makes no new one during a job: give it a longer life there, or get it later in the job."
	case said.Code == "InvalidIdentityToken", said.Code == "IDPRejectedClaim":
		return "AWS does not take the token: the account needs an identity provider of IAM for its issuer, with its audience."
	case strings.HasPrefix(said.Code, "AccessDenied"):
		return "Check that the role exists, and that its trust policy allows sts:AssumeRoleWithWebIdentity to the identity provider of the token's issuer, with conditions (aud, sub) that hold for this job."
	case said.Status == 0:
		return "Check that STS can be reached from here (aws.endpoints.sts, HTTPS_PROXY) and that its certificate is trusted."
	}
	return "AWS's own words say why."
}

// ofIdentityCenter tells who has not signed in from who may not.
func (c chain) ofIdentityCenter(p *problem.Problem, said *AWSError) {
	switch {
	case said.Operation == "" || said.Status == http.StatusUnauthorized || said.Status == http.StatusBadRequest:
		p.Title = "AWS profile is not signed in"
		p.Advice = fmt.Sprintf("Run `aws sso login --profile %s`, then apply again. Where nobody can sign in, such as CI, use a web identity or the role of the machine instead.", c.source.Profile)
	case said.Status == 0:
		p.Title, p.Advice = "IAM Identity Center did not answer", "Check that it can be reached from here (HTTPS_PROXY), and that sso_region of the profile is right."
	default:
		p.Title = "IAM Identity Center refused the AWS profile"
		p.Advice = fmt.Sprintf("Check that you are assigned sso_role_name = %q in the account sso_account_id = %q of the profile.", c.source.SSORoleName, c.source.SSOAccountID)
	}
}

// programOf is the program of a command line, without its arguments, which may hold secrets.
func programOf(line string) string {
	line = strings.TrimSpace(line)
	if quote := line[:min(1, len(line))]; quote == `"` || quote == "'" {
		program, _, _ := strings.Cut(line[1:], quote)
		return program
	}
	program, _, _ := strings.Cut(line, " ")
	return program
}

// halfPair names the variable of a pair of keys that is set and the one that is not; "" if both are or neither.
func halfPair() (present, missing string) {
	id, secretKey := firstSet("AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY"), firstSet("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY")
	switch {
	case id != "" && secretKey == "":
		return id, "AWS_SECRET_ACCESS_KEY"
	case id == "" && secretKey != "":
		return secretKey, "AWS_ACCESS_KEY_ID"
	}
	return "", ""
}

func firstSet(names ...string) string {
	for _, name := range names {
		if os.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

// withoutOutput is the error without what a credential_process printed: the SDK quotes all of it where it cannot read it,
// and keys may be in it.
func withoutOutput(err error) error {
	var process *processcreds.ProviderError
	if !errors.As(err, &process) {
		return err
	}
	var ended *exec.ExitError
	var unstarted *exec.Error
	// What wraps nothing are the SDK's own words.
	if below := errors.Unwrap(process.Err); below == nil || errors.As(below, &ended) || errors.As(below, &unstarted) || errors.Is(below, context.Canceled) || errors.Is(below, context.DeadlineExceeded) {
		return err
	}
	return errors.New("what credential_process printed is not the JSON that the AWS SDKs take")
}

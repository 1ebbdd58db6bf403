package credential

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// visibleWithin bounds how long a role that was made a moment ago is waited for: STS refuses it until all of IAM knows it.
const visibleWithin = 20 * time.Second

// sessionPurpose marks the names of our sessions.
const sessionPurpose = "registry"

// session gives the keys that the host is opened with: a session of the role that the policy holds to its repositories,
// or the identity's own keys where there is no role.
func (a *AWS) session(ctx context.Context, host string, who Identity, at ECRHost, policy string) (aws.Credentials, error) {
	if err := at.CheckRole(who.RoleARN); err != nil {
		return aws.Credentials{}, err
	}
	own, err := a.ownKeys(ctx, who.Profile, at)
	if err != nil {
		return aws.Credentials{}, err
	}
	if who.RoleARN == "" {
		a.warnOfReach(ctx, host, who, at)
		return own, nil
	}
	duration := who.sessionDuration()
	client, err := a.sts(ctx, who.Profile, at)
	if err != nil {
		return aws.Credentials{}, err
	}
	began := a.options.Now()
	request := &sts.AssumeRoleInput{
		RoleArn: aws.String(who.RoleARN), RoleSessionName: aws.String(NewMarker(sessionPurpose, began.Add(duration)).String()),
		DurationSeconds: aws.Int32(int32(duration / time.Second)), Policy: aws.String(policy),
	}
	if who.ExternalID != "" {
		request.ExternalId = aws.String(who.ExternalID)
	}
	for pause := time.Second; ; pause *= 2 {
		answer, err := assume(ctx, client, request)
		if err == nil {
			return *answer, nil
		}
		if !notVisibleYet(err) || a.options.Now().Add(pause).After(began.Add(visibleWithin)) {
			return aws.Credentials{}, a.roleRefused(ctx, host, who, at, duration, err)
		}
		a.options.Logger.DebugContext(ctx, "role is refused, and may only be new", "role", who.RoleARN, "wait", pause)
		if a.options.Sleep(ctx, pause) != nil {
			return aws.Credentials{}, a.roleRefused(ctx, host, who, at, duration, err)
		}
	}
}

func assume(ctx context.Context, client *sts.Client, request *sts.AssumeRoleInput) (*aws.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, awsTimeout)
	defer cancel()
	answer, err := client.AssumeRole(ctx, request)
	if err != nil {
		return nil, err
	}
	given := answer.Credentials
	if given == nil || aws.ToString(given.AccessKeyId) == "" || aws.ToString(given.SecretAccessKey) == "" || aws.ToString(given.SessionToken) == "" || given.Expiration == nil {
		return nil, &AWSError{Operation: "STS AssumeRole", Status: http.StatusOK, Message: "the answer lacks keys, session token or expiration"}
	}
	return &aws.Credentials{
		AccessKeyID: *given.AccessKeyId, SecretAccessKey: *given.SecretAccessKey, SessionToken: *given.SessionToken,
		CanExpire: true, Expires: *given.Expiration, Source: "AssumeRole",
	}, nil
}

// ownKeys are the identity's keys before any role is assumed.
func (a *AWS) ownKeys(ctx context.Context, profile string, at ECRHost) (aws.Credentials, error) {
	base, err := a.base(ctx, profile, at)
	if err != nil {
		return aws.Credentials{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, awsTimeout)
	defer cancel()
	keys, err := base.Credentials.Retrieve(ctx)
	if err != nil {
		return aws.Credentials{}, chainOf(base, profile).problem(err)
	}
	if keys.SessionToken == "" && temporary(keys.AccessKeyID) {
		return aws.Credentials{}, withoutSessionToken("the AWS keys from " + keys.Source)
	}
	return keys, nil
}

func (a *AWS) sts(ctx context.Context, profile string, at ECRHost) (*sts.Client, error) {
	base, err := a.base(ctx, profile, at)
	if err != nil {
		return nil, err
	}
	return sts.NewFromConfig(base, func(o *sts.Options) {
		o.Region, _ = a.region(at)
		if a.options.STSEndpoint != "" {
			o.BaseEndpoint = aws.String(a.options.STSEndpoint)
		}
		if at.FIPS && o.BaseEndpoint == nil {
			o.EndpointOptions.UseFIPSEndpoint = aws.FIPSEndpointStateEnabled
		}
	}), nil
}

// caller is the ARN of the identity itself; "" if STS does not say.
func (a *AWS) caller(ctx context.Context, profile string, at ECRHost) string {
	client, err := a.sts(ctx, profile, at)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	answer, err := client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return ""
	}
	return aws.ToString(answer.Arn)
}

// warnOfReach notes, once for a profile, that nothing narrows what is handed out.
func (a *AWS) warnOfReach(ctx context.Context, host string, who Identity, at ECRHost) {
	a.mu.Lock()
	known := a.warned[who.Profile]
	a.warned[who.Profile] = true
	a.mu.Unlock()
	if known {
		return
	}
	caller := a.caller(ctx, who.Profile, at)
	if caller == "" {
		caller = "the AWS identity of " + profileName(who.Profile)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unsaid = append(a.unsaid, &problem.Problem{Title: "Registry credential is not narrowed to what is built", Object: host + " is opened by " + caller + ", without a role.",
		Advice: "Its login token goes to what needs it (the BuildKit daemon, E2B, another provider), lasts 12 hours, and opens every repository, in every account of " + at.Partition + ", that this identity may use. " +
			fmt.Sprintf("Set aws.role_arn or registries[%q].ecr.role_arn: what is asked for then comes from a session that names its own repositories alone.", host)})
}

// Warnings are what a person should be told about the credentials in use; each is given once.
func (a *AWS) Warnings() problem.List {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	said := a.unsaid
	a.unsaid = nil
	return said
}

// temporary tells keys of a session, which open nothing without its token, from those of a user.
func temporary(accessKeyID string) bool { return strings.HasPrefix(accessKeyID, "ASIA") }

func withoutSessionToken(what string) error {
	return &problem.Problem{Title: "Temporary AWS keys without their session token", Object: what + " (an access key ID that begins with ASIA)",
		Advice: "AWS refuses them alone. Set AWS_SESSION_TOKEN (aws_session_token in a profile) too, which came with the keys, or sign in again."}
}

// CheckAWSEnvironment refuses temporary keys without their session token in the environment variables that the SDK would
// take. It asks nobody, so that a plan can tell.
func CheckAWSEnvironment() error {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY"} {
		key := os.Getenv(name)
		if temporary(key) && os.Getenv("AWS_SESSION_TOKEN") == "" {
			return withoutSessionToken(name + " in the environment")
		}
		if key != "" {
			return nil
		}
	}
	return nil
}

var awsKeyPrefixes = []string{"ASIA", "AKIA"}

// CheckLogin refuses a user name that no login by password can hold, and AWS keys where a registry's login belongs: no
// registry takes them, and they would be sent to it.
func CheckLogin(username string) error {
	if strings.Contains(username, ":") {
		return &problem.Problem{Title: "Registry user name with a colon", Object: "a user name that holds \":\"",
			Advice: "A colon ends the user name in a Basic login. Write user name and password in their own arguments."}
	}
	if strings.ContainsFunc(username, unicode.IsControl) {
		return &problem.Problem{Title: "Control character in a user name", Object: fmt.Sprintf("%q", username), Advice: "No registry takes a line break or another control character in it. A file ends with a line break: trimspace(file(\"…\")) leaves it out."}
	}
	for _, prefix := range awsKeyPrefixes {
		if !strings.HasPrefix(username, prefix) || len(username) < 16 {
			continue
		}
		advice := "A registry of ECR takes the user AWS and a login token. Leave the login out and set the provider's aws or registries[…].ecr, which get one from the AWS credentials of the environment."
		if temporary(username) {
			advice += " These keys are temporary: they need their session token (AWS_SESSION_TOKEN) there."
		}
		return &problem.Problem{Title: "AWS keys in place of a registry login", Object: "a user name that begins with " + prefix, Advice: advice}
	}
	return nil
}

func (k *AWSKeys) from(keys aws.Credentials, region string) *AWSKeys {
	*k = AWSKeys{AccessKeyID: keys.AccessKeyID, SecretAccessKey: secret.New(keys.SecretAccessKey), SessionToken: secret.New(keys.SessionToken), Region: region, ExpiresAt: keys.Expires}
	return k
}

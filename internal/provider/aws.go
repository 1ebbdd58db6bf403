package provider

import (
	"context"
	"fmt"
	"net/url"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// roleDescription is what every role_arn says of the sessions that it is assumed for.
const roleDescription = "It is assumed with a session policy that allows what an operation does in the repositories of this operation, and nothing else; operations of one run that need the same of the same repositories share the session."

func awsAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true,
		MarkdownDescription: "Asks AWS for the logins of all registries of Amazon ECR that have none in `registries`; `aws = {}` does so with the SDK's default credential chain (environment, shared configuration, IAM Identity Center, container, instance). A registry is recognised by its host, which also gives account and region: `111122223333.dkr.ecr.eu-west-1.amazonaws.com`, in every partition, with FIPS and dual-stack endpoints. " +
			"Without `aws` and `registries[…].ecr`, AWS is never asked. Login tokens are got when a request needs one, renewed before they end, and kept in memory only.",
		Attributes: map[string]schema.Attribute{
			"region":           schema.StringAttribute{Optional: true, Validators: []validator.String{awsRegion()}, MarkdownDescription: "The region in which STS is asked, by a profile's own role too. Default: that of the registry's host; it is taken for registries of other partitions (`aws-cn`, `aws-us-gov`) in any case. ECR is always asked in the host's."},
			"profile":          profileAttribute(),
			"role_arn":         roleAttribute(roleDescription + " Without it the identity's own credentials are used: the login token, which the BuildKit daemon or E2B is given, then opens all that the identity may use, for 12 hours, and a warning says so."),
			"external_id":      externalIDAttribute(),
			"session_duration": sessionDurationAttribute(),
			"endpoints": schema.SingleNestedAttribute{Optional: true, MarkdownDescription: "URLs in place of AWS's own, such as those of VPC endpoints.",
				Attributes: map[string]schema.Attribute{
					"sts": schema.StringAttribute{Optional: true, Validators: []validator.String{endpointURL()}, MarkdownDescription: "`https://…` of STS, which a profile's own role and a web identity are asked for at too. Plain `http://` is for loopback alone. It goes before `AWS_ENDPOINT_URL_STS`."},
					"ecr": schema.StringAttribute{Optional: true, Validators: []validator.String{endpointURL()}, MarkdownDescription: "`https://…` of the ECR API, whichever region a registry is in. Plain `http://` is for loopback alone. It goes before `AWS_ENDPOINT_URL_ECR`."},
				}},
		}}
}

// ecrAttribute is one registry's own way to its login.
func ecrAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true,
		MarkdownDescription: "Asks AWS for the login of this registry, which is one of Amazon ECR, in place of `username` and `password`. What is set here goes before `aws`; `ecr = {}` is enough where there is no `aws`.",
		Attributes: map[string]schema.Attribute{
			"role_arn":         roleAttribute(roleDescription + " Default: `aws.role_arn`."),
			"external_id":      externalIDAttribute(),
			"session_duration": sessionDurationAttribute(),
			"profile":          profileAttribute(),
		}}
}

func profileAttribute() schema.Attribute {
	return schema.StringAttribute{Optional: true, Validators: []validator.String{notBlank("Empty AWS setting", "profile")},
		MarkdownDescription: "A profile of the shared AWS configuration. Default: the SDK's default credential chain, `AWS_PROFILE` included."}
}

func roleAttribute(description string) schema.Attribute {
	return schema.StringAttribute{Optional: true, Validators: []validator.String{roleARN()}, MarkdownDescription: "The ARN of an IAM role. " + description}
}

func externalIDAttribute() schema.Attribute {
	return schema.StringAttribute{Optional: true, Validators: []validator.String{externalID()},
		MarkdownDescription: "The external id that the role's trust policy asks for. It belongs to the `role_arn` beside it."}
}

func sessionDurationAttribute() schema.Attribute {
	return schema.StringAttribute{Optional: true, Validators: []validator.String{sessionDuration()},
		MarkdownDescription: fmt.Sprintf("How long a session of the role lasts: `%s` (default) to `%s`, and at most the role's own maximum; `1h` where the caller is itself a role's session. A long build renews its session. A login token of ECR lasts 12 hours whatever the session does.", minutes(credential.MinSessionDuration), "12h")}
}

func roleARN() validator.String {
	return stringRule{"the ARN of an IAM role", func(value string) error {
		if credential.ValidRoleARN(value) {
			return nil
		}
		return &problem.Problem{Title: "Invalid role ARN", Object: fmt.Sprintf("%q", value), Advice: `Write the ARN of an IAM role: "arn:aws:iam::111122223333:role/name".`}
	}}
}

func externalID() validator.String {
	return stringRule{"an external id", func(value string) error {
		if credential.ValidExternalID(value) {
			return nil
		}
		return &problem.Problem{Title: "Invalid external_id", Object: fmt.Sprintf("%q", value), Advice: "STS takes 2 to 1224 letters, digits and +=,.@:/-_ as an external id. Remove the argument where the role's trust policy asks for none."}
	}}
}

// checkExternalID refuses an external id that no role is beside, which nothing would send.
func checkExternalID(block types.Object, at path.Path, role types.String, diagnostics *diag.Diagnostics) {
	if id := member[types.String](block, "external_id"); role.IsNull() && !id.IsNull() && !id.IsUnknown() {
		diagnostics.AddAttributeError(at.AtName("external_id"), "External id without a role", fmt.Sprintf("%s is sent when a role is assumed, and there is no role_arn that it belongs to. Set role_arn beside it, or remove it.", at.AtName("external_id")))
	}
}

var regionPattern = lazyregexp.New(`^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$`)

func awsRegion() validator.String {
	return textRule("Invalid AWS region", `the name of a region: "eu-west-1"`, regionPattern.MatchString)
}

func sessionDuration() validator.String {
	return stringRule{"a duration from 15 minutes to 12 hours", func(value string) error {
		_, err := credential.ParseSessionDuration(value)
		return err
	}}
}

func endpointURL() validator.String {
	return stringRule{"a URL", func(value string) error {
		parsed, err := url.Parse(value)
		switch {
		case err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "" || parsed.User != nil:
		case parsed.Scheme == "http" && !reference.PlainHTTP(parsed.Host):
			return &problem.Problem{Title: "AWS endpoint without TLS", Object: "http://" + parsed.Host, Advice: "Write https://: what STS and ECR answer is a credential, and plain HTTP is taken on this machine's loopback alone."}
		default:
			return nil
		}
		return &problem.Problem{Title: "Invalid AWS endpoint", Object: "an endpoint that is not an address", Advice: "Write a URL with scheme and host, without a login: https://vpce-….sts.eu-west-1.vpce.amazonaws.com."}
	}}
}

// newAWS reads the provider's aws and what registries[host].ecr add to it. hosts are the identities of single hosts; AWS
// is never asked where neither is set.
func newAWS(ctx context.Context, config types.Object, hosts map[string]credential.Identity, s *services, diagnostics *diag.Diagnostics) *credential.AWS {
	options := credential.AWSOptions{Hosts: hosts, Withheld: s.loginUnknown, Logger: s.logger}
	s.awsUnknown = !whollyKnown(ctx, config)
	if !config.IsNull() && !s.awsUnknown {
		identity := identityOf(config)
		options.Default = &identity
		checkExternalID(config, path.Root("aws"), member[types.String](config, "role_arn"), diagnostics)
		options.Region = member[types.String](config, "region").ValueString()
		endpoints := member[types.Object](config, "endpoints")
		options.STSEndpoint, options.ECREndpoint = member[types.String](endpoints, "sts").ValueString(), member[types.String](endpoints, "ecr").ValueString()
	}
	if options.Default == nil && len(hosts) == 0 {
		return credential.NewAWS(options)
	}
	if options.Default == nil || options.Default.Profile == "" {
		if err := credential.CheckAWSEnvironment(); err != nil && anyWithoutProfile(options) {
			appendProblems(diagnostics, err, "AWS keys in the environment cannot be used")
		}
	}
	return credential.NewAWS(options)
}

// anyWithoutProfile tells whether the environment's keys are somebody's identity: a profile goes before them.
func anyWithoutProfile(options credential.AWSOptions) bool {
	if options.Default != nil && options.Default.Profile == "" {
		return true
	}
	for _, identity := range options.Hosts {
		if identity.Profile == "" {
			return true
		}
	}
	return false
}

// identityOf reads the members that aws and ecr share.
func identityOf(o types.Object) credential.Identity {
	duration, _ := credential.ParseSessionDuration(member[types.String](o, "session_duration").ValueString()) // The validator has spoken.
	return credential.Identity{
		Profile: member[types.String](o, "profile").ValueString(), RoleARN: member[types.String](o, "role_arn").ValueString(),
		ExternalID: member[types.String](o, "external_id").ValueString(), SessionDuration: duration,
	}
}

// addIdentity reads registries[host].ecr. One that is not wholly known yet is left out: without its role it would reach more.
func addIdentity(ctx context.Context, hosts map[string]credential.Identity, host string, entry attr.Value, at path.Path, diagnostics *diag.Diagnostics) {
	registry, isECR := credential.ParseECRHost(host)
	if !isECR {
		diagnostics.AddAttributeError(at.AtName("ecr"), "Registry is not one of Amazon ECR", fmt.Sprintf("%s is not the host of a private registry of ECR (111122223333.dkr.ecr.eu-west-1.amazonaws.com), so AWS is not asked for its login. Give username and password; %s needs no login to pull.", host, credential.PublicECR))
		return
	}
	if !whollyKnown(ctx, entry) {
		return
	}
	identity := identityOf(member[types.Object](entry, "ecr"))
	for _, fault := range problem.From(registry.CheckRole(identity.RoleARN), "Invalid role of a registry") {
		diagnostics.AddAttributeError(at.AtName("ecr").AtName("role_arn"), fault.Title, fault.Detail())
	}
	hosts[host] = identity
}

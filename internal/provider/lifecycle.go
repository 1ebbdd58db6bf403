package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const (
	policyDelete = "delete"
	policyRetain = "retain"
)

// How long an operation may take where timeouts does not say.
const (
	createTimeout = time.Hour
	readTimeout   = 2 * time.Minute
	updateTimeout = 5 * time.Minute
	deleteTimeout = 10 * time.Minute
)

// lifecycle are the arguments and outputs of all that a service keeps for us: how it is recognised, how long operations
// take, and what becomes of it.
type lifecycle struct {
	DeletionPolicy      types.String   `tfsdk:"deletion_policy"`
	Timeouts            timeouts.Value `tfsdk:"timeouts"`
	Reference           types.String   `tfsdk:"reference"`
	CacheKey            types.String   `tfsdk:"cache_key"`
	CredentialExpiresAt types.String   `tfsdk:"credential_expires_at"`
	Retained            types.List     `tfsdk:"retained"`
}

var retainedType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"what": types.StringType, "where": types.StringType, "id": types.StringType, "removable_by": types.StringType,
}}

// lifecycleAttributes are those of lifecycle but for reference and cache_key, which each resource describes itself.
func lifecycleAttributes(ctx context.Context, made string) map[string]schema.Attribute {
	text := func(description string) schema.Attribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"deletion_policy": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(policyDelete), Validators: []validator.String{deletionPolicy()},
			MarkdownDescription: "What destroy does with the " + made + ": `delete` (default) removes it, `retain` leaves it where it is and forgets it. Destroy reads it from state, so apply a change of it first."},
		"timeouts":              timeoutsAttribute(ctx),
		"credential_expires_at": text("When the last credential that was handed to the service ends (RFC 3339). BuildKit gets a login over its connection for one build: for a registry of Amazon ECR that AWS gave the login for, this is the end of the login token, 12 hours after it was made, however short the session was. Null for logins that are not known to end."),
		"retained": schema.ListNestedAttribute{Computed: true, MarkdownDescription: "Tags of earlier versions that the registry could not remove: they still point to the image, and destroy counts them as this resource's own.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"what":         text("`tag`."),
				"where":        text("The repository."),
				"id":           text("The tag."),
				"removable_by": text("Who can remove it, and how."),
			}}},
	}
}

func timeoutsAttribute(ctx context.Context) schema.Attribute {
	attribute := timeouts.Attributes(ctx, timeouts.Opts{
		Create: true, CreateDescription: timeoutDescription("create", "build, push and tag", createTimeout),
		Read: true, ReadDescription: timeoutDescription("read", "refresh", readTimeout),
		Update: true, UpdateDescription: timeoutDescription("update", "a change in place", updateTimeout),
		Delete: true, DeleteDescription: timeoutDescription("delete", "destroy", deleteTimeout),
	})
	return withDurations(attribute)
}

// withDurations lets timeouts be judged by a rule of ours: that of the library gives no example.
func withDurations(attribute schema.Attribute) schema.Attribute {
	nested, ok := attribute.(schema.SingleNestedAttribute)
	if !ok {
		return attribute
	}
	nested.MarkdownDescription = "How long each operation may take."
	for name, member := range nested.Attributes {
		if text, ok := member.(schema.StringAttribute); ok {
			text.Validators = []validator.String{duration()}
			nested.Attributes[name] = text
		}
	}
	return nested
}

func timeoutDescription(name, what string, limit time.Duration) string {
	return fmt.Sprintf("How long %s may take, as a duration such as `\"90s\"` or `\"30m\"`. Default of `%s`: `%s`.", what, name, minutes(limit))
}

func minutes(d time.Duration) string { return fmt.Sprintf("%dm", int(d.Minutes())) }

// registryAttribute is a login that a resource brings for one host. The password is write-only: it is in no plan and no state.
func registryAttribute(purpose string) schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true,
		MarkdownDescription: purpose + " It goes before the provider's `registries` and `aws` and the Docker configuration. It is used at create and update only, since Terraform does not keep write-only values: refresh and destroy need the host in the provider's `registries` or in the Docker configuration if it answers no anonymous requests.",
		Attributes: map[string]schema.Attribute{
			"username":            schema.StringAttribute{Optional: true, MarkdownDescription: "The user name. Required.", Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			"password_wo":         schema.StringAttribute{Optional: true, WriteOnly: true, Sensitive: true, MarkdownDescription: "The password or token. Required for what builds, pushes or moves a tag. Write-only: it may come from an ephemeral resource."},
			"password_wo_version": versionAttribute("Raise it to say that the password changed. A change updates in place and builds nothing."),
		}}
}

// sourceRegistryAttribute is a login as registryAttribute describes it, or a role that gets one from AWS, for the image of
// another attribute, which is read and never pushed to.
func sourceRegistryAttribute(of string) schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true,
		MarkdownDescription: fmt.Sprintf("The login for the host of `%s`: `username` and `password_wo`, or `role_arn` for an image on Amazon ECR. It goes before the provider's `registries` and `aws` and the Docker configuration, and is used at create alone.", of),
		Attributes: map[string]schema.Attribute{
			"username":            schema.StringAttribute{Optional: true, MarkdownDescription: "The user name. Required without `role_arn`.", Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			"password_wo":         schema.StringAttribute{Optional: true, WriteOnly: true, Sensitive: true, MarkdownDescription: "The password or token. Required without `role_arn` for what builds. Write-only: it may come from an ephemeral resource."},
			"password_wo_version": versionAttribute("Raise it to say that the password changed. A change updates in place and builds nothing."),
			"role_arn": schema.StringAttribute{Optional: true, Validators: []validator.String{roleARN()},
				MarkdownDescription: fmt.Sprintf("The ARN of an IAM role that may read the image. It is assumed for builds, with a session policy that allows pulls from its repository and nothing else; who assumes it, and for how long, is as in the provider's `registries[…].ecr` and `aws`. `%s` and `repository` must be in two registries then: a build takes one credential for a host.", of)},
			"external_id": externalIDAttribute(),
		}}
}

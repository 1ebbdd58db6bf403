package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// IdentitySchema is what tells one image from all others, for as long as it exists.
func (r *imageResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"repository": identityschema.StringAttribute{RequiredForImport: true, Description: "The repository that holds the image, with its registry host."},
		"digest":     identityschema.StringAttribute{RequiredForImport: true, Description: "The digest of the image or index: sha256:…."},
	}}
}

type imageIdentity struct {
	Repository types.String `tfsdk:"repository"`
	Digest     types.String `tfsdk:"digest"`
}

// identify sets the identity of a state. It must be done in every operation: a Terraform before 1.12 keeps none, and
// hands an empty one to each. The repository is in its one spelling, since another in the configuration moves nothing.
func identify(ctx context.Context, identity *tfsdk.ResourceIdentity, repository, digest types.String) diag.Diagnostics {
	if parsed, err := reference.ParseRepository(repository.ValueString()); err == nil {
		repository = types.StringValue(parsed.String())
	}
	return identity.Set(ctx, imageIdentity{repository, digest})
}

// importReference reads what to import: the id, which is the reference that the resource prints, or the identity.
func importReference(ctx context.Context, req resource.ImportStateRequest, diagnostics *diag.Diagnostics) (reference.Reference, error) {
	if id := strings.TrimSpace(req.ID); id != "" {
		return reference.ParsePinned(id)
	}
	var identity imageIdentity
	if req.Identity == nil || req.Identity.Raw.IsNull() {
		return reference.Reference{}, &problem.Problem{Title: "Empty import id", Advice: "Import by the reference output of the resource: repository@sha256:…"}
	}
	if diagnostics.Append(req.Identity.Get(ctx, &identity)...); diagnostics.HasError() {
		return reference.Reference{}, nil
	}
	repository, err := reference.ParseRepository(identity.Repository.ValueString())
	if err != nil {
		return reference.Reference{}, err
	}
	return reference.ParsePinned(repository.WithDigest(identity.Digest.ValueString()).String())
}

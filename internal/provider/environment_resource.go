package provider

import (
	"context"
	"fmt"
	"io"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

var (
	_ resource.ResourceWithConfigure      = &environmentResource{}
	_ resource.ResourceWithValidateConfig = &environmentResource{}
	_ resource.ResourceWithModifyPlan     = &environmentResource{}
	_ resource.ResourceWithImportState    = &environmentResource{}
)

func newEnvironmentResource() resource.Resource { return &environmentResource{} }

type environmentResource struct{ services *services }

func (r *environmentResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_environment"
}

func (r *environmentResource) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if s, ok := req.ProviderData.(*services); ok {
		r.services = s
	}
}

func (r *environmentResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan environmentModel
	if resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...); resp.Diagnostics.HasError() {
		return
	}
	ctx, running := begin(ctx, "create", plan.Name, plan.Timeouts.Create, createTimeout, &resp.Diagnostics)
	defer running.end()
	defer r.services.warn(&resp.Diagnostics)
	logins := resourceLogins(ctx, req.Config, plan, &resp.Diagnostics)
	request := plan.request(&resp.Diagnostics)
	request.PackageIndex, request.BuildSecrets = buildInputs(ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	network, err := buildNetwork()
	if err != nil {
		running.failed(err, "Build network cannot be set up")
		return
	}
	request.Network = network
	publisher := r.services.publisher(logins, &request)
	tag := imageTag(plan.Version.ValueString(), newNonce())
	published, err := publisher.Publish(ctx, request, tag, func(pushed buildkit.Published) {
		// From here on the registry holds something of ours: whatever comes next, state must know it.
		known := plan.pushed(request.Repository, pushed, tag)
		known.CredentialExpiresAt = expiry(request)
		resp.Diagnostics.Append(resp.State.Set(ctx, known)...)
		resp.Diagnostics.Append(identify(ctx, resp.Identity, known.Repository, known.Digest)...)
	})
	if err != nil {
		running.failed(err, "Environment could not be created")
		return
	}
	warnOfCache(published.Unexported, request.Cache.Export, &resp.Diagnostics)
	if published.Unread != nil {
		resp.Diagnostics.AddWarning("Pushed image was not read back", fmt.Sprintf("%s is built, pushed and tagged. The registry did not let it be read: %s. manifests, size_bytes and media_type follow at the next refresh.", published.Reference(request.Repository), published.Unread))
	}
	plan.CredentialExpiresAt = expiry(request)
	resp.Diagnostics.Append(resp.State.Set(ctx, plan.pushed(request.Repository, *published, tag).described(published.Image, published.Attestations))...)
}

func (r *environmentResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state environmentModel
	if resp.Diagnostics.Append(req.State.Get(ctx, &state)...); resp.Diagnostics.HasError() {
		return
	}
	if resp.Diagnostics.Append(identify(ctx, resp.Identity, state.Repository, state.Digest)...); state.Digest.IsNull() {
		return
	}
	ctx, running := begin(ctx, "read", state.Name, state.Timeouts.Read, readTimeout, &resp.Diagnostics)
	defer running.end()
	defer r.services.warn(&resp.Diagnostics)
	repository, err := reference.ParseRepository(state.Repository.ValueString())
	if err != nil {
		running.failed(err, "Repository to refresh cannot be read")
		return
	}
	if r.services.loginUnknown(repository.Host) {
		resp.Diagnostics.AddWarning("Environment was not refreshed", fmt.Sprintf("%s is kept as it was: the provider's registries or aws hold values that are not known yet, so its registry cannot be asked.", state.Reference.ValueString()))
		return
	}
	presence, err := r.services.registry(nil, looks(repository)).Presence(ctx, repository, state.Digest.ValueString(), state.Tag.ValueString())
	if err != nil {
		running.failed(keepsState(state.withoutLogin(err)), "Environment could not be refreshed")
		return
	}
	switch presence.State {
	case image.Gone:
		resp.State.RemoveResource(ctx)
	case image.PresentMoved:
		warnOfTag(state, presence, &resp.Diagnostics)
	case image.Present:
	}
	if presence.State != image.Gone && state.MediaType.IsNull() {
		r.describe(ctx, running, repository, state, resp)
	}
}

// describe reads what a Create could not read back of its image.
func (r *environmentResource) describe(ctx context.Context, running operation, repository reference.Repository, state environmentModel, resp *resource.ReadResponse) {
	client := r.services.reader(reads(repository))
	found, err := client.Inspect(ctx, repository.WithDigest(state.Digest.ValueString()))
	var statements []image.Attestation
	if err == nil {
		statements, err = client.Attestations(ctx, repository, found)
	}
	if err != nil {
		running.failed(keepsState(err), "Environment could not be described")
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, state.described(found, statements))...)
}

func (r *environmentResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state environmentModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, running := begin(ctx, "update", plan.Name, plan.Timeouts.Update, updateTimeout, &resp.Diagnostics)
	defer running.end()
	defer r.services.warn(&resp.Diagnostics)
	if plan.Tag.IsUnknown() {
		plan.Tag = types.StringValue(imageTag(plan.Version.ValueString(), newNonce()))
	}
	if plan.Retained.IsUnknown() {
		plan.Retained = state.Retained
	}
	if plan.Packages.IsUnknown() {
		resp.Diagnostics.AddError("Packages are not known after apply", "This is a bug in the provider: an update builds nothing, so it can learn nothing.")
		return
	}
	if !plan.Tag.Equal(state.Tag) {
		r.retag(ctx, running, resourceLogins(ctx, req.Config, plan, &resp.Diagnostics), state, &plan)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, plan.settled())...)
	resp.Diagnostics.Append(identify(ctx, resp.Identity, plan.Repository, plan.Digest)...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedMark, []byte("false"))...)
}

// retag moves the tag to the new version. A registry that cannot remove the old one keeps it, and retained says so.
func (r *environmentResource) retag(ctx context.Context, running operation, logins []login, state environmentModel, plan *environmentModel) {
	repository, err := reference.ParseRepository(plan.Repository.ValueString())
	if err != nil {
		running.failed(err, "Repository in plan cannot be read")
		return
	}
	kept, err := r.services.registry(logins, writes(repository), removes(repository)).Retag(ctx, repository, state.Digest.ValueString(), state.Tag.ValueString(), plan.Tag.ValueString())
	if err != nil && kept == "" {
		running.failed(imageGone(err, state), "Tag could not be changed")
		return
	}
	plan.Retained = withoutRetainedTag(plan.Retained, plan.Tag.ValueString())
	if kept != "" {
		reason := "the registry cannot remove a tag alone."
		if err != nil {
			reason = err.Error()
		}
		plan.Retained = withRetainedTag(plan.Retained, repository, kept)
		running.diagnostics.AddWarning("Old tag was kept", fmt.Sprintf("%s:%s still points to the image: %s It is listed in retained, and destroy counts it as ours.", repository, kept, reason))
	}
}

func (r *environmentResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state environmentModel
	if resp.Diagnostics.Append(req.State.Get(ctx, &state)...); resp.Diagnostics.HasError() {
		return
	}
	if state.Digest.IsNull() || state.DeletionPolicy.ValueString() == policyRetain {
		return
	}
	ctx, running := begin(ctx, "delete", state.Name, state.Timeouts.Delete, deleteTimeout, &resp.Diagnostics)
	defer running.end()
	defer r.services.warn(&resp.Diagnostics)
	repository, err := reference.ParseRepository(state.Repository.ValueString())
	if err != nil {
		running.failed(err, "Repository to delete from cannot be read")
		return
	}
	uses := []access{removes(repository)}
	removal := image.Removal{Repository: repository, Digest: state.Digest.ValueString(), Tags: state.tags(), Owns: state.ownsTag}
	if state.BuiltAt.IsNull() {
		// It was imported, so it must prove that this provider made it; of what Create made, state is the proof.
		removal.RequireLabel = environment.LabelCacheKey
		uses = append(uses, reads(repository))
	}
	removed, err := r.services.registry(nil, uses...).Remove(ctx, removal)
	if err != nil {
		running.failed(deleteKeepsState(state.withoutLogin(err)), "Environment could not be deleted")
		return
	}
	warnOfRemains(state, removed, &resp.Diagnostics)
}

// environmentModel is the resource in plan and state.
type environmentModel struct {
	artifactArguments
	artifactOutputs
	Name                 types.String  `tfsdk:"name"`
	Version              types.String  `tfsdk:"version"`
	Repository           types.String  `tfsdk:"repository"`
	Registry             types.Object  `tfsdk:"registry"`
	Platforms            types.List    `tfsdk:"platforms"`
	Labels               types.Map     `tfsdk:"labels"`
	Attestations         types.Object  `tfsdk:"attestations"`
	PackageIndex         types.Object  `tfsdk:"package_index"`
	Cache                types.Object  `tfsdk:"cache"`
	BuildSecrets         types.Map     `tfsdk:"build_secrets_wo"`
	BuildSecretsVersion  types.Int64   `tfsdk:"build_secrets_wo_version"`
	Attested             types.List    `tfsdk:"attested"`
	Digest               types.String  `tfsdk:"digest"`
	Manifests            types.Map     `tfsdk:"manifests"`
	Tag                  types.String  `tfsdk:"tag"`
	SizeBytes            types.Int64   `tfsdk:"size_bytes"`
	MediaType            types.String  `tfsdk:"media_type"`
	BuiltAt              types.String  `tfsdk:"built_at"`
	BuildDurationSeconds types.Float64 `tfsdk:"build_duration_seconds"`
}

// Format keeps what a configuration brings of passwords out of every way of printing.
func (environmentModel) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "environment") }

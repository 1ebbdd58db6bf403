package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// imageKind is what messages call an image, and how one that was imported is recognised.
type imageKind struct {
	// noun begins titles: "Environment". uses is what is done with the image's reference: "launches".
	noun, uses string
	// cacheKey is the label that only this provider's own images of the kind carry.
	cacheKey string
	// foreign says why an image with these labels is another resource's; nil where none is.
	foreign func(labels map[string]string, ref reference.Reference) error
}

// what is the noun within a sentence.
func (k imageKind) what() string { return lowered(k.noun) }

// imageResource is what resources share whose object is an image in a registry.
type imageResource struct {
	kind     imageKind
	services *services
}

func (r *imageResource) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if s, ok := req.ProviderData.(*services); ok {
		r.services = s
	}
}

// build publishes the image. state gives the whole model for what is known of it; it is kept from the moment that the
// registry holds the digest.
func (r *imageResource) build(ctx context.Context, running operation, logins []login, request buildkit.Request, tag string, resp *resource.CreateResponse, state func(buildkit.Published) any) {
	network, err := buildNetwork()
	if err != nil {
		running.failed(err, "Build network cannot be set up")
		return
	}
	defer r.services.warn(&resp.Diagnostics)
	request.Network = network
	publisher := r.services.publisher(logins, &request)
	keep := func(p buildkit.Published) {
		resp.Diagnostics.Append(resp.State.Set(ctx, state(p))...)
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("credential_expires_at"), expiry(request))...)
	}
	published, err := publisher.Publish(ctx, request, tag, func(pushed buildkit.Published) {
		// From here on the registry holds something of ours: whatever comes next, state must know it.
		keep(pushed)
		resp.Diagnostics.Append(identify(ctx, resp.Identity, types.StringValue(request.Repository.String()), types.StringValue(pushed.Digest))...)
	})
	if err != nil {
		running.failed(err, r.kind.noun+" could not be created")
		return
	}
	warnOfCache(published.Unexported, request.Cache.Export, &resp.Diagnostics)
	if published.Unread != nil {
		resp.Diagnostics.AddWarning("Pushed image was not read back", fmt.Sprintf("%s is built, pushed and tagged. The registry did not let it be read: %s. manifests, size_bytes and media_type follow at the next refresh.", published.Reference(request.Repository), published.Unread))
	}
	keep(*published)
}

// refresh looks the image up. described gives the whole model with what a Create could not read back.
func (r *imageResource) refresh(ctx context.Context, state builtImage, resp *resource.ReadResponse, described func(builtImage) any) {
	if resp.Diagnostics.Append(identify(ctx, resp.Identity, state.Repository, state.Digest)...); state.Digest.IsNull() {
		return
	}
	ctx, running := begin(ctx, r.kind.what(), "read", state.Name, state.Timeouts.Read, readTimeout, &resp.Diagnostics)
	defer running.end()
	repository, err := reference.ParseRepository(state.Repository.ValueString())
	if err != nil {
		running.failed(err, "Repository to refresh cannot be read")
		return
	}
	if r.services.loginUnknown(repository.Host) {
		resp.Diagnostics.AddWarning(r.kind.noun+" was not refreshed", fmt.Sprintf("%s is kept as it was: the provider's registries or aws hold values that are not known yet, so its registry cannot be asked.", state.Reference.ValueString()))
		return
	}
	defer r.services.warn(&resp.Diagnostics)
	presence, err := r.services.registry(nil, looks(repository)).Presence(ctx, repository, state.Digest.ValueString(), state.Tag.ValueString())
	if err != nil {
		running.failed(keepsState(state.withoutLogin(err)), r.kind.noun+" could not be refreshed")
		return
	}
	switch presence.State {
	case image.Gone:
		resp.State.RemoveResource(ctx)
		return
	case image.PresentMoved:
		r.kind.warnOfTag(state, presence, &resp.Diagnostics)
	case image.Present:
	}
	if !state.MediaType.IsNull() {
		return
	}
	client := r.services.reader(nil, reads(repository))
	found, err := client.Inspect(ctx, repository.WithDigest(state.Digest.ValueString()))
	var statements []image.Attestation
	if err == nil {
		statements, err = client.Attestations(ctx, repository, found)
	}
	if err != nil {
		running.failed(keepsState(err), r.kind.noun+" could not be described")
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, described(state.described(found, statements)))...)
}

// update does what a change in place asks of the registry: it moves the tag to the new version. plan is settled then.
func (r *imageResource) update(ctx context.Context, logins []login, state builtImage, plan *builtImage, resp *resource.UpdateResponse) {
	ctx, running := begin(ctx, r.kind.what(), "update", plan.Name, plan.Timeouts.Update, updateTimeout, &resp.Diagnostics)
	defer running.end()
	if plan.Tag.IsUnknown() {
		plan.Tag = types.StringValue(imageTag(plan.Version.ValueString(), newNonce()))
	}
	if plan.Retained.IsUnknown() {
		plan.Retained = state.Retained
	}
	if !plan.Tag.Equal(state.Tag) {
		r.retag(ctx, running, logins, state, plan)
	}
	resp.Diagnostics.Append(identify(ctx, resp.Identity, plan.Repository, plan.Digest)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedMark, []byte("false"))...)
	}
}

// retag moves the tag to the new version. A registry that cannot remove the old one keeps it, and retained says so.
func (r *imageResource) retag(ctx context.Context, running operation, logins []login, state builtImage, plan *builtImage) {
	repository, err := reference.ParseRepository(plan.Repository.ValueString())
	if err != nil {
		running.failed(err, "Repository in plan cannot be read")
		return
	}
	defer r.services.warn(running.diagnostics)
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

// remove destroys the image, unless it is to be kept.
func (r *imageResource) remove(ctx context.Context, state builtImage, diagnostics *diag.Diagnostics) {
	if state.Digest.IsNull() || state.DeletionPolicy.ValueString() == policyRetain {
		return
	}
	ctx, running := begin(ctx, r.kind.what(), "delete", state.Name, state.Timeouts.Delete, deleteTimeout, diagnostics)
	defer running.end()
	repository, err := reference.ParseRepository(state.Repository.ValueString())
	if err != nil {
		running.failed(err, "Repository to delete from cannot be read")
		return
	}
	defer r.services.warn(diagnostics)
	uses := []access{removes(repository)}
	removal := image.Removal{Repository: repository, Digest: state.Digest.ValueString(), Tags: state.tags(), Owns: state.ownsTag}
	if state.BuiltAt.IsNull() {
		// It was imported, so it must prove that this provider made it; of what Create made, state is the proof.
		removal.RequireLabel = r.kind.cacheKey
		uses = append(uses, reads(repository))
	}
	removed, err := r.services.registry(nil, uses...).Remove(ctx, removal)
	if err != nil {
		running.failed(deleteKeepsState(state.withoutLogin(err)), r.kind.noun+" could not be deleted")
		return
	}
	r.kind.warnOfRemains(state, removed, diagnostics)
}

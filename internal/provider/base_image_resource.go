package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

var (
	_ resource.ResourceWithConfigure      = &baseImageResource{}
	_ resource.ResourceWithIdentity       = &baseImageResource{}
	_ resource.ResourceWithValidateConfig = &baseImageResource{}
	_ resource.ResourceWithModifyPlan     = &baseImageResource{}
	_ resource.ResourceWithImportState    = &baseImageResource{}
)

func newBaseImageResource() resource.Resource {
	return &baseImageResource{imageResource{kind: imageKind{noun: "Base image", uses: "is built on", cacheKey: base.LabelCacheKey, foreign: environmentLabels}}}
}

type baseImageResource struct{ imageResource }

func (r *baseImageResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_base_image"
}

// ValidateConfig checks what spans attributes. What is unknown yet is skipped and checked again at apply.
func (r *baseImageResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config baseImageModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &config)...); resp.Diagnostics.HasError() {
		return
	}
	validateImage(ctx, config.builtImage, &resp.Diagnostics)
	from := config.From
	if from.IsNull() {
		from = types.StringValue(base.DefaultFrom)
	}
	validateLogins(from, config.Repository, loginBlock{"from", "from_registry", config.FromRegistry}, loginBlock{"repository", "registry", config.Registry}, &resp.Diagnostics)
	if config.KernelLock.IsNull() || config.KernelLock.IsUnknown() {
		return
	}
	if locked, err := lock.Parse(config.KernelLock.ValueString()); err == nil { // Where it is none, the attribute's own validator has said so.
		platforms := platformsOf(ctx, config.Platforms)
		appendProblems(&resp.Diagnostics, base.CheckKernelLock(locked, targetsOf(platforms)...), "Invalid kernel_lock")
		// The lock's Python is held against the image's at apply.
		appendProblems(&resp.Diagnostics, ofKernelLock(environment.Known{Platforms: platforms}.CheckLock(locked).Err()), "Kernel lock does not fit the platforms")
	}
}

// platformsOf are the platforms that an image is for, nil where they are not known.
func platformsOf(ctx context.Context, platforms types.List) []string {
	switch {
	case platforms.IsNull():
		return []string{environment.DefaultPlatform}
	case whollyKnown(ctx, platforms):
		return texts(platforms)
	}
	return nil
}

func (r *baseImageResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan baseImageModel
	if resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...); resp.Diagnostics.HasError() {
		return
	}
	ctx, running := begin(ctx, r.kind.what(), "create", plan.Name, plan.Timeouts.Create, createTimeout, &resp.Diagnostics)
	defer running.end()
	logins := plan.logins(ctx, req.Config, &resp.Diagnostics)
	from, err := reference.Parse(plan.From.ValueString())
	if err != nil {
		running.failed(err, "Parent image in plan cannot be read")
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if plan.FromDigest.IsUnknown() {
		resolved, err := r.services.reader(logins, reads(from.Repository)).Resolve(ctx, from)
		if err != nil {
			running.failed(unresolved(from, err), "Tag of the parent image cannot be resolved")
			return
		}
		plan.FromDigest = types.StringValue(resolved.Digest)
	}
	request := plan.request(from.WithDigest(plan.FromDigest.ValueString()), &resp.Diagnostics)
	request.PackageIndex = packageIndex(ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.CacheKey, plan.KernelLockDigest = types.StringValue(request.Labels[base.LabelCacheKey]), types.StringValue(request.Labels[base.LabelKernelLockDigest])
	tag := imageTag(plan.Version.ValueString(), newNonce())
	r.build(ctx, running, logins, request, tag, resp, func(p buildkit.Published) any { return plan.pushed(request.Repository, p, tag) })
}

func (r *baseImageResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state baseImageModel
	if resp.Diagnostics.Append(req.State.Get(ctx, &state)...); resp.Diagnostics.HasError() {
		return
	}
	r.refresh(ctx, state.builtImage, resp, func(described builtImage) any {
		state.builtImage = described
		return state
	})
}

func (r *baseImageResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state baseImageModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if r.update(ctx, plan.logins(ctx, req.Config, &resp.Diagnostics), state.builtImage, &plan.builtImage, resp); resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, plan.settled())...)
}

func (r *baseImageResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state baseImageModel
	if resp.Diagnostics.Append(req.State.Get(ctx, &state)...); resp.Diagnostics.HasError() {
		return
	}
	r.remove(ctx, state.builtImage, &resp.Diagnostics)
}

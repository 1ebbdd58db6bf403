package provider

import (
	"context"
	"fmt"
	"io"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

var (
	_ resource.ResourceWithConfigure      = &environmentResource{}
	_ resource.ResourceWithIdentity       = &environmentResource{}
	_ resource.ResourceWithValidateConfig = &environmentResource{}
	_ resource.ResourceWithModifyPlan     = &environmentResource{}
	_ resource.ResourceWithImportState    = &environmentResource{}
)

func newEnvironmentResource() resource.Resource {
	return &environmentResource{imageResource{kind: imageKind{noun: "Environment", uses: "launches", cacheKey: environment.LabelCacheKey}}}
}

type environmentResource struct{ imageResource }

func (r *environmentResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_environment"
}

func (r *environmentResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan environmentModel
	if resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...); resp.Diagnostics.HasError() {
		return
	}
	ctx, running := begin(ctx, r.kind.what(), "create", plan.Name, plan.Timeouts.Create, createTimeout, &resp.Diagnostics)
	defer running.end()
	logins := plan.logins(ctx, req.Config, &resp.Diagnostics)
	request := plan.request(&resp.Diagnostics)
	request.PackageIndex = packageIndex(ctx, req.Config, &resp.Diagnostics)
	request.BuildSecrets = buildSecrets(ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	tag := imageTag(plan.Version.ValueString(), newNonce())
	r.build(ctx, running, logins, request, tag, resp, func(p buildkit.Published) any { return plan.pushed(request.Repository, p, tag) })
}

func (r *environmentResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state environmentModel
	if resp.Diagnostics.Append(req.State.Get(ctx, &state)...); resp.Diagnostics.HasError() {
		return
	}
	r.refresh(ctx, state.builtImage, resp, func(described builtImage) any {
		state.builtImage = described
		return state
	})
}

func (r *environmentResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state environmentModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if plan.Packages.IsUnknown() {
		resp.Diagnostics.AddError("Packages are not known after apply", "This is a bug in the provider: an update builds nothing, so it can learn nothing.")
		return
	}
	if r.update(ctx, plan.logins(ctx, req.Config, &resp.Diagnostics), state.builtImage, &plan.builtImage, resp); resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, plan.settled())...)
}

func (r *environmentResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state environmentModel
	if resp.Diagnostics.Append(req.State.Get(ctx, &state)...); resp.Diagnostics.HasError() {
		return
	}
	r.remove(ctx, state.builtImage, &resp.Diagnostics)
}

// environmentModel is the resource in plan and state.
type environmentModel struct {
	artifactArguments
	artifactOutputs
	builtImage
	BuildSecrets        types.Map    `tfsdk:"build_secrets_wo"`
	BuildSecretsVersion types.Number `tfsdk:"build_secrets_wo_version"`
}

// Format keeps what a configuration brings of passwords out of every way of printing.
func (environmentModel) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "environment") }

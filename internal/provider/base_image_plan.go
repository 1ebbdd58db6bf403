package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// ModifyPlan decides what a plan means: whether the content changes, and so whether the base is replaced, and which
// defaults hold. It asks nothing of the network: a tag is resolved by Create alone.
func (r *baseImageResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	defer needSecrets(ctx, req, resp, "from_registry", "registry", "package_index")
	var plan baseImageModel
	var given givenBase
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("from"), &given.from)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("kernel_lock"), &given.kernelLock)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("attestations"), &given.attestations)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if req.State.Raw.IsNull() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan.asNew(ctx, given, &resp.Diagnostics))...)
		return
	}
	var state baseImageModel
	if resp.Diagnostics.Append(req.State.Get(ctx, &state)...); resp.Diagnostics.HasError() {
		return
	}
	origin := readOrigin(ctx, req.Private, &resp.Diagnostics)
	staying := plan.inPlace(ctx, state, given, origin, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if reasons := plan.replacedBy(state.builtImage, staying.CacheKey, given.attestations); len(reasons) > 0 {
		resp.RequiresReplace = append(resp.RequiresReplace, reasons...)
		origin.warnOfOther(state.builtImage, staying.CacheKey, &resp.Diagnostics)
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan.asNew(ctx, given, &resp.Diagnostics))...)
		return
	}
	origin.warnOfForeign(state.builtImage, &resp.Diagnostics)
	warnOfMissingStatements(staying.builtImage, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, staying)...)
}

// givenBase are the Optional and Computed arguments as the configuration has them.
type givenBase struct {
	from, kernelLock types.String
	attestations     types.Object
}

// asNew is the plan of a base that is to be built, with the defaults of this release. Those of a predecessor are out of
// reach: Terraform plans the new object of a replacement with no state, and once more at apply, with no private state either.
func (m baseImageModel) asNew(ctx context.Context, given givenBase, diagnostics *diag.Diagnostics) baseImageModel {
	if m.From = given.from; m.From.IsNull() {
		m.From = types.StringValue(base.DefaultFrom)
	}
	// The default is a thousand lines, so that plan and state have its digest alone.
	m.KernelLock = given.kernelLock
	m.FromDigest = types.StringUnknown()
	if from := parsedFrom(m.From); from.Digest != "" {
		m.FromDigest = types.StringValue(from.Digest)
	}
	m.KernelLockDigest = digestOfLock(m.kernelLock(), diagnostics)
	m.DoctorDigest = types.StringValue(doctor.Digest().String())
	m.PythonVersion, m.Libc, m.Packages = types.StringUnknown(), types.StringUnknown(), types.MapUnknown(types.StringType)
	m.builtImage = m.builtImage.asNew(m.plannedKey(ctx), m.From, given.attestations)
	return m
}

// inPlace is the plan of a base that stays. Its cache key tells whether it may: it is what is configured now, with the
// doctor that the base has.
func (m baseImageModel) inPlace(ctx context.Context, state baseImageModel, given givenBase, from origin, diagnostics *diag.Diagnostics) baseImageModel {
	if m.From = given.from; m.From.IsNull() {
		m.From = state.From
	}
	m.FromDigest = m.digestOfFrom(state, from)
	if m.KernelLock = given.kernelLock; m.KernelLock.IsNull() {
		m.KernelLock, m.KernelLockDigest = state.KernelLock, state.KernelLockDigest // Earlier releases kept the text of the default.
	} else if m.KernelLockDigest = digestOfLock(m.KernelLock, diagnostics); m.KernelLockDigest.Equal(state.KernelLockDigest) {
		m.KernelLock = spelling(m.KernelLock, state.KernelLock)
	}
	m.DoctorDigest, m.PythonVersion, m.Libc, m.Packages = state.DoctorDigest, state.PythonVersion, state.Libc, state.Packages
	m.builtImage = m.builtImage.inPlace(state.builtImage, m.plannedKey(ctx), given.attestations)
	return m
}

// digestOfFrom is the digest of what is configured, as far as it is known without a registry: the one that it names, or
// the one that the same tag had when the base was created. An import does not bring the tag back.
func (m baseImageModel) digestOfFrom(state baseImageModel, from origin) types.String {
	configured, prior := parsedFrom(m.From), parsedFrom(state.From)
	switch {
	case m.From.IsUnknown():
		return types.StringUnknown()
	case configured.Digest != "":
		return types.StringValue(configured.Digest)
	case m.From.IsNull(), from.imported, configured.Repository == prior.Repository && configured.Tag == prior.Tag:
		return state.FromDigest
	}
	return types.StringUnknown()
}

// plannedKey is unknown while something that it covers is.
func (m baseImageModel) plannedKey(ctx context.Context) types.String {
	if m.FromDigest.IsUnknown() || m.Python.IsUnknown() || m.KernelLockDigest.IsUnknown() || !whollyKnown(ctx, m.Platforms) || !whollyKnown(ctx, m.Labels) {
		return types.StringUnknown()
	}
	return types.StringValue(m.key())
}

// parsedFrom is zero for what is null, unknown or refused by the attribute's own validator.
func parsedFrom(from types.String) reference.Reference {
	parsed, err := reference.Parse(from.ValueString())
	if err != nil {
		return reference.Reference{}
	}
	return parsed
}

func digestOfLock(text types.String, diagnostics *diag.Diagnostics) types.String {
	if text.IsUnknown() {
		return types.StringUnknown()
	}
	locked, err := lock.Parse(text.ValueString())
	if err != nil {
		appendProblems(diagnostics, ofKernelLock(err), "Kernel lock cannot be read")
		return types.StringUnknown()
	}
	return types.StringValue(locked.Digest())
}

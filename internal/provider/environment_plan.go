package provider

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// ModifyPlan decides what a plan means: whether the content changes, and so what is replaced; which changes of
// spelling are none; and which outputs are known. It asks nothing of the network.
func (r *environmentResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var plan environmentModel
	if resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...); resp.Diagnostics.HasError() {
		return
	}
	var configuredPython types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("python_version"), &configuredPython)...)
	content := plan.content(ctx, configuredPython, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if req.State.Raw.IsNull() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan.asNew(content, configuredPython))...)
		return
	}
	var state environmentModel
	if resp.Diagnostics.Append(req.State.Get(ctx, &state)...); resp.Diagnostics.HasError() {
		return
	}
	mark, found := req.Private.GetKey(ctx, importedMark)
	resp.Diagnostics.Append(found...)
	imported := string(mark) == "true"
	reasons := plan.replacedBy(state, content, imported)
	if len(reasons) > 0 {
		resp.RequiresReplace = append(resp.RequiresReplace, reasons...)
		if imported && !content.key.IsUnknown() && !content.key.Equal(state.CacheKey) {
			resp.Diagnostics.AddWarning("Imported image has other content", fmt.Sprintf("%s carries the cache key %s, and this configuration has %s: the image will be replaced by one that is built anew.", state.Reference.ValueString(), state.CacheKey.ValueString(), content.key.ValueString()))
		}
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan.asNew(content, configuredPython))...)
		return
	}
	if !configuredPython.IsNull() && !configuredPython.IsUnknown() && !state.PythonVersion.IsNull() && !configuredPython.Equal(state.PythonVersion) {
		resp.Diagnostics.AddAttributeError(path.Root("python_version"), "Environment has another Python", fmt.Sprintf("python_version is %s, and the image that was built from this base has %s. Change base, or correct python_version.", configuredPython.ValueString(), state.PythonVersion.ValueString()))
		return
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan.inPlace(state, content, configuredPython))...)
}

// content is what a plan says about content: digests, key and packages, each unknown while an argument of it is.
type content struct {
	spec, lock, key types.String
	packages        types.Map
}

func (m environmentModel) content(ctx context.Context, python types.String, diagnostics *diag.Diagnostics) content {
	c := content{spec: types.StringUnknown(), lock: types.StringUnknown(), key: types.StringUnknown(), packages: types.MapUnknown(types.StringType)}
	spec, known, found := m.spec(ctx)
	diagnostics.Append(found...)
	if known {
		c.spec = types.StringValue(spec.Digest())
	}
	switch {
	case m.Lock.IsUnknown():
	case m.Lock.IsNull():
		c.lock, c.packages = types.StringNull(), stringMapValue(nil)
	default:
		locked, err := lock.Parse(m.Lock.ValueString())
		if err != nil {
			appendProblems(diagnostics, err, "Lock cannot be read")
			return c
		}
		c.lock = types.StringValue(locked.Digest())
		c.packages = lockedPackages(ctx, locked, python, m.Platforms, diagnostics)
	}
	if m.Base.IsUnknown() || c.spec.IsUnknown() || c.lock.IsUnknown() || !whollyKnown(ctx, m.Platforms) || !whollyKnown(ctx, m.Labels) {
		return c
	}
	base, err := reference.ParsePinned(m.Base.ValueString())
	if err != nil {
		appendProblems(diagnostics, err, "Base cannot be read")
		return c
	}
	c.key = types.StringValue(environment.Key{
		Variant: environment.VariantDatalayer, SpecDigest: c.spec.ValueString(), LockDigest: c.lock.ValueString(), BaseDigest: base.Digest,
		Recipe: environment.DatalayerRecipe(texts(m.Platforms), stringMap(m.Labels)),
	}.CacheKey())
	return c
}

// lockedPackages are the packages that the lock gives on all platforms; unknown while a marker asks for what is unknown.
func lockedPackages(ctx context.Context, locked *lock.Lock, python types.String, platforms types.List, diagnostics *diag.Diagnostics) types.Map {
	unknown := types.MapUnknown(types.StringType)
	if !whollyKnown(ctx, platforms) {
		return unknown
	}
	var targets []lock.Target
	for _, platform := range texts(platforms) {
		targets = append(targets, lock.Target{Python: python.ValueString(), Platform: platform})
	}
	packages, known, err := locked.Packages(targets)
	if err != nil {
		appendProblems(diagnostics, err, "Lock does not fit the platforms")
		return unknown
	}
	if !known {
		return unknown
	}
	return stringMapValue(packages)
}

// replacedBy gives the attributes whose change makes another artifact. After an import, rebuild_trigger is null in
// state because the registry does not hold it, and a missing cache key means that content cannot be compared.
func (m environmentModel) replacedBy(state environmentModel, c content, imported bool) []path.Path {
	var reasons []path.Path
	if c.key.IsUnknown() || state.CacheKey.ValueString() != "" && !c.key.Equal(state.CacheKey) {
		reasons = append(reasons, path.Root("cache_key"))
	}
	if !sameRepository(m.Repository, state.Repository) {
		reasons = append(reasons, path.Root("repository"))
	}
	if !imported && !m.RebuildTrigger.Equal(state.RebuildTrigger) {
		reasons = append(reasons, path.Root("rebuild_trigger"))
	}
	return reasons
}

// sameRepository compares what two spellings name: Docker Hub's repositories have several.
func sameRepository(planned, prior types.String) bool {
	one, err := reference.ParseRepository(planned.ValueString())
	if planned.IsUnknown() || err != nil {
		return planned.Equal(prior)
	}
	other, err := reference.ParseRepository(prior.ValueString())
	return err == nil && one == other
}

// asNew is the plan of an artifact that is to be built.
func (m environmentModel) asNew(c content, python types.String) environmentModel {
	m.PythonVersion = python
	if python.IsNull() {
		m.PythonVersion = types.StringUnknown()
	}
	m.SpecDigest, m.LockDigest, m.CacheKey, m.Packages = c.spec, c.lock, c.key, c.packages
	m.Reference, m.Digest, m.Tag, m.MediaType, m.BuiltAt = types.StringUnknown(), types.StringUnknown(), types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	m.Manifests, m.Artifact = types.MapUnknown(types.StringType), types.ObjectUnknown(artifactType)
	m.SizeBytes, m.BuildDurationSeconds = types.Int64Unknown(), types.Float64Unknown()
	m.CredentialExpiresAt, m.Retained = types.StringNull(), noneRetained()
	return m
}

// inPlace is the plan of an artifact that stays. Arguments that only changed their spelling keep the prior one, so
// that such a change plans nothing.
func (m environmentModel) inPlace(state environmentModel, c content, python types.String) environmentModel {
	if c.spec.Equal(state.SpecDigest) {
		m.Env, m.Files = spelling(m.Env, state.Env), spelling(m.Files, state.Files)
		m.AptPackages, m.PostInstall = spelling(m.AptPackages, state.AptPackages), spelling(m.PostInstall, state.PostInstall)
	}
	if c.lock.Equal(state.LockDigest) {
		m.Lock = spelling(m.Lock, state.Lock)
	}
	if slices.Equal(slices.Sorted(slices.Values(texts(m.Platforms))), slices.Sorted(slices.Values(texts(state.Platforms)))) {
		m.Platforms = state.Platforms
	}
	m.PythonVersion = python
	if python.IsNull() || python.IsUnknown() {
		m.PythonVersion = state.PythonVersion
	}
	m.SpecDigest, m.LockDigest, m.CacheKey = c.spec, c.lock, c.key
	m.Packages = state.Packages
	if m.Packages.IsNull() {
		m.Packages = c.packages
	}
	m.Reference, m.Digest, m.MediaType, m.BuiltAt = state.Reference, state.Digest, state.MediaType, state.BuiltAt
	m.Manifests, m.SizeBytes, m.BuildDurationSeconds = state.Manifests, state.SizeBytes, state.BuildDurationSeconds
	m.CredentialExpiresAt, m.Tag, m.Retained = state.CredentialExpiresAt, state.Tag, state.Retained
	if !state.Version.IsNull() && !m.Version.Equal(state.Version) {
		m.Tag, m.Retained = m.nextTag(state), types.ListUnknown(retainedType)
	}
	m.Artifact = state.Artifact
	if !m.Packages.IsUnknown() {
		m.Artifact = m.artifact()
	} else if state.Artifact.IsNull() {
		m.Artifact = types.ObjectUnknown(artifactType)
	}
	return m
}

// spelling keeps the prior of two values that mean the same. Terraform takes that only where neither is null.
func spelling[V attr.Value](planned, prior V) V {
	if planned.IsNull() || prior.IsNull() {
		return planned
	}
	return prior
}

// nextTag keeps the nonce under the new version; it is unknown while the version is, or where no tag was adopted.
func (m environmentModel) nextTag(state environmentModel) types.String {
	_, nonce, ours := splitTag(state.Tag.ValueString())
	if m.Version.IsUnknown() || !ours {
		return types.StringUnknown()
	}
	return types.StringValue(imageTag(m.Version.ValueString(), nonce))
}

package provider

import (
	"context"
	"fmt"
	"reflect"

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
	defer needSecrets(ctx, req, resp, "base_registry", "registry", "package_index", "build_secrets_wo")
	var plan environmentModel
	if resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...); resp.Diagnostics.HasError() {
		return
	}
	var given configured
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("python_version"), &given.python)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("attestations"), &given.attestations)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("files"), &given.files)...)
	plan.Files = undefaulted(plan.Files, given.files)
	content := plan.content(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if req.State.Raw.IsNull() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan.asNew(content, given, &resp.Diagnostics))...)
		return
	}
	// To read and write a model costs more than all else in here: a plan that starts as the prior state is read once, and
	// written only where it ends as something else.
	unchanged := req.Plan.Raw.Equal(req.State.Raw)
	state := plan
	if !unchanged {
		state = environmentModel{}
		if resp.Diagnostics.Append(req.State.Get(ctx, &state)...); resp.Diagnostics.HasError() {
			return
		}
	}
	origin := readOrigin(ctx, req.Private, &resp.Diagnostics)
	if reasons := plan.replacedBy(state, content, given, origin.imported); len(reasons) > 0 {
		resp.RequiresReplace = append(resp.RequiresReplace, reasons...)
		origin.warnOfOther(state.builtImage, content.key, &resp.Diagnostics)
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan.asNew(content, given, &resp.Diagnostics))...)
		return
	}
	if !given.python.IsNull() && !given.python.IsUnknown() && !state.PythonVersion.IsNull() && !given.python.Equal(state.PythonVersion) {
		resp.Diagnostics.AddAttributeError(path.Root("python_version"), "Environment has another Python", fmt.Sprintf("python_version is %s, and the image that was built from this base has %s. Change base, or correct python_version.", given.python.ValueString(), state.PythonVersion.ValueString()))
		return
	}
	origin.warnOfForeign(state.builtImage, &resp.Diagnostics)
	planned := plan.inPlace(state, content, given, origin, &resp.Diagnostics)
	warnOfMissingStatements(planned.builtImage, &resp.Diagnostics)
	if !unchanged || !reflect.DeepEqual(planned, state) {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, planned)...)
	}
}

// configured are the arguments with something Optional and Computed in them as the configuration has them: in a plan they are
// unknown, or have a default, where it says nothing.
type configured struct {
	python       types.String
	attestations types.Object
	files        types.List
}

// content is what a plan says about content: digests and key, each unknown while an argument of it is.
type content struct {
	spec, lock, key types.String
	// locked is nil without a lock; lockKnown tells nothing from not known yet.
	locked    *lock.Lock
	lockKnown bool
	platforms types.List
}

// content is what the arguments that all artifacts share say; the key is the variant's own matter.
func (a artifactArguments) content(diagnostics *diag.Diagnostics) content {
	c := content{spec: types.StringUnknown(), lock: types.StringUnknown(), key: types.StringUnknown(), lockKnown: !a.Lock.IsUnknown()}
	spec, known, faults := a.spec()
	appendProblems(diagnostics, faults.Err(), "Arguments cannot be read")
	if known {
		c.spec = types.StringValue(spec.Digest())
	}
	if a.Lock.IsNull() {
		c.lock = types.StringNull()
	} else if c.lockKnown {
		var err error
		if c.locked, err = lock.Parse(a.Lock.ValueString()); err != nil {
			appendProblems(diagnostics, err, "Lock cannot be read")
			return c
		}
		c.lock = types.StringValue(c.locked.Digest())
	}
	return c
}

func (m environmentModel) content(ctx context.Context, diagnostics *diag.Diagnostics) content {
	c := m.artifactArguments.content(diagnostics)
	c.platforms = m.Platforms
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

// packages are what the lock gives on all platforms; unknown while a marker asks for what is unknown.
func (c content) packages(python types.String, diagnostics *diag.Diagnostics) types.Map {
	unknown := types.MapUnknown(types.StringType)
	if !c.lockKnown {
		return unknown
	}
	if c.locked == nil {
		return stringMapValue(nil)
	}
	var targets []lock.Target
	for _, element := range c.platforms.Elements() {
		platform, ok := element.(types.String)
		if !ok || platform.IsUnknown() {
			return unknown
		}
		targets = append(targets, lock.Target{Python: python.ValueString(), Platform: platform.ValueString()})
	}
	if len(targets) == 0 {
		return unknown
	}
	packages, known, err := c.locked.Packages(targets)
	if err != nil {
		appendProblems(diagnostics, err, "Lock does not fit the platforms")
		return unknown
	}
	if !known {
		return unknown
	}
	return stringMapValue(packages)
}

// keptPackages are those of an artifact that stays. Nothing is built, so nothing more can be learned than what the lock gives for
// its Python: they are null where that is not told, and unknown while it is.
func (c content) keptPackages(prior types.Map, python types.String, diagnostics *diag.Diagnostics) types.Map {
	if !prior.IsNull() {
		return prior
	}
	packages := c.packages(python, diagnostics)
	if packages.IsUnknown() && !python.IsUnknown() {
		return types.MapNull(types.StringType)
	}
	return packages
}

// replacedBy gives the attributes whose change makes another artifact. After an import, rebuild_trigger is null in
// state because the registry does not hold it, and a missing cache key means that content cannot be compared.
func (m environmentModel) replacedBy(state environmentModel, c content, given configured, imported bool) []path.Path {
	reasons := m.builtImage.replacedBy(state.builtImage, c.key, given.attestations)
	if !imported && !m.RebuildTrigger.Equal(state.RebuildTrigger) {
		reasons = append(reasons, path.Root("rebuild_trigger"))
	}
	return reasons
}

// asNew is the plan of an artifact that is to be built.
func (m environmentModel) asNew(c content, given configured, diagnostics *diag.Diagnostics) environmentModel {
	m.PythonVersion = given.python
	if given.python.IsNull() {
		m.PythonVersion = types.StringUnknown()
	}
	m.SpecDigest, m.LockDigest, m.Packages = c.spec, c.lock, c.packages(given.python, diagnostics)
	m.builtImage = m.builtImage.asNew(c.key, m.Base, given.attestations)
	m.Artifact = m.artifact(types.StringValue(environment.Contract))
	return m
}

// keptPython is the Python of an artifact that stays: an argument that is not known yet can but name the one that it has. An import
// may not have told it, and Terraform takes no null in place of what is not known.
func keptPython(given, prior types.String) types.String {
	if given.IsNull() || given.IsUnknown() && !prior.IsNull() {
		return prior
	}
	return given
}

// inPlace is the plan of an artifact that stays. Arguments that only changed their spelling keep the prior one, so
// that such a change plans nothing.
func (m environmentModel) inPlace(state environmentModel, c content, given configured, from origin, diagnostics *diag.Diagnostics) environmentModel {
	if c.spec.Equal(state.SpecDigest) {
		m.Env, m.Files = spelling(m.Env, state.Env), spelling(m.Files, state.Files)
		m.AptPackages, m.PostInstall = spelling(m.AptPackages, state.AptPackages), spelling(m.PostInstall, state.PostInstall)
	}
	if c.lock.Equal(state.LockDigest) {
		m.Lock = spelling(m.Lock, state.Lock)
	}
	m.builtImage = m.builtImage.inPlace(state.builtImage, c.key, given.attestations)
	m.PythonVersion = keptPython(given.python, state.PythonVersion)
	m.SpecDigest, m.LockDigest = c.spec, c.lock
	if m.Packages = state.Packages; !from.foreign {
		m.Packages = c.keptPackages(state.Packages, m.PythonVersion, diagnostics)
	}
	m.Artifact = m.artifact(member[types.String](state.Artifact, "contract"))
	return m
}

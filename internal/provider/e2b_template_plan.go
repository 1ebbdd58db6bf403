package provider

import (
	"context"
	"fmt"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// ModifyPlan decides what a plan means: whether the template is built anew, in place, and which outputs are known. It
// asks nothing of the network.
func (r *templateResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	defer needSecrets(ctx, req, resp, "base_registry")
	var plan, config, state templateModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.Append(req.Config.Get(ctx, &config)...); resp.Diagnostics.HasError() {
		return
	}
	proposed := plan
	plan.Files = undefaulted(plan.Files, config.Files)
	given := templateChoice{config.PythonVersion, config.StartCommand, config.ReadyCommand, config.CodeInterpreter}
	c := plan.content(&resp.Diagnostics)
	c.platforms = stringList(environment.DefaultPlatform)
	if resp.Diagnostics.HasError() {
		return
	}
	if req.State.Raw.IsNull() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan.asNew(c, given, &resp.Diagnostics))...)
		return
	}
	if resp.Diagnostics.Append(req.State.Get(ctx, &state)...); resp.Diagnostics.HasError() {
		return
	}
	if !plan.Name.Equal(state.Name) {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("name"))
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan.asNew(c, given, &resp.Diagnostics))...)
		return
	}
	imported := readOrigin(ctx, req.Private, &resp.Diagnostics).imported
	planned := plan.inPlace(state, c, given, imported, &resp.Diagnostics)
	if imported && !planned.CacheKey.IsUnknown() && !planned.CacheKey.Equal(state.CacheKey) {
		resp.Diagnostics.AddWarning("Imported template has other content", fmt.Sprintf("Template %s carries %s, and this configuration has the cache key %s: it will be built anew in place. Its earlier builds still launch.", state.TemplateID.ValueString(), orNone(state.CacheKey), planned.CacheKey.ValueString()))
	}
	if !given.python.IsNull() && !given.python.IsUnknown() && planned.BuildID.Equal(state.BuildID) && !state.PythonVersion.IsNull() && !given.python.Equal(state.PythonVersion) {
		resp.Diagnostics.AddAttributeError(path.Root("python_version"), "Template has another Python", fmt.Sprintf("python_version is %s, and the template that was built from this base has %s. Change base, or correct python_version.", given.python.ValueString(), state.PythonVersion.ValueString()))
		return
	}
	if !reflect.DeepEqual(planned, proposed) {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, planned)...)
	}
}

func orNone(key types.String) string {
	if key.IsNull() {
		return "no cache key"
	}
	return "the cache key " + key.ValueString()
}

// templateChoice are the Optional and Computed arguments as the configuration has them: in a plan they are unknown where
// it says nothing.
type templateChoice struct {
	python, start, ready types.String
	interpreter          types.Object
}

// chosen puts the configured values, or else those of the prior state, or else this release's own in their places.
func (m templateModel) chosen(given templateChoice, prior *templateModel) templateModel {
	carried := e2b.CarriedInterpreter()
	var before templateModel
	if prior != nil {
		before = *prior
	}
	m.StartCommand = firstOf(given.start, before.StartCommand, types.StringValue(e2b.StartCommand))
	m.ReadyCommand = firstOf(given.ready, before.ReadyCommand, types.StringValue(e2b.ReadyCommand))
	part := func(name, own string) types.String {
		if given.interpreter.IsUnknown() {
			return types.StringUnknown()
		}
		return firstOf(member[types.String](given.interpreter, name), member[types.String](before.CodeInterpreter, name), types.StringValue(own))
	}
	source := types.StringNull()
	if given.interpreter.IsUnknown() {
		source = types.StringUnknown()
	} else if !given.interpreter.IsNull() {
		source = member[types.String](given.interpreter, "source")
	}
	m.CodeInterpreter = types.ObjectValueMust(interpreterType, map[string]attr.Value{
		"source": source, "commit": part("commit", carried.Commit), "edit_digest": part("edit_digest", carried.EditDigest),
	})
	return m
}

// firstOf is the first value that is not null; an unknown one is a value.
func firstOf(values ...types.String) types.String {
	for _, value := range values {
		if !value.IsNull() {
			return value
		}
	}
	return types.StringNull()
}

// key is the cache key of what is chosen; unknown while a part of it is.
func (m templateModel) key(c content, diagnostics *diag.Diagnostics) types.String {
	if m.Base.IsUnknown() || c.spec.IsUnknown() || c.lock.IsUnknown() || m.CPUCount.IsUnknown() || m.MemoryMB.IsUnknown() || m.StartCommand.IsUnknown() || m.ReadyCommand.IsUnknown() {
		return types.StringUnknown()
	}
	commit, edit := member[types.String](m.CodeInterpreter, "commit"), member[types.String](m.CodeInterpreter, "edit_digest")
	if commit.IsUnknown() || edit.IsUnknown() {
		return types.StringUnknown()
	}
	base, err := reference.ParsePinned(m.Base.ValueString())
	if err != nil {
		appendProblems(diagnostics, err, "Base of the template cannot be read")
		return types.StringUnknown()
	}
	return types.StringValue(environment.Key{
		Variant: environment.VariantE2B, SpecDigest: c.spec.ValueString(), LockDigest: c.lock.ValueString(), BaseDigest: base.Digest,
		Recipe: environment.E2BRecipe(environment.E2BContent{
			CPUCount: whole(m.CPUCount), MemoryMB: whole(m.MemoryMB), StartCommand: m.StartCommand.ValueString(), ReadyCommand: m.ReadyCommand.ValueString(),
			ServerCommit: commit.ValueString(), EditDigest: edit.ValueString(),
		}),
	}.CacheKey())
}

// asNew is the plan of a template that is to be made.
func (m templateModel) asNew(c content, given templateChoice, diagnostics *diag.Diagnostics) templateModel {
	m.TemplateID, m.Team = types.StringUnknown(), types.StringUnknown()
	return m.asBuilt(c, given, diagnostics)
}

// asBuilt is the plan of a build: what is the provider's own code in it is this release's.
func (m templateModel) asBuilt(c content, given templateChoice, diagnostics *diag.Diagnostics) templateModel {
	m = m.chosen(given, nil)
	m.PythonVersion = given.python
	if given.python.IsNull() {
		m.PythonVersion = types.StringUnknown()
	}
	m.SpecDigest, m.LockDigest, m.Packages = c.spec, c.lock, c.packages(given.python, diagnostics)
	m.CacheKey = m.key(c, diagnostics)
	m.CreateEnv = m.plannedEnv(c)
	m.Reference, m.BuildID, m.BuildIDs = types.StringUnknown(), types.StringUnknown(), types.ListUnknown(types.StringType)
	m.CredentialExpiresAt, m.Retained = types.StringUnknown(), types.ListUnknown(retainedType)
	if !m.Team.IsUnknown() && !m.Base.IsUnknown() {
		m.Retained = m.layerCache()
	}
	m.Artifact = m.artifact(types.StringValue(environment.Contract))
	return m
}

func (m templateModel) plannedEnv(c content) types.Map {
	if c.spec.IsUnknown() && (m.Env.IsUnknown() || len(stringMap(m.Env)) < len(m.Env.Elements())) {
		return types.MapUnknown(types.StringType)
	}
	return stringMapValue(e2b.CreateEnv(stringMap(m.Env)))
}

// rebuilt tells whether the content that the state holds is another than what is configured: unknown while that is not
// known. kept is the model with what the state chose.
func (m templateModel) rebuilt(state templateModel, c content, given templateChoice, imported bool, diagnostics *diag.Diagnostics) (kept templateModel, rebuild types.Bool) {
	kept = m.chosen(given, &state)
	kept.CacheKey = kept.key(c, diagnostics)
	triggered := !imported && !m.RebuildTrigger.Equal(state.RebuildTrigger)
	switch {
	case state.CacheKey.IsNull(), triggered && mapKnown(m.RebuildTrigger):
		return kept, types.BoolValue(true)
	case triggered, kept.CacheKey.IsUnknown():
		return kept, types.BoolUnknown()
	}
	return kept, types.BoolValue(!kept.CacheKey.Equal(state.CacheKey))
}

// inPlace is the plan of a template that stays: built anew, or as it is.
func (m templateModel) inPlace(state templateModel, c content, given templateChoice, imported bool, diagnostics *diag.Diagnostics) templateModel {
	m = m.spelled(state, c)
	m.TemplateID, m.Team = state.TemplateID, state.Team
	kept, rebuild := m.rebuilt(state, c, given, imported, diagnostics)
	switch {
	case rebuild.IsUnknown():
		built := m.asBuilt(c, given, diagnostics)
		// Whether this release's own parts come in is decided when the rest is known.
		built.CacheKey = types.StringUnknown()
		if !built.Retained.Equal(state.Retained) {
			built.Retained = types.ListUnknown(retainedType)
		}
		if given.start.IsNull() {
			built.StartCommand = types.StringUnknown()
		}
		if given.ready.IsNull() {
			built.ReadyCommand = types.StringUnknown()
		}
		built.CodeInterpreter = undecided(built.CodeInterpreter, given.interpreter)
		built.Packages, built.Artifact = types.MapUnknown(types.StringType), types.ObjectUnknown(artifactType)
		if given.python.IsNull() {
			built.PythonVersion = types.StringUnknown()
		}
		return built
	case rebuild.ValueBool():
		return m.asBuilt(c, given, diagnostics)
	}
	return kept.asIs(state, c, given, diagnostics)
}

// asIs is a template whose content stays.
func (m templateModel) asIs(state templateModel, c content, given templateChoice, diagnostics *diag.Diagnostics) templateModel {
	m.PythonVersion = keptPython(given.python, state.PythonVersion)
	m.SpecDigest, m.LockDigest, m.Packages = c.spec, c.lock, c.keptPackages(state.Packages, m.PythonVersion, diagnostics)
	m.CreateEnv = m.plannedEnv(c)
	m.CacheKey, m.Reference, m.BuildID, m.BuildIDs = state.CacheKey, state.Reference, state.BuildID, state.BuildIDs
	m.CredentialExpiresAt, m.Retained = state.CredentialExpiresAt, state.Retained
	if len(m.Retained.Elements()) == 0 && !m.Base.IsUnknown() {
		m.Retained = m.layerCache() // An import cannot tell the base.
	}
	m.Artifact = m.artifact(member[types.String](state.Artifact, "contract"))
	return m
}

package provider

import (
	"fmt"
	"io"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// templateModel is the resource in plan and state.
type templateModel struct {
	artifactArguments
	artifactOutputs
	lifecycle
	Name            types.String `tfsdk:"name"`
	CPUCount        types.Number `tfsdk:"cpu_count"`
	MemoryMB        types.Number `tfsdk:"memory_mb"`
	Tags            types.Set    `tfsdk:"tags"`
	MoveDefaultTag  types.Bool   `tfsdk:"move_default_tag"`
	Force           types.Bool   `tfsdk:"force"`
	StartCommand    types.String `tfsdk:"start_command"`
	ReadyCommand    types.String `tfsdk:"ready_command"`
	CodeInterpreter types.Object `tfsdk:"code_interpreter"`
	Public          types.Bool   `tfsdk:"public"`
	TemplateID      types.String `tfsdk:"template_id"`
	BuildID         types.String `tfsdk:"build_id"`
	Team            types.String `tfsdk:"team"`
	CreateEnv       types.Map    `tfsdk:"create_env"`
	BuildIDs        types.List   `tfsdk:"build_ids"`
}

// Format keeps what a configuration brings of passwords out of every way of printing.
func (templateModel) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "template") }

type templateIdentity struct {
	TemplateID types.String `tfsdk:"template_id"`
}

// recipe turns a plan, in which all arguments are known by now, into what E2B builds.
func (m templateModel) recipe(diagnostics *diag.Diagnostics) e2b.Recipe {
	fail := func(err error) { appendProblems(diagnostics, err, "Template cannot be built as planned") }
	r := e2b.Recipe{StartCommand: m.StartCommand.ValueString(), ReadyCommand: m.ReadyCommand.ValueString(), Interpreter: e2b.Interpreter{
		Source: member[types.String](m.CodeInterpreter, "source").ValueString(), Commit: member[types.String](m.CodeInterpreter, "commit").ValueString(),
		EditDigest: member[types.String](m.CodeInterpreter, "edit_digest").ValueString(),
	}}
	if r.Interpreter.Source == "" {
		r.Interpreter.Source = e2b.InterpreterSource
	}
	fail(e2b.CheckCommit(r.Interpreter.Commit))
	fail(e2b.CheckEdit(r.Interpreter.EditDigest))
	if p := e2b.CheckName(m.Name.ValueString()); p != nil {
		fail(p)
	}
	var err error
	if r.Base, err = reference.ParsePinned(m.Base.ValueString()); err != nil {
		fail(err)
	}
	if !m.Lock.IsNull() {
		if r.Lock, err = lock.Parse(m.Lock.ValueString()); err != nil {
			fail(err)
		}
	}
	if !m.PythonVersion.IsUnknown() {
		r.Python = m.PythonVersion.ValueString()
	}
	spec, _, faults := m.spec()
	fail(faults.Err())
	r.Spec = spec
	return r
}

// requested is the state from E2B's first answer on: enough to destroy the template, the rest null.
func (m templateModel) requested(build e2b.RequestedBuild) templateModel {
	m.TemplateID, m.BuildID = types.StringValue(build.TemplateID), types.StringValue(build.BuildID)
	m.Team = orNull(teamOf(build.Names))
	m.Reference, m.CacheKey = types.StringNull(), types.StringNull()
	m.Artifact, m.BuildIDs, m.Retained = types.ObjectNull(artifactType), stringList(), m.layerCache()
	return m.settled()
}

// ready is the state once the build is.
func (m templateModel) ready(build e2b.RequestedBuild, key types.String, before types.List, report e2b.Report) templateModel {
	m.CacheKey = key
	m.TemplateID, m.BuildID, m.Team = types.StringValue(build.TemplateID), types.StringValue(build.BuildID), orNull(teamOf(build.Names))
	m.Reference = types.StringValue(referenceOf(build.Names, m.Name.ValueString(), build.BuildID))
	m.BuildIDs = stringList(append(texts(before), build.BuildID)...)
	if m.PythonVersion.IsUnknown() {
		m.PythonVersion = orNull(report.MajorMinor())
	}
	if m.Packages.IsUnknown() && report.Python != "" {
		m.Packages = stringMapValue(report.Packages)
	}
	m.Retained = m.layerCache()
	m = m.settled()
	m.Artifact = m.artifact(types.StringValue(environment.Contract))
	return m
}

// artifact is the object that launchers take.
func (m templateModel) artifact(contract types.String) types.Object {
	return types.ObjectValueMust(artifactType, map[string]attr.Value{
		"variant": types.StringValue(environment.VariantE2B), "reference": m.Reference, "contract": contract,
		"cache_key": m.CacheKey, "python_version": m.PythonVersion, "packages": m.Packages, "env": m.CreateEnv,
	})
}

// layerCache is what stays at E2B whatever we do.
func (m templateModel) layerCache() types.List {
	where := "E2B"
	if team := m.Team.ValueString(); team != "" {
		where = "E2B, team " + team
	}
	return types.ListValueMust(retainedType, []attr.Value{types.ObjectValueMust(retainedType.AttrTypes, map[string]attr.Value{
		"what": types.StringValue("layer cache"), "where": types.StringValue(where), "id": m.Base,
		"removable_by": types.StringValue("E2B alone: its API has no call for the layers and uploaded files that a team's cache keeps"),
	})})
}

// settled makes null what is still unknown: a state with unknowns in it is refused as a whole.
func (m templateModel) settled() templateModel {
	settleTexts(&m.PythonVersion, &m.SpecDigest, &m.LockDigest, &m.Reference, &m.CacheKey, &m.CredentialExpiresAt, &m.StartCommand, &m.ReadyCommand, &m.TemplateID, &m.BuildID, &m.Team)
	settleMaps(&m.Packages, &m.CreateEnv)
	if m.Artifact.IsUnknown() {
		m.Artifact = types.ObjectNull(artifactType)
	}
	if m.CodeInterpreter.IsUnknown() {
		m.CodeInterpreter = types.ObjectNull(interpreterType)
	}
	if m.Retained.IsUnknown() {
		m.Retained = noneRetained()
	}
	if m.BuildIDs.IsUnknown() {
		m.BuildIDs = stringList()
	}
	return m
}

// teamOf is the team's slug, which E2B says in a template's names alone.
func teamOf(names []string) string {
	for _, name := range names {
		if team := e2b.TeamOf(name); team != "" {
			return team
		}
	}
	return ""
}

// referenceOf is what launches a build. A template without a name of its team's launches by the bare one.
func referenceOf(names []string, name, buildID string) string {
	if team := teamOf(names); team != "" {
		name = team + "/" + name
	}
	return e2b.Reference(name, buildID)
}

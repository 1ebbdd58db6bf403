package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

var (
	_ resource.ResourceWithConfigure      = &templateResource{}
	_ resource.ResourceWithIdentity       = &templateResource{}
	_ resource.ResourceWithValidateConfig = &templateResource{}
	_ resource.ResourceWithModifyPlan     = &templateResource{}
	_ resource.ResourceWithImportState    = &templateResource{}
)

const (
	templateNoun = "E2B template"
	// buildTimeout is templateTimeout.
	buildTimeout = 90 * time.Minute
)

func newTemplateResource() resource.Resource { return &templateResource{} }

type templateResource struct{ services *services }

func (r *templateResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_e2b_template"
}

func (r *templateResource) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if s, ok := req.ProviderData.(*services); ok {
		r.services = s
	}
}

func (r *templateResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan templateModel
	if resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...); resp.Diagnostics.HasError() {
		return
	}
	plan = plan.resolved()
	ctx, running := begin(ctx, templateNoun, "create", plan.Name, plan.Timeouts.Create, buildTimeout, &resp.Diagnostics)
	defer running.end()
	running.engineTells = false
	if r.nameTaken(ctx, running, plan.Name.ValueString()) {
		return
	}
	made, ok := r.build(ctx, running, req.Config, plan, nil, func(ctx context.Context, build e2b.RequestedBuild) error {
		resp.Diagnostics.Append(resp.State.Set(ctx, plan.requested(build))...)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, templateIdentity{types.StringValue(build.TemplateID)})...)
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, unsureMark, []byte("true"))...)
		err := r.isOurs(ctx, build)
		switch {
		case err == nil:
			resp.Diagnostics.Append(resp.Private.SetKey(ctx, unsureMark, []byte("false"))...)
		case isForeign(err):
			resp.State.RemoveResource(ctx)
		}
		return err
	})
	if ok {
		resp.Diagnostics.Append(resp.State.Set(ctx, made)...)
	}
}

func (r *templateResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state templateModel
	if resp.Diagnostics.Append(req.State.Get(ctx, &state)...); resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, templateIdentity{state.TemplateID})...)
	if r.services.e2b == nil && r.services.e2bFault == nil {
		resp.Diagnostics.AddWarning("E2B template was not refreshed", fmt.Sprintf("%s is kept as it was: the provider's e2b settings are not known yet.", state.TemplateID.ValueString()))
		return
	}
	ctx, running := begin(ctx, templateNoun, "read", state.Name, state.Timeouts.Read, readTimeout, &resp.Diagnostics)
	defer running.end()
	client, ok := r.client(running)
	if !ok {
		return
	}
	found, err := client.TemplateWith(ctx, state.TemplateID.ValueString(), state.BuildID.ValueString())
	if e2b.NotFound(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		running.failed(keepsTemplate(err), "E2B template could not be refreshed")
		return
	}
	refreshed, err := r.refreshed(ctx, state, found, &resp.Diagnostics)
	if err != nil {
		running.failed(keepsTemplate(err), "Tags of the E2B template could not be refreshed")
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, refreshed)...)
}

func (r *templateResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state, config templateModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.Append(req.Config.Get(ctx, &config)...); resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, templateIdentity{state.TemplateID})...)
	ctx, running := begin(ctx, templateNoun, "update", plan.Name, plan.Timeouts.Update, buildTimeout, &resp.Diagnostics)
	defer running.end()
	client, ok := r.client(running)
	if !ok {
		return
	}
	if r.unsure(ctx, req.Private, &resp.Diagnostics) {
		if err := r.isOurs(ctx, e2b.RequestedBuild{TemplateID: state.TemplateID.ValueString(), BuildID: state.BuildID.ValueString()}); err != nil {
			running.failed(err, "E2B template could not be told from another's")
			return
		}
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, unsureMark, []byte("false"))...)
	}
	if !plan.BuildID.IsUnknown() {
		running.settled(settle(ctx, client, state, plan, state.Public.ValueBool()))
		if !resp.Diagnostics.HasError() {
			resp.Diagnostics.Append(resp.State.Set(ctx, plan.settled())...)
			resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedMark, []byte("false"))...)
		}
		return
	}
	imported := readOrigin(ctx, req.Private, &resp.Diagnostics).imported
	c := plan.content(&resp.Diagnostics)
	c.platforms = stringList(environment.DefaultPlatform)
	given := templateChoice{config.PythonVersion, config.StartCommand, config.ReadyCommand, config.CodeInterpreter}
	if _, rebuild := plan.rebuilt(state, c, given, imported, &resp.Diagnostics); !rebuild.ValueBool() {
		// What was not known at plan turned out to be what is there.
		kept := plan.chosen(given, &state).asIs(state, c, given, &resp.Diagnostics)
		running.settled(settle(ctx, client, state, kept, state.Public.ValueBool()))
		if !resp.Diagnostics.HasError() {
			resp.Diagnostics.Append(resp.State.Set(ctx, kept.settled())...)
		}
		return
	}
	plan = plan.resolved()
	made, built := r.build(ctx, running, req.Config, plan, &state, func(context.Context, e2b.RequestedBuild) error { return nil })
	if built {
		resp.Diagnostics.Append(resp.State.Set(ctx, made)...)
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedMark, []byte("false"))...)
	}
}

func (r *templateResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state templateModel
	if resp.Diagnostics.Append(req.State.Get(ctx, &state)...); resp.Diagnostics.HasError() {
		return
	}
	if state.DeletionPolicy.ValueString() == policyRetain {
		resp.Diagnostics.AddWarning("E2B template was kept", fmt.Sprintf("deletion_policy is %q: template %s stays at E2B with its builds, and is no longer in state.", policyRetain, state.TemplateID.ValueString()))
		return
	}
	ctx, running := begin(ctx, templateNoun, "delete", state.Name, state.Timeouts.Delete, deleteTimeout, &resp.Diagnostics)
	defer running.end()
	client, ok := r.client(running)
	if !ok {
		return
	}
	if r.unsure(ctx, req.Private, &resp.Diagnostics) {
		err := r.isOurs(ctx, e2b.RequestedBuild{TemplateID: state.TemplateID.ValueString(), BuildID: state.BuildID.ValueString()})
		if isForeign(err) {
			resp.Diagnostics.AddWarning("E2B template was forgotten", fmt.Sprintf("Template %s was there before this resource asked for a build of it, so it is not deleted.", state.TemplateID.ValueString()))
			return
		}
		if err != nil && !e2b.NotFound(err) {
			running.failed(deleteKeepsTemplate(err), "E2B template could not be told from another's")
			return
		}
	}
	if readOrigin(ctx, req.Private, &resp.Diagnostics).foreign {
		made, err := r.madeHere(ctx, state.TemplateID.ValueString())
		if err != nil {
			running.failed(deleteKeepsTemplate(err), "E2B template could not be told from another's")
			return
		}
		if !made {
			resp.Diagnostics.AddWarning("E2B template was forgotten", fmt.Sprintf("Template %s was imported, and is not known to be made by this provider: its first build has no tag of it, or is no longer listed. It stays at E2B with all its builds, those of this resource too, and is no longer in state. Remove it in the team's dashboard if nobody needs it.", state.TemplateID.ValueString()))
			return
		}
	}
	there, err := client.DeleteUnused(ctx, state.TemplateID.ValueString())
	if err != nil {
		running.engineTells = e2b.InUse(err)
		running.failed(deleteKeepsTemplate(err), "E2B template could not be destroyed")
	}
	if there {
		return
	}
	// The answer to the delete counts: a look that fails changes nothing.
	if _, err := client.Template(ctx, state.TemplateID.ValueString()); err == nil {
		resp.Diagnostics.AddWarning("E2B template may still be there", fmt.Sprintf("E2B answered that it has no template %s to delete, and still shows it. It is no longer in state: remove it in the team's dashboard if it stays.", state.TemplateID.ValueString()))
	}
}

// client is the client of E2B, or an error while its settings are not known or cannot be used.
func (r *templateResource) client(running operation) (*e2b.Client, bool) {
	if r.services.e2bFault != nil {
		appendProblems(running.diagnostics, r.services.e2bFault, "E2B settings cannot be used")
		return nil, false
	}
	if r.services.e2b == nil {
		running.diagnostics.AddError("E2B settings are not known", "The provider's e2b settings hold values that are not known yet, so E2B cannot be asked. Apply first what makes them (terraform apply -target=…).")
		return nil, false
	}
	return r.services.e2b, true
}

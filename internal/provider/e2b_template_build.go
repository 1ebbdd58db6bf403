package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// nameTaken looks for a template of this name, and says how to import it.
func (r *templateResource) nameTaken(ctx context.Context, running operation, name string) bool {
	client, ok := r.client(running)
	if !ok {
		return true
	}
	alias, err := client.Alias(ctx, name)
	if e2b.NotFound(err) || e2b.Denied(err) && !unauthorized(err) {
		return false
	}
	if err == nil {
		// E2B's own templates answer to their bare names too, and the team may have one of that name beside them.
		var found e2b.Template
		if found, err = client.Template(ctx, alias.TemplateID); e2b.NotFound(err) || e2b.Denied(err) && !unauthorized(err) {
			return false
		}
		if err == nil && !slices.ContainsFunc(found.Names, func(full string) bool { return strings.HasSuffix(full, "/"+name) }) {
			return false
		}
	}
	if err != nil {
		running.failed(err, "E2B template name could not be checked")
		return true
	}
	running.failed(&problem.Problem{Title: "E2B template exists already", Path: []any{"name"}, Object: fmt.Sprintf("%q is template %s", name, alias.TemplateID),
		Advice: fmt.Sprintf("Nothing was asked of it. If another block has this name, here or in another configuration, give this one another: an import cannot see that a template is managed already, and the two blocks would rebuild and destroy one template. To manage it here alone: terraform import datalayer_e2b_template.NAME %s. If the resource itself has it, with create_before_destroy or tainted: a rebuild is an update in place, so remove create_before_destroy for this resource, or `terraform untaint` it after a failed create. Else choose another name.", name)}, "E2B template exists already")
	return true
}

// unauthorized tells a key that E2B does not take from what it may not do.
func unauthorized(err error) bool {
	var e *e2b.Error
	return errors.As(err, &e) && e.Status == 401
}

// resolved gives what the plan left to this release.
func (m templateModel) resolved() templateModel {
	known := func(value types.String) types.String {
		if value.IsUnknown() {
			return types.StringNull()
		}
		return value
	}
	given := templateChoice{start: known(m.StartCommand), ready: known(m.ReadyCommand), interpreter: m.CodeInterpreter}
	if given.interpreter.IsUnknown() {
		given.interpreter = types.ObjectNull(interpreterType)
	}
	return m.chosen(given, nil)
}

// build builds the template as planned and gives the state of it. accept is told E2B's first answer. prior is nil for a
// template that is to be made.
func (r *templateResource) build(ctx context.Context, running operation, config tfsdk.Config, plan templateModel, prior *templateModel, accept func(context.Context, e2b.RequestedBuild) error) (templateModel, bool) {
	client, ok := r.client(running)
	if !ok {
		return plan, false
	}
	defer r.services.warn(running.diagnostics)
	logins := resourceLogins(ctx, config, running.diagnostics, loginFor{"base_registry", plan.Base.ValueString()})
	recipe := plan.recipe(running.diagnostics)
	c := plan.content(running.diagnostics)
	key := plan.key(c, running.diagnostics)
	if running.diagnostics.HasError() {
		return plan, false
	}
	if prior != nil {
		plan.TemplateID = prior.TemplateID
		recipe.Anew = !plan.RebuildTrigger.Equal(prior.RebuildTrigger)
	}
	made, err := recipe.Instructions()
	if err != nil {
		running.failed(err, "Steps of the E2B template could not be written")
		return plan, false
	}
	var expires time.Time
	if made.Start.Registry, expires, err = r.pullLogin(ctx, logins, recipe.Base.Repository); err != nil {
		running.failed(err, "Login for the template's base could not be had")
		return plan, false
	}
	if login := made.Start.Registry; login != nil && login.Source == credential.DockerSource {
		running.diagnostics.AddWarning("E2B is given a login of the Docker configuration", fmt.Sprintf("The base is on %s, for which the Docker configuration has the login of %q: E2B pulls with it, and it works for all that it opens until it is changed. To give E2B a login that may read this base alone, set base_registry or the provider's registries.", recipe.Base.Host, login.Username))
	}
	if prior != nil {
		r.warnOfOthers(ctx, running, *prior, key.ValueString())
	}
	made.Start.Force = plan.Force.ValueBool()
	report := made.ReportLog()
	built, err := client.NewBuilder().Build(ctx, e2b.Order{
		Request: e2b.BuildRequest{Name: plan.Name.ValueString(), Tags: []string{e2b.OwnTag(key.ValueString(), newNonce())},
			CPUCount: int(whole(plan.CPUCount)), MemoryMB: int(whole(plan.MemoryMB))},
		Start: made.Start, Archives: made.Archives, Secrets: r.services.secrets(logins),
		Accept: func(build e2b.RequestedBuild) error {
			if prior != nil && build.TemplateID != prior.TemplateID.ValueString() {
				return r.elsewhere(ctx, build, plan.Name.ValueString(), prior.TemplateID.ValueString())
			}
			return accept(ctx, build)
		},
		Observe: report.Take,
	})
	if err != nil {
		running.failed(keepsBuild(made.Explain(err), prior, built), "E2B template could not be built")
		return plan, false
	}
	if built.Warning != nil {
		running.diagnostics.AddWarning("Log of the E2B build was not read to its end", fmt.Sprintf("Build %s is ready. %s", built.BuildID, built.Warning))
	}
	before := stringList()
	if prior != nil {
		before = prior.BuildIDs
	}
	state := plan.ready(built.RequestedBuild, key, before, report.Report())
	state.CredentialExpiresAt = types.StringNull()
	if !expires.IsZero() {
		state.CredentialExpiresAt = types.StringValue(expires.UTC().Format(time.RFC3339))
	}
	// The build is good: what fails from here on is a warning, and the next plan puts it right.
	var earlier templateModel
	if prior != nil {
		earlier = *prior
	}
	ctx, cancel := lingering(ctx)
	defer cancel()
	failed, left := settle(ctx, client, earlier, state, built.Public)
	for _, p := range slices.Concat(failed, left) {
		running.diagnostics.AddWarning(p.Title, fmt.Sprintf("Build %s is ready and launches by its id. %s", built.BuildID, p.Detail()))
	}
	return state, true
}

// keepsBuild adds to a failed build what state has now: of a rebuild what launches still, of a create what becomes of the
// template.
func keepsBuild(err error, prior *templateModel, built e2b.Built) error {
	switch {
	case errors.Is(err, errElsewhere) || isForeign(err):
		return err
	case prior != nil && !prior.Reference.IsNull():
		return advised(err, fmt.Sprintf("State is kept: %s still launches, and no tag was moved. The next apply makes a build of its own.", prior.Reference.ValueString()))
	case prior != nil || built.TemplateID == "":
		return err
	}
	return advised(err, fmt.Sprintf("Template %s is in state, tainted: the next apply destroys it and makes another. After terraform untaint it is built anew in place.", built.TemplateID))
}

// pullLogin is what E2B pulls the base with; nil where the host gets none.
func (r *templateResource) pullLogin(ctx context.Context, logins []login, base reference.Repository) (*e2b.RegistryLogin, time.Time, error) {
	lease, err := r.services.resolver(logins).Acquire(ctx, base.Host, []credential.Grant{{Repository: base.Path, Actions: []credential.Action{credential.Pull}}})
	if err != nil {
		return nil, time.Time{}, err
	}
	given := lease.Login
	switch {
	case given.Password.Empty() && given.RefreshToken.Empty():
		return nil, time.Time{}, nil
	case given.Password.Empty() || given.Username == "":
		return nil, time.Time{}, &problem.Problem{Title: "E2B cannot use a registry's identity token", Path: []any{"base"}, Object: base.Host,
			Advice: "E2B pulls with a user and a password. Give them in base_registry or in the provider's registries."}
	}
	return &e2b.RegistryLogin{Username: given.Username, Password: given.Password, Source: given.Source}, lease.ExpiresAt, nil
}

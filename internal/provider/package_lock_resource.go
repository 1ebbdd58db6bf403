package provider

import (
	"context"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/resolve"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

var (
	_ resource.ResourceWithConfigure      = &packageLockResource{}
	_ resource.ResourceWithValidateConfig = &packageLockResource{}
	_ resource.ResourceWithModifyPlan     = &packageLockResource{}
	_ resource.ResourceWithImportState    = &packageLockResource{}
)

func newPackageLockResource() resource.Resource { return &packageLockResource{} }

type packageLockResource struct{ services *services }

func (r *packageLockResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_package_lock"
}

func (r *packageLockResource) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if s, ok := req.ProviderData.(*services); ok {
		r.services = s
	}
}

func (r *packageLockResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan packageLockModel
	if resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...); resp.Diagnostics.HasError() {
		return
	}
	ctx, running := begin(ctx, "package lock", "create", types.StringNull(), plan.Timeouts.Create, lockTimeout, &resp.Diagnostics)
	defer running.end()
	if locked := r.resolve(ctx, req.Config, plan, nil, running); locked != nil {
		resp.Diagnostics.Append(resp.State.Set(ctx, locked)...)
	}
}

// Read keeps the state: the lock is in it, and nowhere else.
func (r *packageLockResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update resolves again where an argument that decides the content changed; on failure the lock stays as it was.
func (r *packageLockResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state packageLockModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	given := readGiven(ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	decided := plan.decide(ctx, &state, given)
	if readOrigin(ctx, req.Private, &resp.Diagnostics).imported {
		decided = plan.onImport(state, given)
	}
	if decided == keepLock {
		kept := plan.keeping(state, given)
		kept.Requirements, kept.Constraints, kept.ExcludeNewer = plan.Requirements, plan.Constraints, plan.ExcludeNewer
		kept.Runner = plannedRunner(given.runner, plan.Base)
		resp.Diagnostics.Append(resp.State.Set(ctx, kept)...)
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedMark, []byte("false"))...)
		return
	}
	ctx, running := begin(ctx, "package lock", "update", types.StringNull(), plan.Timeouts.Update, lockTimeout, &resp.Diagnostics)
	defer running.end()
	var prior *lock.Lock
	if decided == resolveAgain {
		var err error
		if prior, err = lock.Parse(state.Content.ValueString()); err != nil {
			running.failed(err, "Lock in state cannot be read")
			return
		}
	}
	if locked := r.resolve(ctx, req.Config, plan, prior, running); locked != nil {
		resp.Diagnostics.Append(resp.State.Set(ctx, locked)...)
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedMark, []byte("false"))...)
	}
}

// Delete forgets the state, which is all that there is.
func (r *packageLockResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {
}

// resolve makes the lock and gives the state with it; nil where that failed. prior is nil to resolve all anew.
func (r *packageLockResource) resolve(ctx context.Context, config tfsdk.Config, plan packageLockModel, prior *lock.Lock, running operation) *packageLockModel {
	running.engineTells = false
	given := readGiven(ctx, config, running.diagnostics)
	plan.Runner = plannedRunner(given.runner, plan.Base)
	request := plan.lockRequest(ctx, config, running.diagnostics)
	logins := resourceLogins(ctx, config, running.diagnostics, loginFor{"base_registry", plan.Base.ValueString()})
	if running.diagnostics.HasError() {
		return nil
	}
	network, err := buildNetwork()
	if err != nil {
		running.failed(err, "Network of the resolution cannot be set up")
		return nil
	}
	defer r.services.warn(running.diagnostics)
	request.Prior, request.Upgrade, request.Network, request.Secrets = prior, prior == nil && running.kind == "update", network, r.services.secrets(logins)
	runner, err := r.services.lockRunner(plan, given, logins)
	if err != nil {
		running.failed(err, "Base of the lock cannot be read")
		return nil
	}
	result, err := runner.Resolve(ctx, request)
	if err != nil {
		running.failed(err, "Lock could not be made")
		return nil
	}
	packages, _, err := result.Lock.Packages(nil)
	if err != nil {
		running.failed(err, "Lock does not fit its own target")
		return nil
	}
	if len(result.Warnings) > 0 {
		running.diagnostics.AddWarning("uv warned of the lock", strings.Join(result.Warnings, "\n"))
	}
	plan.PythonVersion, plan.PythonPlatform, plan.UVVersion = types.StringValue(result.Python), types.StringValue(result.Platform), types.StringValue(result.UV)
	plan.Content, plan.Digest, plan.Packages = types.StringValue(lock.Target{Python: result.Python, PythonPlatform: result.Platform}.Header()+result.Lock.Canonical()), types.StringValue(result.Lock.Digest()), stringMapValue(packages)
	plan.ResolvedAt = types.StringValue(time.Now().UTC().Format(time.RFC3339))
	return &plan
}

// lockRequest turns a plan, in which all arguments are known by now, into what uv is asked.
func (m packageLockModel) lockRequest(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics) resolve.Request {
	request := resolve.Request{Python: m.PythonVersion.ValueString(), Platform: m.PythonPlatform.ValueString(), OnlyBinary: m.OnlyBinary.ValueBool()}
	for _, list := range []struct {
		attribute string
		entries   types.List
		into      *[]string
	}{{"requirements", m.Requirements, &request.Requirements}, {"constraints", m.Constraints, &request.Constraints}} {
		wanted, faults := resolve.Requirements(list.attribute, texts(list.entries))
		appendProblems(diagnostics, faults.Err(), "Requirement cannot be read at apply")
		*list.into = wanted
	}
	if !m.ExcludeNewer.IsNull() {
		var err error
		if request.ExcludeNewer, err = time.Parse(time.RFC3339, m.ExcludeNewer.ValueString()); err != nil {
			appendProblems(diagnostics, err, "exclude_newer cannot be read")
		}
	}
	var index types.Object
	appendProblems(diagnostics, missingSecrets(ctx, config, diagnostics, "index").Err(), "Index without its login")
	if diagnostics.Append(config.GetAttribute(ctx, path.Root("index"), &index)...); index.IsNull() {
		return request
	}
	parse := func(text types.String) *url.URL {
		address, err := url.Parse(text.ValueString())
		if err != nil {
			appendProblems(diagnostics, err, "Index of the lock cannot be read")
		}
		return address
	}
	request.Index = &buildkit.PackageIndex{
		URL: parse(member[types.String](index, "url")), CACertificates: []byte(member[types.String](index, "ca_certificates").ValueString()),
		Username: member[types.String](index, "username").ValueString(), Password: secret.New(member[types.String](index, "password_wo").ValueString()),
	}
	for _, text := range texts(member[types.List](index, "extra_urls")) {
		request.ExtraIndexes = append(request.ExtraIndexes, parse(types.StringValue(text)))
	}
	return request
}

// lockRunner is what starts uv.
func (s *services) lockRunner(plan packageLockModel, given givenTarget, logins []login) (resolve.Runner, error) {
	var base *resolve.Base
	if !plan.Base.IsNull() {
		parsed, err := reference.ParsePinned(plan.Base.ValueString())
		if err != nil {
			return nil, err
		}
		base = &resolve.Base{Reference: parsed, Registry: s.reader(logins, reads(parsed.Repository))}
	}
	if plan.Runner.ValueString() == runnerBuildkit && base != nil {
		return resolve.Remote{Base: *base, Credentials: s.resolver(logins, reads(base.Reference.Repository)), Connect: s.connect, Nodes: s.connectors(), Logger: s.logger}, nil
	}
	return resolve.Local{Path: plan.UVPath.ValueString(), Version: given.uv.ValueString(), Base: base, Getenv: os.Getenv, Logger: s.logger}, nil
}

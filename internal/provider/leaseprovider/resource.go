package main

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential/leasetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/provider"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// leaseResource builds at the service as a real one would: the service keeps a credential for the time of the build.
type leaseResource struct{ keeper *credential.Keeper }

type leaseModel struct {
	Name types.String `tfsdk:"name"`
	Note types.String `tfsdk:"note"`
	ID   types.String `tfsdk:"id"`
}

func (r *leaseResource) client() leasetest.Client {
	return r.keeper.Store.(leasetest.Client) //nolint:forcetypeassert // newKeeper made it
}

func (r *leaseResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_lease_test"
}

func (r *leaseResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"name": schema.StringAttribute{Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
		"note": schema.StringAttribute{Optional: true},
		"id":   schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
	}}
}

func (r *leaseResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan leaseModel
	if resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...); resp.Diagnostics.HasError() {
		return
	}
	lease := &credential.Lease{
		Host: "registry.example.com", ExpiresAt: r.keeper.Now().Add(12 * time.Hour),
		Login: image.Credential{Username: "AWS", Password: secret.New("cnry-lease-9b2d")},
	}
	deposit := credential.Deposit{
		Purpose: "registry", Until: r.keeper.Now().Add(time.Hour),
		Create: func(ctx context.Context, name string) (string, error) {
			return r.client().CreateCredential(ctx, name, lease.Login)
		},
	}
	err := provider.Borrow(ctx, r.keeper, lease, deposit, resp.Private, &resp.Diagnostics, func(ctx context.Context, id string) error {
		build, err := r.client().StartBuild(ctx, plan.Name.ValueString(), id)
		if err != nil {
			return err
		}
		plan.ID = types.StringValue(build.ID)
		resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
		if err := r.client().Wait(ctx, build.ID); err != nil {
			return &problem.Problem{Title: "Test build failed", Object: build.ID, Cause: err}
		}
		return nil
	})
	report(&resp.Diagnostics, err)
}

func (r *leaseResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	provider.SettleReleases(ctx, r.keeper, resp.Private, &resp.Diagnostics)
	var id types.String
	if resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("id"), &id)...); resp.Diagnostics.HasError() {
		return
	}
	if _, err := r.client().Build(ctx, id.ValueString()); leasetest.NotFound(err) {
		resp.State.RemoveResource(ctx)
	} else {
		report(&resp.Diagnostics, err)
	}
}

func (r *leaseResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	provider.SettleReleases(ctx, r.keeper, resp.Private, &resp.Diagnostics)
	var plan leaseModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
}

func (r *leaseResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	provider.SettleReleases(ctx, r.keeper, resp.Private, &resp.Diagnostics)
	var id types.String
	if resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("id"), &id)...); !resp.Diagnostics.HasError() {
		report(&resp.Diagnostics, r.client().DeleteBuild(ctx, id.ValueString()))
	}
}

func report(diagnostics *diag.Diagnostics, err error) {
	for _, p := range problem.From(err, "Test service failed") {
		diagnostics.AddError(p.Title, p.Detail())
	}
}

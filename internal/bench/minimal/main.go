// Command minimal is the smallest provider that the framework makes: what the schema of ours is measured against.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

func main() {
	serve := func() provider.Provider { return empty{} }
	if err := providerserver.Serve(context.Background(), serve, providerserver.ServeOpts{Address: "registry.terraform.io/datalayer/minimal"}); err != nil {
		log.Fatal(err)
	}
}

type empty struct{}

func (empty) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "minimal"
}
func (empty) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse)          {}
func (empty) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (empty) DataSources(context.Context) []func() datasource.DataSource                        { return nil }
func (empty) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return emptyResource{} }}
}

type emptyResource struct{}

func (emptyResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "minimal_nothing"
}

func (emptyResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{}
}
func (emptyResource) Create(_ context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	resp.State.Raw = req.Plan.Raw
}
func (emptyResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse)       {}
func (emptyResource) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}
func (emptyResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// ImportState takes the reference that the resource prints, or its identity.
func (r *environmentResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	ref, found := r.importImage(ctx, req, resp)
	if found == nil {
		return
	}
	labels := commonLabels(found)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("python_version"), orNull(labels[environment.LabelPython]))...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("artifact"), environmentModel{
		builtImage:        builtImage{lifecycle: lifecycle{Reference: types.StringValue(ref.String()), CacheKey: orNull(labels[environment.LabelCacheKey])}},
		artifactOutputs:   artifactOutputs{Packages: types.MapNull(types.StringType)},
		artifactArguments: artifactArguments{PythonVersion: orNull(labels[environment.LabelPython])},
	}.artifact(orNull(labels[environment.LabelContract])))...)
}

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// ImportState takes the reference that the resource prints, or its identity. What the key was made of comes back from
// the labels, so that the first plan can tell whether the content is what is configured.
func (r *baseImageResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	_, found := r.importImage(ctx, req, resp)
	if found == nil {
		return
	}
	labels := commonLabels(found)
	packages, err := base.ParsePackagesLabel(labels[base.LabelPackages])
	if err != nil {
		appendProblems(&resp.Diagnostics, err, "Packages of the base image to import cannot be read")
		return
	}
	for attribute, label := range map[string]string{
		"python_version": environment.LabelPython, "from_digest": base.LabelFromDigest, "kernel_lock_digest": base.LabelKernelLockDigest, "doctor_digest": base.LabelDoctorDigest,
	} {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(attribute), orNull(labels[label]))...)
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("libc"), orNull(lock.ParseLibc(labels[base.LabelLibc]).String()))...)
	known := types.MapNull(types.StringType)
	if len(packages) > 0 {
		known = stringMapValue(packages)
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("packages"), known)...)
}

// environmentLabels refuses the image of an environment, which takes over the labels of its base.
func environmentLabels(labels map[string]string, ref reference.Reference) error {
	if labels[environment.LabelCacheKey] == "" {
		return nil
	}
	return &problem.Problem{Title: "Image to import is an environment", Object: ref.String(), Advice: "It was built by a datalayer_environment, on a base whose labels it took over. Import it as that, or import the base itself."}
}

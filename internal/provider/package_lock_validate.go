package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/resolve"
)

// ValidateConfig checks what spans attributes. What is unknown yet is skipped and checked again at apply.
func (r *packageLockResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config packageLockModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &config)...); resp.Diagnostics.HasError() {
		return
	}
	validateWanted(config, &resp.Diagnostics)
	validateLockTarget(config, &resp.Diagnostics)
	validateLockRunner(config, &resp.Diagnostics)
	appendProblems(&resp.Diagnostics, packageIndexFaults("index", config.Index).Err(), "Invalid index")
	validateLogins(config.Base, types.StringNull(), loginBlock{"base", "base_registry", config.BaseRegistry}, loginBlock{}, &resp.Diagnostics)
	warnOfForeignCode(config, &resp.Diagnostics)
}

// warnOfForeignCode says who else sees the login of the index: what builds a source distribution runs in uv's own process
// tree, and could read a file or an argument as well.
func warnOfForeignCode(config packageLockModel, diagnostics *diag.Diagnostics) {
	if config.OnlyBinary.IsNull() || config.OnlyBinary.IsUnknown() || config.OnlyBinary.ValueBool() || member[types.String](config.Index, "username").IsNull() {
		return
	}
	diagnostics.AddAttributeWarning(path.Root("only_binary"), "Source distributions can read the login of the index",
		"only_binary = false runs code of each package that has no wheel, as the user and in the environment of uv, and index.password_wo is there. Give index a login that may read packages and nothing else, and take it back if you doubt one of them; or publish wheels and leave only_binary out.")
}

// maxUnread keeps a file of something else from drowning its reader.
const maxUnread = 10

// validateWanted reads the requirements and constraints that are known.
func validateWanted(config packageLockModel, diagnostics *diag.Diagnostics) {
	complete, unread, firstUnshown := true, 0, path.Root("requirements")
	for _, list := range []struct {
		attribute string
		list      types.List
	}{{"requirements", config.Requirements}, {"constraints", config.Constraints}} {
		for i, element := range list.list.Elements() {
			text, ok := element.(types.String)
			if !ok || text.IsUnknown() || text.IsNull() {
				complete = complete && list.attribute != "requirements"
				continue
			}
			_, faults := resolve.Requirements(list.attribute, []string{text.ValueString()})
			for _, fault := range faults {
				fault.Path[1] = i
			}
			if unread += len(faults); unread <= maxUnread {
				appendProblems(diagnostics, faults.Err(), "Requirement cannot be read at plan")
			} else if unread-len(faults) <= maxUnread && len(faults) > 0 {
				firstUnshown = path.Root(list.attribute).AtListIndex(i) // Terraform shows errors in the order of their places.
			}
		}
	}
	if unread > maxUnread {
		diagnostics.AddAttributeError(firstUnshown, "More requirements that cannot be read", fmt.Sprintf("The first %d are shown, and %d more are not. So many usually mean that the text is no list of requirements.", maxUnread, unread-maxUnread))
	}
	if config.Requirements.IsUnknown() || !complete || diagnostics.HasError() {
		return
	}
	if wanted, _ := resolve.Requirements("requirements", texts(config.Requirements)); len(wanted) == 0 {
		diagnostics.AddAttributeError(path.Root("requirements"), "No requirement to resolve", "requirements names no package. Name at least one, or leave `lock` out of the environment to install nothing.")
	}
}

// validateLockTarget checks that the target is known, or that there is a base to read it from.
func validateLockTarget(config packageLockModel, diagnostics *diag.Diagnostics) {
	if config.Base.IsUnknown() || !config.Base.IsNull() {
		return
	}
	for _, missing := range []struct {
		name, example string
		value         attr.Value
	}{{"python_version", "3.13", config.PythonVersion}, {"python_platform", "x86_64-manylinux_2_28", config.PythonPlatform}} {
		if missing.value.IsNull() {
			diagnostics.AddAttributeError(path.Root(missing.name), "Target of the lock is not known", fmt.Sprintf("Without base, %s must be set: a lock is for one Python and platform. Write %s = %q, or set base to read it from there.", missing.name, missing.name, missing.example))
		}
	}
	if !config.BaseRegistry.IsNull() {
		diagnostics.AddAttributeError(path.Root("base_registry"), "Login for a base that is not there", "base_registry is the login for the host of base. Set base, or remove base_registry.")
	}
}

func validateLockRunner(config packageLockModel, diagnostics *diag.Diagnostics) {
	runner := plannedRunner(config.Runner, config.Base)
	if runner.ValueString() == runnerBuildkit && config.Base.IsNull() {
		diagnostics.AddAttributeError(path.Root("runner"), "Runner without a base", fmt.Sprintf("runner = %q runs uv in a step on base, and base is not set. Set base, or remove runner to run uv on this machine.", runnerBuildkit))
	}
	if runner.ValueString() == runnerBuildkit && !config.UVPath.IsNull() {
		diagnostics.AddAttributeError(path.Root("uv_path"), "uv_path without the runner that uses it", fmt.Sprintf("uv_path is for runner = %q; the runner %q installs uv in its step. Remove one of the two.", runnerLocal, runnerBuildkit))
	}
	if runner.ValueString() == runnerBuildkit && !config.UVVersion.IsNull() && !config.UVVersion.IsUnknown() && config.UVVersion.ValueString() != resolve.UVVersion {
		appendProblems(diagnostics, &problem.Problem{Title: "uv_version is not one that this release ships", Path: []any{"uv_version"}, Object: fmt.Sprintf("uv_version = %q", config.UVVersion.ValueString()),
			Advice: fmt.Sprintf("The runner %q installs uv by hashes that the provider ships: those of %s. Write that, remove uv_version, or set runner = %q.", runnerBuildkit, resolve.UVVersion, runnerLocal)}, "")
	}
}

// plannedRunner is the configured runner, or the one that a base decides. It is not known while it is not known whether there
// is a base.
func plannedRunner(configured, base types.String) types.String {
	switch {
	case !configured.IsNull():
		return configured
	case base.IsUnknown():
		return types.StringUnknown()
	case base.IsNull():
		return types.StringValue(runnerLocal)
	}
	return types.StringValue(runnerBuildkit)
}

package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// ValidateConfig checks what spans attributes. What is unknown yet is skipped and checked again at apply.
func (r *environmentResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config environmentModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &config)...); resp.Diagnostics.HasError() {
		return
	}
	validateArtifact(config.artifactArguments, &resp.Diagnostics)
	labels := stringMap(config.Labels)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		appendProblems(&resp.Diagnostics, environment.ValidateLabel(name, labels[name]).Err(), "Invalid label")
	}
	if !config.Platforms.IsNull() && whollyKnown(ctx, config.Platforms) {
		appendProblems(&resp.Diagnostics, environment.ValidatePlatforms(texts(config.Platforms)).Err(), "Invalid platforms")
	}
	validateSBOM(config.Attestations, &resp.Diagnostics)
	validateBuildInputs(config, &resp.Diagnostics)
	validateLogins(config, &resp.Diagnostics)
}

// validateArtifact checks the arguments that all artifacts share.
func validateArtifact(arguments artifactArguments, diagnostics *diag.Diagnostics) {
	spec, _, faults := arguments.spec()
	appendProblems(diagnostics, append(faults, spec.Validate()...).Err(), "Invalid environment")
	validateTimeouts(arguments.Timeouts.Attributes(), diagnostics)
	if arguments.Lock.IsNull() || arguments.Lock.IsUnknown() || arguments.BasePackages.IsUnknown() {
		return
	}
	locked, err := lock.Parse(arguments.Lock.ValueString())
	if err != nil {
		return // The attribute's own validator has said so.
	}
	base := map[string]string{}
	for name, version := range stringMap(arguments.BasePackages) {
		base[lock.NormalName(name)] = version
	}
	for _, requirement := range locked.Requirements() {
		has, ok := base[requirement.Name]
		if !ok || !slices.Contains(environment.KernelPackages, requirement.Name) || lock.SameVersion(has, requirement.InstalledVersion()) {
			continue
		}
		appendProblems(diagnostics, &problem.Problem{Title: "Lock would replace the kernel stack", Path: []any{"lock"},
			Object: fmt.Sprintf("line %d (%s)", requirement.Line, requirement.Name), Cause: fmt.Errorf("the lock has %s, and the base has %s", requirement.InstalledVersion(), has),
			Advice: "Sandboxes run on the base's own copy. Resolve the lock with the base's packages as constraints, so that both have the same version."}, "")
	}
}

// validateTimeouts refuses a time that is over before it begins.
func validateTimeouts(limits map[string]attr.Value, diagnostics *diag.Diagnostics) {
	for name, value := range limits {
		text, _ := value.(types.String)
		if limit, err := time.ParseDuration(text.ValueString()); err == nil && limit <= 0 {
			diagnostics.AddAttributeError(path.Root("timeouts").AtName(name), "Timeout is not positive", fmt.Sprintf("timeouts.%s is %q, and no operation ends before it begins. Write a duration such as \"30m\".", name, text.ValueString()))
		}
	}
}

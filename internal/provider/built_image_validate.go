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
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// validateImage checks what is true of the arguments of every image.
func validateImage(ctx context.Context, config builtImage, diagnostics *diag.Diagnostics) {
	labels := stringMap(config.Labels)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		appendProblems(diagnostics, environment.ValidateLabel(name, labels[name]).Err(), "Invalid label")
	}
	if !config.Platforms.IsNull() && whollyKnown(ctx, config.Platforms) {
		appendProblems(diagnostics, environment.ValidatePlatforms(texts(config.Platforms)).Err(), "Invalid platforms")
	}
	validateTimeouts(config.Timeouts.Attributes(), diagnostics)
	validateSBOM(config.Attestations, diagnostics)
	appendProblems(diagnostics, packageIndexFaults("package_index", config.PackageIndex).Err(), "Invalid package_index")
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

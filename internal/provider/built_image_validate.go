package provider

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// validateImage checks what is true of the arguments of every image.
func validateImage(ctx context.Context, config builtImage, diagnostics *diag.Diagnostics) {
	labels := stringMap(config.Labels)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		appendProblems(diagnostics, environment.ValidateLabel(name, labels[name]).Err(), "Invalid label")
	}
	if !config.Platforms.IsNull() && whollyKnown(ctx, config.Platforms) && !hasNull(config.Platforms) { // The list's own validator refuses a null.
		appendProblems(diagnostics, environment.ValidatePlatforms(texts(config.Platforms)).Err(), "Invalid platforms")
	}
	validateSBOM(config.Attestations, diagnostics)
	appendProblems(diagnostics, packageIndexFaults("package_index", config.PackageIndex).Err(), "Invalid package_index")
}

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
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
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

// loginBlock is a login in the configuration, its attribute, and the attribute with an address on its host.
type loginBlock struct {
	of, attribute string
	block         types.Object
}

// validateLogins refuses two logins for one host: BuildKit takes one credential for a host in a whole build.
func validateLogins(from, to types.String, pull, push loginBlock, diagnostics *diag.Diagnostics) {
	for _, l := range []loginBlock{pull, push} {
		if password := member[types.String](l.block, "password_wo"); !l.block.IsNull() && !l.block.IsUnknown() && !password.IsUnknown() && password.ValueString() == "" {
			diagnostics.AddAttributeError(path.Root(l.attribute).AtName("password_wo"), "Empty registry password at plan", fmt.Sprintf("%s.password_wo is empty. Remove %s to use the provider's registries or the Docker configuration.", l.attribute, l.attribute))
		}
	}
	for _, l := range []loginBlock{pull, push} {
		appendProblems(diagnostics, passwordFaults(member[types.String](l.block, "password_wo"), l.attribute, "password_wo").Err(), "Invalid login")
	}
	base, err := reference.Parse(from.ValueString())
	if err != nil || pull.block.IsNull() || push.block.IsNull() || pull.block.IsUnknown() || push.block.IsUnknown() {
		return
	}
	repository, err := reference.ParseRepository(to.ValueString())
	if err != nil || repository.Host != base.Host {
		return
	}
	for _, attribute := range []string{"username", "password_wo"} {
		one, other := member[types.String](pull.block, attribute), member[types.String](push.block, attribute)
		if one.IsUnknown() || other.IsUnknown() || one.Equal(other) {
			continue
		}
		diagnostics.AddAttributeError(path.Root(pull.attribute).AtName(attribute), "Two logins for one registry host", fmt.Sprintf("%s and %s are both on %s, and %s.%s is not %s.%s. A build takes one login for a host: set %s alone, with a login that may read the other too.", pull.of, push.of, base.Host, pull.attribute, attribute, push.attribute, attribute, push.attribute))
		return
	}
}

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
)

// ValidateConfig checks what spans attributes. What is unknown yet is skipped and checked again at apply.
func (r *environmentResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config environmentModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &config)...); resp.Diagnostics.HasError() {
		return
	}
	validateArtifact(config.artifactArguments, &resp.Diagnostics)
	validateStaleness(ctx, config, &resp.Diagnostics)
	validateImage(ctx, config.builtImage, &resp.Diagnostics)
	appendProblems(&resp.Diagnostics, buildSecretFaults(config.BuildSecrets).Err(), "Invalid build secrets")
	validateLogins(config.Base, config.Repository, loginBlock{"base", "base_registry", config.BaseRegistry}, loginBlock{"repository", "registry", config.Registry}, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		warnOfUseless(config, &resp.Diagnostics)
	}
}

// validateArtifact checks the arguments that all artifacts share.
func validateArtifact(arguments artifactArguments, diagnostics *diag.Diagnostics) {
	spec, _, faults := arguments.spec()
	appendProblems(diagnostics, append(faults, spec.Validate()...).Err(), "Invalid environment")
}

// validateStaleness refuses a lock that was made for another base, as far as both are known.
func validateStaleness(ctx context.Context, config environmentModel, diagnostics *diag.Diagnostics) {
	if config.Lock.IsNull() || config.Lock.IsUnknown() {
		return
	}
	locked, err := lock.Parse(config.Lock.ValueString())
	if err != nil {
		return // The attribute's own validator has said so.
	}
	base := config.knownBase()
	base.Platforms = platformsOf(ctx, config.Platforms)
	appendProblems(diagnostics, base.CheckLock(locked).Err(), "Lock does not fit the base")
}

// knownBase is what the arguments tell of the base, for the platform of the contract.
func (a artifactArguments) knownBase() environment.Known {
	return environment.Known{Python: a.PythonVersion.ValueString(), Platforms: []string{environment.DefaultPlatform}, Libc: lock.ParseLibc(a.BaseLibc.ValueString()), Packages: stringMap(a.BasePackages)}
}

// warnOfUseless says which arguments of a build nothing in it would use.
func warnOfUseless(config environmentModel, diagnostics *diag.Diagnostics) {
	if !config.PackageIndex.IsNull() && config.Lock.IsNull() {
		diagnostics.AddAttributeWarning(path.Root("package_index"), "Package index without a lock", "package_index is where the lock is installed from, and lock is not set: nothing asks the index. Set lock, or remove package_index.")
	}
	if !config.BuildSecrets.IsNull() && config.AptPackages.IsNull() && config.PostInstall.IsNull() {
		diagnostics.AddAttributeWarning(path.Root("build_secrets_wo"), "Build secrets that no step is given", "build_secrets_wo are for the steps of apt_packages and post_install, and neither is set. The lock is installed with the login of package_index.")
	}
	if !config.BuildSecretsVersion.IsNull() && config.BuildSecrets.IsNull() {
		diagnostics.AddAttributeWarning(path.Root("build_secrets_wo_version"), "Version of no build secrets", "build_secrets_wo_version says that build_secrets_wo changed, which is not set.")
	}
}

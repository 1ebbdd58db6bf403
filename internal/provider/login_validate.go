package provider

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// validateLogins checks the logins that the resource brings, and refuses two for one host: BuildKit takes one credential
// for a host in a whole build.
func validateLogins(config environmentModel, diagnostics *diag.Diagnostics) {
	for name, block := range map[string]types.Object{"base_registry": config.BaseRegistry, "registry": config.Registry} {
		if block.IsNull() || block.IsUnknown() {
			continue
		}
		validateLogin(name, block, diagnostics)
	}
	base, err := reference.Parse(config.Base.ValueString())
	if err != nil || config.BaseRegistry.IsNull() || config.BaseRegistry.IsUnknown() {
		return
	}
	role := member[types.String](config.BaseRegistry, "role_arn")
	if _, isECR := credential.ParseECRHost(base.Host); !role.IsNull() && !isECR {
		diagnostics.AddAttributeError(path.Root("base_registry").AtName("role_arn"), "Base is not on Amazon ECR", fmt.Sprintf("base_registry.role_arn is set, and %s is not the host of a private registry of ECR. Give username and password_wo, or remove base_registry.", base.Host))
		return
	}
	repository, err := reference.ParseRepository(config.Repository.ValueString())
	if err != nil || repository.Host != base.Host {
		return
	}
	if !role.IsNull() {
		diagnostics.AddAttributeError(path.Root("base_registry").AtName("role_arn"), "Role for a registry that the build also pushes to", fmt.Sprintf("base and repository are both on %s, and a build takes one credential for a host. Remove base_registry, and set registries[%q].ecr.role_arn (or aws.role_arn) of the provider to a role that may read the base and push.", base.Host, base.Host))
		return
	}
	if config.Registry.IsNull() || config.Registry.IsUnknown() {
		return
	}
	for _, attribute := range []string{"username", "password_wo"} {
		one, other := member[types.String](config.BaseRegistry, attribute), member[types.String](config.Registry, attribute)
		if one.IsUnknown() || other.IsUnknown() || one.Equal(other) {
			continue
		}
		diagnostics.AddAttributeError(path.Root("base_registry").AtName(attribute), "Two logins for one registry host", fmt.Sprintf("base and repository are both on %s, and base_registry.%s is not registry.%s. A build takes one login for a host: set registry alone, with a login that may read the base too.", base.Host, attribute, attribute))
		return
	}
}

// validateLogin checks one login: user name and password, or a role.
func validateLogin(name string, block types.Object, diagnostics *diag.Diagnostics) {
	username, password, role := member[types.String](block, "username"), member[types.String](block, "password_wo"), member[types.String](block, "role_arn")
	at := path.Root(name)
	switch {
	case role.IsUnknown():
	case !role.IsNull() && (!username.IsNull() || !password.IsNull()):
		diagnostics.AddAttributeError(at.AtName("role_arn"), "Login and role for one registry", fmt.Sprintf("%s has both role_arn and a username or password_wo. The role gets the login from AWS: keep one of the two.", name))
		return
	case !role.IsNull():
		return
	case username.IsNull():
		diagnostics.AddAttributeError(at.AtName("username"), "Missing registry user name", fmt.Sprintf("%s.username is required.", name))
		return
	}
	if !password.IsUnknown() && password.ValueString() == "" && (role.IsNull() || !password.IsNull()) {
		diagnostics.AddAttributeError(at.AtName("password_wo"), "Empty registry password at plan", fmt.Sprintf("%s.password_wo is empty. Remove %s to use the provider's registries or the Docker configuration.", name, name))
	}
	for _, fault := range problem.From(credential.CheckLogin(username.ValueString()), "Invalid registry user name") {
		diagnostics.AddAttributeError(at.AtName("username"), fault.Title, fault.Detail())
	}
}

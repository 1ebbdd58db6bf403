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

// loginBlock is a login in the configuration, its attribute, and the attribute with an address on its host.
type loginBlock struct {
	of, attribute string
	block         types.Object
}

// validateLogins checks the logins that a resource brings, and refuses two for one host: BuildKit takes one credential
// for a host in a whole build. from and to are the addresses that pull and push are for. Terraform has it checked again at
// apply, when all is known.
func validateLogins(from, to types.String, pull, push loginBlock, diagnostics *diag.Diagnostics) {
	for _, l := range []loginBlock{pull, push} {
		if !l.block.IsNull() && !l.block.IsUnknown() {
			validateLogin(l.attribute, l.block, diagnostics)
		}
	}
	base, err := reference.Parse(from.ValueString())
	if err != nil || pull.block.IsNull() || pull.block.IsUnknown() {
		return
	}
	role := member[types.String](pull.block, "role_arn")
	if role.IsUnknown() {
		return // It may be null.
	}
	registry, isECR := ecrHost(base.Host)
	if !role.IsNull() && !isECR {
		diagnostics.AddAttributeError(path.Root(pull.attribute).AtName("role_arn"), "Image to read is not on Amazon ECR", fmt.Sprintf("%s.role_arn is set, and %s is not the host of a private registry of ECR. Give username and password_wo, or remove %s.", pull.attribute, base.Host, pull.attribute))
		return
	}
	if err := registry.CheckRole(role.ValueString()); err != nil {
		for _, fault := range problem.From(err, "Invalid role for an image to read") {
			diagnostics.AddAttributeError(path.Root(pull.attribute).AtName("role_arn"), fault.Title, fault.Detail())
		}
		return
	}
	repository, err := reference.ParseRepository(to.ValueString())
	if err != nil || reference.CanonicalHost(repository.Host) != reference.CanonicalHost(base.Host) {
		return
	}
	if !role.IsNull() {
		diagnostics.AddAttributeError(path.Root(pull.attribute).AtName("role_arn"), "Role for a registry that the build also pushes to", fmt.Sprintf("%s and %s are both on %s, and a build takes one credential for a host. Remove %s, and set registries[%q].ecr.role_arn (or aws.role_arn) of the provider to a role that may read the one and push to the other.", pull.of, push.of, base.Host, pull.attribute, base.Host))
		return
	}
	if push.block.IsNull() || push.block.IsUnknown() {
		return
	}
	for _, attribute := range []string{"username", "password_wo"} {
		one, other := member[types.String](pull.block, attribute), member[types.String](push.block, attribute)
		if one.IsUnknown() || other.IsUnknown() || one.IsNull() || other.IsNull() || one.Equal(other) {
			continue
		}
		diagnostics.AddAttributeError(path.Root(pull.attribute).AtName(attribute), "Two logins for one registry host", fmt.Sprintf("%s and %s are both on %s, and %s.%s is not %s.%s. A build takes one login for a host: set %s alone, with a login that may read the other too.", pull.of, push.of, base.Host, pull.attribute, attribute, push.attribute, attribute, push.attribute))
		return
	}
}

// validateLogin checks one login: user name and password, or a role.
func validateLogin(name string, block types.Object, diagnostics *diag.Diagnostics) {
	username, password, role := member[types.String](block, "username"), member[types.String](block, "password_wo"), member[types.String](block, "role_arn")
	at := path.Root(name)
	checkExternalID(block, at, role, diagnostics)
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
	// Whether a null is one too few is seen by needSecrets.
	if !password.IsUnknown() && !password.IsNull() && password.ValueString() == "" {
		diagnostics.AddAttributeError(at.AtName("password_wo"), "Empty registry password at plan", fmt.Sprintf("%s.password_wo is empty. Remove %s to use the provider's registries or the Docker configuration.", name, name))
	}
	appendProblems(diagnostics, passwordFaults(password, name, "password_wo").Err(), "Invalid login")
	for _, fault := range problem.From(credential.CheckLogin(username.ValueString()), "Invalid registry user name") {
		diagnostics.AddAttributeError(at.AtName("username"), fault.Title, fault.Detail())
	}
}

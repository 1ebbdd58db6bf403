package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// needSecrets refuses a plan that makes or changes something while a write-only value is missing. A plan without changes
// and a destroy use none, so they need no value of a variable that each run is given anew. It is called when the plan is
// ready.
func needSecrets(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, attributes ...string) {
	if resp.Diagnostics.HasError() {
		return
	}
	missing := missingSecrets(ctx, req.Config, &resp.Diagnostics, attributes...)
	if len(missing) > 0 && (len(resp.RequiresReplace) > 0 || !resp.Plan.Raw.Equal(req.State.Raw)) {
		appendProblems(&resp.Diagnostics, missing, "Missing write-only value")
	}
}

const givenAnew = "Terraform keeps no write-only value, so each run that changes something is given it anew: set the variable that it comes from."

// missingSecrets are the write-only values that these attributes name and the run was not given.
func missingSecrets(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics, attributes ...string) problem.List {
	var missing problem.List
	for _, attribute := range attributes {
		if attribute == "build_secrets_wo" {
			var secrets types.Map
			diagnostics.Append(config.GetAttribute(ctx, path.Root(attribute), &secrets)...)
			for _, name := range slices.Sorted(maps.Keys(secrets.Elements())) {
				if secrets.Elements()[name].IsNull() {
					missing = append(missing, &problem.Problem{Title: "Build secret without a value", Path: []any{attribute, problem.Key(name)}, Object: fmt.Sprintf("%q is null", name), Advice: givenAnew + " \"\" makes an empty file."})
				}
			}
			continue
		}
		var block types.Object
		if diagnostics.Append(config.GetAttribute(ctx, path.Root(attribute), &block)...); block.IsNull() || block.IsUnknown() {
			continue
		}
		username, password, role := member[types.String](block, "username"), member[types.String](block, "password_wo"), member[types.String](block, "role_arn")
		switch {
		case username.IsNull() || !password.IsNull() || !role.IsNull():
		case attribute == "package_index" || attribute == "index":
			missing = append(missing, &problem.Problem{Title: "Half a login for the package index", Path: []any{attribute}, Advice: fmt.Sprintf("%s.username and %s.password_wo go together: set both or neither. %s", attribute, attribute, givenAnew)})
		default:
			missing = append(missing, &problem.Problem{Title: "Missing registry password", Path: []any{attribute, "password_wo"}, Object: attribute + ".password_wo is null",
				Advice: fmt.Sprintf("%s Without %s the provider's registries or the Docker configuration give the login.", givenAnew, attribute)})
		}
	}
	return missing
}

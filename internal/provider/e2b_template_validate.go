package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
)

// ValidateConfig checks what spans attributes. What is unknown yet is skipped and checked again at apply.
func (r *templateResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config templateModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &config)...); resp.Diagnostics.HasError() {
		return
	}
	validateArtifact(config.artifactArguments, &resp.Diagnostics)
	validateLogins(config.Base, types.StringNull(), loginBlock{"base", "base_registry", config.BaseRegistry}, loginBlock{"base", "base_registry", types.ObjectNull(nil)}, &resp.Diagnostics)
	for i, element := range config.PostInstall.Elements() {
		if network := member[types.Bool](element, "network"); !network.IsNull() && !network.IsUnknown() && !network.ValueBool() {
			resp.Diagnostics.AddAttributeError(path.Root("post_install").AtListIndex(i).AtName("network"), "E2B cannot cut a command off the network", fmt.Sprintf("post_install[%d].network is false. Remove it, or run the command in a base of your own.", i))
		}
	}
	for _, element := range config.Tags.Elements() {
		if tag, ok := element.(types.String); ok && !tag.IsUnknown() {
			validateTag(tag, resp)
		}
	}
	if config.Lock.IsNull() || config.Lock.IsUnknown() {
		return
	}
	if locked, err := lock.Parse(config.Lock.ValueString()); err == nil {
		appendProblems(&resp.Diagnostics, config.knownBase().CheckLock(locked).Err(), "Lock does not fit the template's base")
	}
}

func validateTag(tag types.String, resp *resource.ValidateConfigResponse) {
	// As E2B would keep it: what is said of another spelling must not lead to a second refusal.
	kept := strings.ToLower(strings.TrimSpace(tag.ValueString()))
	if kept != e2b.DefaultTag && !strings.HasPrefix(kept, e2b.OwnTagPrefix) {
		if p := e2b.CheckTag(tag.ValueString()); p != nil {
			resp.Diagnostics.AddAttributeError(path.Root("tags"), p.Title, p.Detail())
		}
	} else {
		resp.Diagnostics.AddAttributeError(path.Root("tags"), "Tag is the provider's own", fmt.Sprintf("%q: `default` is put by move_default_tag, and tags that begin with %q mark builds. Choose another tag.", tag.ValueString(), e2b.OwnTagPrefix))
	}
}

func templateName() validator.String {
	return stringRule{"an E2B template name", func(value string) error {
		if p := e2b.CheckName(value); p != nil {
			return p
		}
		return nil
	}}
}

func interpreterSource() validator.String {
	return stringRule{"an https address or a folder", e2b.CheckSource}
}

func interpreterCommit() validator.String {
	return stringRule{"the commit that this release carries", e2b.CheckCommit}
}

func interpreterEdit() validator.String {
	return stringRule{"the edit that this release carries", e2b.CheckEdit}
}

func cpuCount() validator.Number {
	return e2bNumber("1 or an even number up to 32", func(n int64) bool { return n == 1 || n > 0 && n <= 32 && n%2 == 0 })
}

func memoryMB() validator.Number {
	return e2bNumber("an even number from 128", func(n int64) bool { return n >= 128 && n%2 == 0 && n <= 1<<31-1 })
}

func e2bNumber(rule string, allows func(int64) bool) validator.Number {
	return numberRule{"Number that E2B does not take", rule, allows}
}

func command() validator.String {
	return textRule("Empty command for E2B", "a command, or nothing to take the default", func(value string) bool { return strings.TrimSpace(value) != "" })
}

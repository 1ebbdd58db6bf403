package provider

import (
	"context"
	"fmt"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// stringRule holds a value against a rule of an engine, whose problems become errors at the attribute.
type stringRule struct {
	description string
	check       func(value string) error
}

func (r stringRule) Description(context.Context) string         { return r.description }
func (r stringRule) MarkdownDescription(context.Context) string { return r.description }

func (r stringRule) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	for _, p := range problem.From(r.check(req.ConfigValue.ValueString()), "Invalid value") {
		resp.Diagnostics.AddAttributeError(req.Path, p.Title, p.Detail())
	}
}

func pinnedReference() validator.String {
	return stringRule{"an image reference pinned by digest", func(value string) error {
		_, err := reference.ParsePinned(value)
		return err
	}}
}

func repository() validator.String {
	return stringRule{"an image repository with its registry host, without tag or digest", func(value string) error {
		_, err := reference.ParseRepository(value)
		return err
	}}
}

func hashLocked() validator.String {
	return stringRule{"a hash-locked requirements file", func(value string) error {
		_, err := lock.Parse(value)
		return err
	}}
}

func builderAddress() validator.String {
	return stringRule{"the address of a BuildKit daemon", func(value string) error {
		if value == "" {
			return &problem.Problem{Title: "Empty BuildKit address", Object: `buildkit.address = ""`, Advice: "Remove the argument to use " + buildkit.AddressVariable + " or a well-known socket, or give an address."}
		}
		return buildkit.ValidateAddress(value)
	}}
}

// textRule is a stringRule that a pattern decides.
func textRule(title, pattern, rule string) validator.String {
	matcher := regexp.MustCompile(pattern)
	return stringRule{rule, func(value string) error {
		if matcher.MatchString(value) {
			return nil
		}
		return &problem.Problem{Title: title, Object: fmt.Sprintf("%q", value), Advice: "Write " + rule + "."}
	}}
}

func pythonVersion() validator.String {
	return textRule("Invalid python_version", `^3\.\d+$`, `major and minor version, such as "3.13"`)
}

func versionLabel() validator.String {
	return textRule("Invalid version", environment.VersionRule, `1 to 64 letters, digits, ".", "_" or "-"`)
}

func environmentName() validator.String {
	return textRule("Invalid name", `^[^\p{C}\p{Zl}\p{Zp}]{1,128}$`, "1 to 128 characters without line breaks or other control characters")
}

func deletionPolicy() validator.String {
	return textRule("Invalid deletion_policy", "^("+policyDelete+"|"+policyRetain+")$", fmt.Sprintf("%q or %q", policyDelete, policyRetain))
}

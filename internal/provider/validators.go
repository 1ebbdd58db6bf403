package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

var pythonPattern = lazyregexp.New(`^3\.\d+$`)

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
		resp.Diagnostics.AddAttributeError(req.Path, p.Title, withPath(req.Path, p.Detail()))
	}
}

func pinnedReference() validator.String {
	return stringRule{"an image reference pinned by digest", func(value string) error {
		_, err := reference.ParsePinned(value)
		return inForm("host/path@sha256:…", value, err)
	}}
}

// inForm gives an empty value the form that its attribute takes: the grammar's own advice is for any reference.
func inForm(form, value string, err error) error {
	var found *problem.Problem
	if value != "" || !errors.As(err, &found) {
		return err
	}
	said := *found
	said.Advice = "Write " + form + " , or leave the argument out where it is optional."
	return &said
}

// noNulls is for the entries of a list.
type noNulls struct{}

func (noNulls) Description(context.Context) string         { return "no entry is null" }
func (noNulls) MarkdownDescription(context.Context) string { return "no entry is null" }

func (noNulls) ValidateList(_ context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	for i, element := range req.ConfigValue.Elements() {
		if element.IsNull() {
			at := req.Path.AtListIndex(i)
			resp.Diagnostics.AddAttributeError(at, "Null in a list", withPath(at, at.String()+" is null. Leave the entry out; compact() drops those of a list that may have some."))
		}
	}
}

func hasNull(list types.List) bool {
	return slices.ContainsFunc(list.Elements(), func(element attr.Value) bool { return element.IsNull() })
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
			return &problem.Problem{Title: "Empty BuildKit address", Advice: "Give an address, or remove it; without buildkit.address, " + buildkit.AddressVariable + " or a well-known socket is used."}
		}
		return buildkit.ValidateAddress(value)
	}}
}

// textRule is a stringRule that allows a text or not.
func textRule(title, rule string, allows func(string) bool) validator.String {
	return stringRule{rule, func(value string) error {
		if allows(value) {
			return nil
		}
		return &problem.Problem{Title: title, Object: fmt.Sprintf("%q", value), Advice: "Write " + rule + "."}
	}}
}

// notBlank refuses a setting that is given and says nothing: it would hide its variable, or stand for a default that nobody
// chose.
func notBlank(title, name string) validator.String {
	return stringRule{"not empty", func(value string) error {
		if strings.TrimSpace(value) != "" {
			return nil
		}
		return &problem.Problem{Title: title, Object: fmt.Sprintf("%s = %q", name, value), Advice: "Give it a value, or remove the argument (null is the same) to have its default."}
	}}
}

// oneOf allows what it lists.
func oneOf(allowed ...string) func(string) bool {
	return func(value string) bool { return slices.Contains(allowed, value) }
}

func pythonVersion() validator.String {
	return textRule("Invalid python_version", `major and minor version, such as "3.13"`, pythonPattern.MatchString)
}

var libcPattern = lazyregexp.New(`^(glibc 2\.\d+|musl \d+\.\d+)(\.\d+)?$`)

func libc() validator.String {
	return textRule("Invalid base_libc", `a C library with its version, such as "glibc 2.36" or "musl 1.2"`, libcPattern.MatchString)
}

var bareNumber = lazyregexp.New(`^\d+(\.\d+)?$`)

// duration is for the time that an operation may take.
func duration() validator.String {
	return stringRule{`a duration such as "30m"`, func(value string) error {
		limit, err := time.ParseDuration(value)
		said := &problem.Problem{Title: "Invalid timeout", Object: fmt.Sprintf("%q", value), Advice: `Write a number with its unit, such as "90s", "30m" or "1h30m".`}
		switch {
		case err != nil && bareNumber.MatchString(value):
			said.Advice = fmt.Sprintf("Write its unit: %q for minutes, %q for seconds.", value+"m", value+"s")
		case err == nil && limit <= 0:
			said.Title, said.Advice = "Timeout is not positive", `No operation ends before it begins. Write a duration such as "30m".`
		case err == nil:
			return nil
		}
		return said
	}}
}

func versionLabel() validator.String {
	return textRule("Invalid version", `1 to 64 letters, digits, ".", "_" or "-"`, environment.ValidVersion)
}

func environmentName() validator.String {
	return textRule("Invalid name", "1 to 128 characters without line breaks or other control characters", func(value string) bool {
		length := utf8.RuneCountInString(value)
		return length >= 1 && length <= 128 && !strings.ContainsFunc(value, func(r rune) bool { return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) })
	})
}

func deletionPolicy() validator.String {
	return textRule("Invalid deletion_policy", fmt.Sprintf("%q or %q", policyDelete, policyRetain), oneOf(policyDelete, policyRetain))
}

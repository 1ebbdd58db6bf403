package provider

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// numberRule allows a whole number or not. Arguments with whole numbers are NumberAttributes: a fraction in an Int64Attribute
// the framework calls a bug of the provider, before any validator is asked.
type numberRule struct {
	title, rule string
	allows      func(int64) bool
}

func (r numberRule) Description(context.Context) string         { return r.rule }
func (r numberRule) MarkdownDescription(context.Context) string { return r.rule }

func (r numberRule) ValidateNumber(_ context.Context, req validator.NumberRequest, resp *validator.NumberResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	given := req.ConfigValue.ValueBigFloat()
	number, exact := given.Int64()
	if exact == big.Exact && r.allows(number) {
		return
	}
	resp.Diagnostics.AddAttributeError(req.Path, r.title, fmt.Sprintf("%s is %s. Write %s.", req.Path, given.Text('g', 15), r.rule))
}

// whole is the number of an argument that a numberRule allowed; 0 for what is null or unknown.
func whole(value types.Number) int64 {
	if value.IsNull() || value.IsUnknown() {
		return 0
	}
	number, _ := value.ValueBigFloat().Int64()
	return number
}

func invalidNumber(rule string, allows func(int64) bool) validator.Number {
	return numberRule{"Invalid number", rule, allows}
}

// versionAttribute says that a write-only argument changed.
func versionAttribute(description string) schema.NumberAttribute {
	return schema.NumberAttribute{Optional: true, MarkdownDescription: description,
		Validators: []validator.Number{invalidNumber("a whole number", func(int64) bool { return true })}}
}

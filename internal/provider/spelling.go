package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// A plan at apply may not say anything else of what the first plan knew, although it knows more: what keeps its prior spelling is
// decided by a value itself, at its place. Another order cannot be told that way, nor what else takes a whole list: the spelling of a
// text in a list of texts, which Terraform takes as it is configured or as it was, and content in place of content_base64. They
// are kept where the list is known as a whole. Where such a change stands beside a value of the same list that is not known yet,
// and that turns out to be what it was, Terraform reports an inconsistent final plan, and a second apply settles it.

// spelling keeps the prior of two values that mean the same. Terraform takes that only where neither is null.
func spelling[V attr.Value](planned, prior V) V {
	if planned.IsNull() || prior.IsNull() {
		return planned
	}
	return prior
}

// spelledText keeps the prior of two texts of one meaning.
func spelledText(planned, prior types.String, meaning func(string) string) types.String {
	if planned.IsNull() || planned.IsUnknown() || prior.IsNull() || meaning(planned.ValueString()) != meaning(prior.ValueString()) {
		return planned
	}
	return prior
}

func spelledMembers(planned, prior attr.Value, meanings map[string]func(string) string) attr.Value {
	object, ok := planned.(types.Object)
	if !ok || object.IsNull() || object.IsUnknown() {
		return planned
	}
	members := object.Attributes()
	for name, meaning := range meanings {
		members[name] = spelledText(member[types.String](planned, name), member[types.String](prior, name), meaning)
	}
	return types.ObjectValueMust(object.AttributeTypes(context.Background()), members)
}

// spelledEntries keeps the prior spelling of these members in each entry.
func spelledEntries(planned, prior types.List, meanings map[string]func(string) string) types.List {
	entries := slices.Clone(planned.Elements())
	if len(entries) == 0 {
		return planned
	}
	for i, before := range prior.Elements() {
		if i < len(entries) {
			entries[i] = spelledMembers(entries[i], before, meanings)
		}
	}
	return types.ListValueMust(planned.ElementType(context.Background()), entries)
}

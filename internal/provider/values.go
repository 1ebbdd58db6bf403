package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// objectOptions reads objects into models: what is null or unknown in them has a type of its own there.
var objectOptions = basetypes.ObjectAsOptions{}

func stringList(values ...string) types.List {
	elements := make([]attr.Value, len(values))
	for i, v := range values {
		elements[i] = types.StringValue(v)
	}
	return types.ListValueMust(types.StringType, elements)
}

// texts gives the known entries of a list of strings.
func texts(list types.List) []string {
	var result []string
	for _, element := range list.Elements() {
		if text, ok := element.(types.String); ok {
			result = append(result, text.ValueString())
		}
	}
	return result
}

func stringMapValue(values map[string]string) types.Map {
	elements := map[string]attr.Value{}
	for name, value := range values {
		elements[name] = types.StringValue(value)
	}
	return types.MapValueMust(types.StringType, elements)
}

// stringMap gives the known entries of a map of strings.
func stringMap(m types.Map) map[string]string {
	result := map[string]string{}
	for name, value := range m.Elements() {
		if text, ok := value.(types.String); ok && !text.IsUnknown() && !text.IsNull() {
			result[name] = text.ValueString()
		}
	}
	return result
}

// mapKnown tells whether a map and all values in it are known.
func mapKnown(m types.Map) bool {
	for _, value := range m.Elements() {
		if value.IsUnknown() {
			return false
		}
	}
	return !m.IsUnknown()
}

// orNull is null for an empty text.
func orNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}

// whollyKnown tells whether a value and all within it are known.
func whollyKnown(ctx context.Context, value attr.Value) bool {
	raw, err := value.ToTerraformValue(ctx)
	return err == nil && raw.IsFullyKnown()
}

func noneRetained() types.List { return types.ListValueMust(retainedType, []attr.Value{}) }

// withRetainedTag adds a tag that the registry could not remove.
func withRetainedTag(retained types.List, repository reference.Repository, tag string) types.List {
	entry := types.ObjectValueMust(retainedType.AttrTypes, map[string]attr.Value{
		"what": types.StringValue(retainedTag), "where": types.StringValue(repository.String()), "id": types.StringValue(tag),
		"removable_by": types.StringValue("destroy of this resource, where the registry allows images to be deleted; else the registry's owner"),
	})
	return types.ListValueMust(retainedType, append(retained.Elements(), entry))
}

// withoutRetainedTag drops a tag that is in use again.
func withoutRetainedTag(retained types.List, tag string) types.List {
	return types.ListValueMust(retainedType, slices.DeleteFunc(retained.Elements(), func(element attr.Value) bool {
		return slices.Contains(retainedTags(types.ListValueMust(retainedType, []attr.Value{element})), tag)
	}))
}

const retainedTag = "tag"

// retainedTags are the tags among what is retained.
func retainedTags(retained types.List) []string {
	var tags []string
	for _, element := range retained.Elements() {
		entry, ok := element.(types.Object)
		if !ok {
			continue
		}
		what, _ := entry.Attributes()["what"].(types.String)
		id, _ := entry.Attributes()["id"].(types.String)
		if what.ValueString() == retainedTag {
			tags = append(tags, id.ValueString())
		}
	}
	return tags
}

package provider

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// builtImage are the arguments and outputs of every image that BuildKit builds and a registry keeps: environments and bases.
type builtImage struct {
	lifecycle
	Name                 types.String  `tfsdk:"name"`
	Version              types.String  `tfsdk:"version"`
	Repository           types.String  `tfsdk:"repository"`
	Registry             types.Object  `tfsdk:"registry"`
	Platforms            types.List    `tfsdk:"platforms"`
	Labels               types.Map     `tfsdk:"labels"`
	Attestations         types.Object  `tfsdk:"attestations"`
	PackageIndex         types.Object  `tfsdk:"package_index"`
	Cache                types.Object  `tfsdk:"cache"`
	Attested             types.List    `tfsdk:"attested"`
	Digest               types.String  `tfsdk:"digest"`
	Manifests            types.Map     `tfsdk:"manifests"`
	Tag                  types.String  `tfsdk:"tag"`
	SizeBytes            types.Int64   `tfsdk:"size_bytes"`
	MediaType            types.String  `tfsdk:"media_type"`
	BuiltAt              types.String  `tfsdk:"built_at"`
	BuildDurationSeconds types.Float64 `tfsdk:"build_duration_seconds"`
}

// Format keeps what a configuration brings of passwords out of every way of printing.
func (builtImage) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "image") }

// builtImageAttributes merges the shared arguments and outputs with a resource's own attributes. made and base are what
// the resource's pages call the image and the one that it is made on.
func builtImageAttributes(ctx context.Context, made, base string, own map[string]schema.Attribute) map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{
		"name": schema.StringAttribute{Required: true, Validators: []validator.String{environmentName()},
			MarkdownDescription: "A name for people, 1 to 128 characters without line breaks; it appears in messages only. Changes in place."},
		"version": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("1"),
			Validators:          []validator.String{versionLabel()},
			MarkdownDescription: "A version for people, 1 to 64 letters, digits, `.`, `_` or `-`; it appears in the tag. A change puts the new tag and then removes the old one, and builds nothing. Default: `1`."},
		"repository": schema.StringAttribute{Required: true, Validators: []validator.String{repository()},
			MarkdownDescription: "The repository that takes the image, with its registry host: `registry.example.com/team/env`. It must exist where the registry does not make repositories by itself. Another repository replaces the " + made + "."},
		"registry": registryAttribute("The login for the host of `repository`."),
		"platforms": schema.ListAttribute{Optional: true, Computed: true, ElementType: types.StringType, Validators: []validator.List{noNulls{}},
			Default:             listdefault.StaticValue(stringList(environment.DefaultPlatform)),
			MarkdownDescription: "What to build for, in OCI spelling: `" + strings.Join(environment.Platforms, "`, `") + "`. " + base + " must have each, and the daemon must be able to run it. The contract knows `linux/amd64`, the default; the order has no meaning."},
		"labels": schema.MapAttribute{Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Labels of the image, beside those of " + lowered(base) + ". Names that start with `io.datalayer.` are the provider's, and what looks like a credential is refused. They are part of the cache key."},
		"attestations":  attestationsAttribute(),
		"package_index": packageIndexAttribute(),
		"cache":         buildCacheAttribute(),

		"attested": attestedAttribute(),
		"digest":   schema.StringAttribute{Computed: true, MarkdownDescription: "The digest of what was pushed: an index where there are `attestations` (the default) or several platforms, and a manifest for one platform without them. With provenance the index differs at each build; `manifests` holds what does not."},
		"manifests": schema.MapAttribute{Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Platform to the digest of its manifest, for runtimes that refuse an index."},
		"tag":                    schema.StringAttribute{Computed: true, MarkdownDescription: "`v<version>-<8 hex>`, for people and for registries that remove what has no tag. Never launch from it. Null after an import that found no single such tag."},
		"size_bytes":             schema.Int64Attribute{Computed: true, MarkdownDescription: "Compressed size in the registry: manifests, configs and layers of all platforms, each blob once."},
		"media_type":             schema.StringAttribute{Computed: true, MarkdownDescription: "The media type of what `digest` names."},
		"built_at":               schema.StringAttribute{Computed: true, MarkdownDescription: "When the build ended (RFC 3339); null after an import."},
		"build_duration_seconds": schema.Float64Attribute{Computed: true, MarkdownDescription: "How long build and push took; null after an import."},
	}
	maps.Copy(attributes, lifecycleAttributes(ctx, made))
	maps.Copy(attributes, own)
	return attributes
}

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

func (r *environmentResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A Datalayer environment: an OCI image built by BuildKit from a base pinned by digest and a hash-locked set of packages, and pushed to a registry. " +
			"Sandboxes are launched from `reference`, which names the image by its digest. A change of content builds a new image and replaces this one; use `create_before_destroy`.",
		Attributes: artifactAttributes(ctx, map[string]schema.Attribute{
			"name": schema.StringAttribute{Required: true, Validators: []validator.String{environmentName()},
				MarkdownDescription: "A name for people; it appears in messages only. Changes in place."},
			"version": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("1"),
				Validators:          []validator.String{versionLabel()},
				MarkdownDescription: "A version for people; it appears in the tag. A change puts the new tag and then removes the old one, and builds nothing. Default: `1`."},
			"repository": schema.StringAttribute{Required: true, Validators: []validator.String{repository()},
				MarkdownDescription: "The repository that takes the image, with its registry host: `registry.example.com/team/env`. It must exist where the registry does not make repositories by itself. Another repository replaces the artifact."},
			"registry": registryAttribute("The login for the host of `repository`."),
			"platforms": schema.ListAttribute{Optional: true, Computed: true, ElementType: types.StringType,
				Default:             listdefault.StaticValue(stringList(environment.DefaultPlatform)),
				MarkdownDescription: "What to build for, in OCI spelling. The base must have each, and the daemon must be able to run it. The contract knows `linux/amd64`, the default; the order has no meaning."},
			"labels": schema.MapAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Labels of the image, beside the base's own. Names that start with `io.datalayer.` are the provider's, and what looks like a credential is refused. They are part of the cache key."},
			"attestations":             attestationsAttribute(),
			"package_index":            packageIndexAttribute(),
			"cache":                    buildCacheAttribute(),
			"build_secrets_wo":         buildSecretsAttribute(),
			"build_secrets_wo_version": schema.Int64Attribute{Optional: true, MarkdownDescription: "Raise it to say that `build_secrets_wo` changed. A change updates in place and builds nothing."},

			"attested": attestedAttribute(),
			"digest":   schema.StringAttribute{Computed: true, MarkdownDescription: "The digest of what was pushed: a manifest for one platform, an index for several."},
			"manifests": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Platform to the digest of its manifest, for runtimes that refuse an index."},
			"tag":                    schema.StringAttribute{Computed: true, MarkdownDescription: "`v<version>-<8 hex>`, for people and for registries that remove what has no tag. Never launch from it. Null after an import that found no single such tag."},
			"size_bytes":             schema.Int64Attribute{Computed: true, MarkdownDescription: "Compressed size in the registry: manifests, configs and layers of all platforms, each blob once."},
			"media_type":             schema.StringAttribute{Computed: true, MarkdownDescription: "The media type of what `digest` names."},
			"built_at":               schema.StringAttribute{Computed: true, MarkdownDescription: "When the build ended (RFC 3339); null after an import."},
			"build_duration_seconds": schema.Float64Attribute{Computed: true, MarkdownDescription: "How long build and push took; null after an import."},
		}),
	}
}

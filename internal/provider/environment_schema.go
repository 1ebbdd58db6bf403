package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

func (r *environmentResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A Datalayer environment: an OCI image built by BuildKit from a base pinned by digest and a hash-locked set of packages, and pushed to a registry. " +
			"Sandboxes are launched from `reference`, which names the image by its digest. A change of content builds a new image and replaces this one; use `create_before_destroy`.",
		Attributes: builtImageAttributes(ctx, "artifact", "The base", artifactAttributes(map[string]schema.Attribute{
			"build_secrets_wo":         buildSecretsAttribute(),
			"build_secrets_wo_version": versionAttribute("Raise it to say that `build_secrets_wo` changed. A change updates in place and builds nothing. The builder's cache does not look at the values: a later build may take a step as it ended with the values of before, unless `rebuild_trigger` changes too."),
		})),
	}
}

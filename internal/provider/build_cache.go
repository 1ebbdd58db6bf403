package provider

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

func buildCacheAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true,
		MarkdownDescription: "Where finished steps of a build are kept beside the daemon's own cache: in registries, so that several daemons share them and a prune does not lose them. It decides how long a build takes, never what it makes: it is not part of the cache key, and a change updates in place and builds nothing. " +
			"The daemon takes the login for each host from where all logins come from.",
		Attributes: map[string]schema.Attribute{
			"import": schema.ListAttribute{Optional: true, ElementType: types.StringType, Validators: []validator.List{noNulls{}, listvalidator.ValueStringsAre(cacheSource())},
				MarkdownDescription: "The caches to look through, as `host/path:tag` or `host/path@sha256:…`. One that is not there or cannot be read is passed over, and the log says so."},
			"export": schema.StringAttribute{Optional: true, Validators: []validator.String{cacheTarget()},
				MarkdownDescription: "The tag that takes every step of the build (`mode=max`), as `host/path:tag`; it is overwritten at each build, also where it names an image, and destroy leaves it. With `platforms` on several daemons each exports to a tag of its own, `<tag>-<platform>` (`main-linux-arm64`), and `import` looks through those too. A cache that cannot be written fails no build: it is a warning. Whoever may write it decides what later builds take for their own steps, so keep it as closed as `repository`."},
		}}
}

func cacheSource() validator.String {
	return stringRule{"an image reference with a tag or digest", func(value string) error {
		ref, err := reference.Parse(value)
		if err == nil && ref.Tag == "" && ref.Digest == "" {
			err = &problem.Problem{Title: "Build cache without a tag or digest", Object: value, Advice: "Write host/path:tag or host/path@sha256:… ."}
		}
		return inForm("host/path:tag or host/path@sha256:…", value, err)
	}}
}

func cacheTarget() validator.String {
	return stringRule{"an image reference with a tag", func(value string) error {
		ref, err := reference.Parse(value)
		if err == nil && (ref.Tag == "" || ref.Digest != "") {
			err = &problem.Problem{Title: "Build cache is not exported to a tag", Object: value, Advice: "Write host/path:tag: the digest of a cache is known only once it is exported."}
		}
		return inForm("host/path:tag", value, err)
	}}
}

// buildCache is what a request says of caches.
func (m builtImage) buildCache(diagnostics *diag.Diagnostics) buildkit.Cache {
	var cache buildkit.Cache
	parse := func(text string) reference.Reference {
		ref, err := reference.Parse(text)
		if err != nil {
			appendProblems(diagnostics, err, "Build cache cannot be read")
		}
		return ref
	}
	for _, text := range texts(member[types.List](m.Cache, "import")) {
		cache.Imports = append(cache.Imports, parse(text))
	}
	if export := member[types.String](m.Cache, "export"); !export.IsNull() {
		cache.Export = parse(export.ValueString())
	}
	return cache
}

// warnOfCache says that a good image was built, and its steps not kept.
func warnOfCache(reason error, target reference.Reference, diagnostics *diag.Diagnostics) {
	if reason != nil {
		diagnostics.AddWarning("Build cache was not exported", fmt.Sprintf("The image is built and pushed. Its steps did not get into %s: %s. Check that the repository exists and that the login for %s may push to it; later builds go on from the daemon's own cache meanwhile.", target, reason, target.Host))
	}
}

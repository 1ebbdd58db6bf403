package provider

import (
	"context"
	"fmt"
	"io"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

func (r *baseImageResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	text := func(description string) schema.Attribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "A base image that satisfies `sandbox-contract/v1`, built by BuildKit on a plain Python or Debian image and pushed to a registry: user `datalayer` (1000:100) with its home and working directory, " +
			"`tini`, `C.UTF-8`, UTC, certificate authorities, a hash-locked kernel stack in the system site-packages, and a self-check in `/opt/datalayer`. " +
			"`reference` is the `base` of a `datalayer_environment`. A change of content builds a new image and replaces this one; use `create_before_destroy`.",
		Attributes: builtImageAttributes(ctx, "base image", "The image in `from`", map[string]schema.Attribute{
			"from": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{plainImage()},
				MarkdownDescription: "The parent image: a plain one that the base is made on, Debian or Ubuntu, by tag or digest: `host/path:tag` or `host/path@sha256:…`. A tag is resolved once, when the base is created, and what it was then stays in `from_digest`: no plan and no refresh asks for it again. To take what the tag is now, replace the base (`-replace`). Default: `" + base.DefaultFrom + "`, chosen when the base is created and kept for as long as it is."},
			"from_registry": sourceRegistryAttribute("from"),
			"python": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(base.PythonImage), Validators: []validator.String{pythonSource()},
				MarkdownDescription: "Where Python comes from: `image` (default) takes the one that `from` has on its `PATH`, with its pip; `apt` installs Debian's `python3` and `python3-pip` into an image that has none."},
			"kernel_lock": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{hashLocked()},
				MarkdownDescription: "The kernel stack: a hash-locked requirements file or a `pylock.toml` with `ipykernel`, `jupyter-client`, `jupyter-server` and all that they need. It is installed by pip into the system site-packages, never by apt. Comments, order and line ends have no meaning. Default: the lock that this release of the provider ships, for CPython 3.11 to 3.14, chosen when the base is created and kept for as long as it is: another release of the provider builds nothing by itself. Plan and state show the default by its `kernel_lock_digest`, not by its thousand lines. A base that is replaced for another reason gets the lock of the release that replaces it; write the lock here to choose for yourself."},

			"from_digest":        text("The digest of `from`: what its tag was when the base was created. Null for an imported image that does not tell it."),
			"kernel_lock_digest": text("Digest of the canonical form of `kernel_lock`, or of the default that was chosen. Null for an imported image that does not tell it."),
			"doctor_digest":      text("Digest of the self-check in the base. It belongs to the release of the provider that built the base, and never is a reason to build."),
			"python_version":     text("The Python of the base, as `major.minor`: for `python_version` of an environment. Null for an imported image that does not tell it."),
			"libc":               text("The C library of its Python, `glibc 2.36`: for `base_libc` of an environment. Null for a base that an earlier release made, for an imported image that does not tell it, and where its platforms differ."),
			"packages": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "The kernel stack as installed, name to version: for `base_packages` of an environment. Null for an imported image that does not tell it."},
			"reference": text("The base by its digest: for `base` of an environment. It never moves."),
			"cache_key": text("Digest of all that determines the content: `from_digest`, `python`, `kernel_lock_digest`, `doctor_digest`, `platforms` and `labels`. Another key replaces the base."),
		}),
	}
}

func plainImage() validator.String {
	return stringRule{"an image reference with a tag or digest", func(value string) error {
		ref, err := reference.Parse(value)
		if err == nil && ref.Tag == "" && ref.Digest == "" {
			err = &problem.Problem{Title: "Parent image without a tag or digest", Object: value, Advice: "Write host/path:tag or host/path@sha256:… ."}
		}
		return err
	}}
}

func pythonSource() validator.String {
	return textRule("Invalid python", fmt.Sprintf("%q or %q", base.PythonImage, base.PythonApt), oneOf(base.PythonImage, base.PythonApt))
}

// baseImageModel is the resource in plan and state.
type baseImageModel struct {
	builtImage
	From             types.String `tfsdk:"from"`
	FromRegistry     types.Object `tfsdk:"from_registry"`
	Python           types.String `tfsdk:"python"`
	KernelLock       types.String `tfsdk:"kernel_lock"`
	FromDigest       types.String `tfsdk:"from_digest"`
	KernelLockDigest types.String `tfsdk:"kernel_lock_digest"`
	DoctorDigest     types.String `tfsdk:"doctor_digest"`
	PythonVersion    types.String `tfsdk:"python_version"`
	Libc             types.String `tfsdk:"libc"`
	Packages         types.Map    `tfsdk:"packages"`
}

// Format keeps what a configuration brings of passwords out of every way of printing.
func (baseImageModel) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "base image") }

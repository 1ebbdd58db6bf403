package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/datasource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

var (
	_ datasource.DataSourceWithConfigure      = &imageDataSource{}
	_ datasource.DataSourceWithValidateConfig = &imageDataSource{}
)

func newImageDataSource() datasource.DataSource { return &imageDataSource{} }

type imageDataSource struct{ services *services }

func (d *imageDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_image"
}

func (d *imageDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	if s, ok := req.ProviderData.(*services); ok {
		d.services = s
	}
}

func (d *imageDataSource) Schema(ctx context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	text := func(description string) schema.Attribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	list := func(description string) schema.Attribute {
		return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Reads an image, or an index of images, from a registry without pulling its layers: what a tag points to now, which platforms and attestations it has, and which points of `sandbox-contract/v1` its config meets. " +
			"Pin `base` by the `reference` that it gives, and write that down: a tag that is read at each plan moves, and replaces what is built from it. The login is that of the provider's `registries`, of `aws` for a registry of Amazon ECR, or of the Docker configuration.",
		Attributes: map[string]schema.Attribute{
			"image": schema.StringAttribute{Required: true, Validators: []validator.String{namedReference()},
				MarkdownDescription: "The image, with its registry host, by tag (`host/path:tag`) or by digest (`host/path@sha256:…`; a tag before the `@` is ignored)."},
			"timeouts": imageTimeouts(ctx),

			"digest":     text("The digest of the manifest or index."),
			"reference":  text("The image by its digest: `host/path@sha256:…`. It never moves."),
			"media_type": text("The media type of what `digest` names."),
			"platforms":  list("The platforms (`linux/amd64`), sorted."),
			"manifests": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Platform to the digest of its manifest."},
			"size_bytes": schema.Int64Attribute{Computed: true, MarkdownDescription: "Compressed size in the registry: manifests, configs and layers of all platforms, each blob once."},
			"config": schema.MapNestedAttribute{Computed: true, MarkdownDescription: "Platform to what its config says.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"user":        text("The user of processes, as `user[:group]` by number or name; empty means root."),
					"working_dir": text("The working directory of processes; empty means `/`."),
					"env":         list("Environment variables, each `NAME=value`."),
					"entrypoint":  list("What is run, before `cmd` or the command that a sandbox is started with."),
					"cmd":         list("The command, where a sandbox is started with none."),
					"labels":      schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Labels, name to value."},
				}}},
			"attestations": schema.ListNestedAttribute{Computed: true, MarkdownDescription: "The in-toto statements that the index carries.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"platform":       text("The platform whose image it speaks of."),
					"predicate_type": text("What it says: `" + image.PredicateSPDX + "` (SBOM), `" + image.PredicateProvenance + "`."),
					"digest":         text("The digest of the statement, a blob of the repository."),
				}}},
			"contract": schema.SingleNestedAttribute{Computed: true,
				MarkdownDescription: "What can be told of `" + environment.Contract + "` without running the image. It is no proof: packages, files and the first process show themselves in a sandbox only.",
				Attributes: map[string]schema.Attribute{
					"version":        text("The contract that the image says it was built for, by the label `" + environment.LabelContract + "`; null without it. The labels of several platforms count where all agree."),
					"python_version": text("The Python that it says it has, by the label `" + environment.LabelPython + "`; null without it."),
					"cache_key":      text("The key of its content, by the label `" + environment.LabelCacheKey + "`; null without it."),
					"points": schema.ListNestedAttribute{Computed: true,
						MarkdownDescription: "The points that a config can show, in a fixed order. All but `architecture` are judged on `" + environment.DefaultPlatform + "`, or without it on the first platform.",
						NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
							"id":       text("`architecture`, `user`, `workdir`, `home`, `locale`, `timezone`, `entrypoint` (a command given to a sandbox must run), `volume`, `onbuild` and `stopsignal` (Modal implements none of the three)."),
							"met":      schema.BoolAttribute{Computed: true, MarkdownDescription: "Null where only a running sandbox can tell: a user given by name, an entrypoint that is a script, a variable that a file may stand in for."},
							"expected": text("What the contract asks for."),
							"actual":   text("What the config says."),
						}}},
				}},
		},
	}
}

func imageTimeouts(ctx context.Context) schema.Attribute {
	attribute := timeouts.AttributesWithOpts(ctx, timeouts.Opts{ReadDescription: timeoutDescription("read", "reading from the registry", readTimeout)})
	if nested, ok := attribute.(schema.SingleNestedAttribute); ok {
		nested.MarkdownDescription = "How long the read may take."
		if text, ok := nested.Attributes["read"].(schema.StringAttribute); ok {
			text.Validators = []validator.String{duration()}
			nested.Attributes["read"] = text
		}
		return nested
	}
	return attribute
}

func namedReference() validator.String {
	return stringRule{"an image reference with a tag or a digest", func(value string) error {
		_, err := reference.ParseNamed(value)
		return err
	}}
}

// ValidateConfig checks what the framework's timeouts do not: that they are positive.
func (d *imageDataSource) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	var limits timeouts.Value
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("timeouts"), &limits)...)
}

func (d *imageDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var model imageModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &model)...); resp.Diagnostics.HasError() {
		return
	}
	ctx, running := begin(ctx, "image", "read", types.StringNull(), model.Timeouts.Read, readTimeout, &resp.Diagnostics)
	defer running.end()
	ref, err := reference.ParseNamed(model.Image.ValueString())
	if err != nil {
		running.failed(err, "Image to read cannot be named")
		return
	}
	defer d.services.warn(&resp.Diagnostics)
	client := d.services.reader(nil, reads(ref.Repository))
	found, err := client.Inspect(ctx, ref)
	if err != nil {
		running.failed(d.explained(err, ref), "Image could not be read")
		return
	}
	statements, err := client.Attestations(ctx, ref.Repository, found)
	if err != nil {
		running.failed(err, "Attestations of the image could not be read")
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, model.described(ref.Repository, found, statements))...)
}

// explained says what of an error the configuration can answer for.
func (d *imageDataSource) explained(err error, ref reference.Reference) error {
	switch {
	case image.NotFound(err):
		return &problem.Problem{Title: "Image does not exist", Object: ref.String(), Cause: err,
			Advice: "Check host, path and tag or digest. A data source is read at plan, before anything is pushed, unless depends_on says what pushes the image."}
	case d.services.loginUnknown(ref.Host) && image.Denied(err):
		return advised(err, "The provider's registries or aws hold values that are not known until apply, so their logins could not be used here: give the data source depends_on, so that it is read at apply.")
	}
	return err
}

// imageModel is the data source in configuration and state.
type imageModel struct {
	Image        types.String   `tfsdk:"image"`
	Timeouts     timeouts.Value `tfsdk:"timeouts"`
	Digest       types.String   `tfsdk:"digest"`
	Reference    types.String   `tfsdk:"reference"`
	MediaType    types.String   `tfsdk:"media_type"`
	Platforms    types.List     `tfsdk:"platforms"`
	Manifests    types.Map      `tfsdk:"manifests"`
	SizeBytes    types.Int64    `tfsdk:"size_bytes"`
	Config       types.Map      `tfsdk:"config"`
	Attestations types.List     `tfsdk:"attestations"`
	Contract     types.Object   `tfsdk:"contract"`
}

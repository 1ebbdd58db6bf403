package provider

import (
	"fmt"
	"io"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// The arguments and outputs that every artifact has, whichever service keeps it.

// Required members of nested lists and maps are optional in the schema and checked by specReader: Terraform's own check
// takes them for missing where a whole entry is not known yet.

// artifactArguments are the arguments of the schema that all artifacts share.
type artifactArguments struct {
	Base           types.String `tfsdk:"base"`
	Lock           types.String `tfsdk:"lock"`
	PythonVersion  types.String `tfsdk:"python_version"`
	BasePackages   types.Map    `tfsdk:"base_packages"`
	Env            types.Map    `tfsdk:"env"`
	Files          types.List   `tfsdk:"files"`
	AptPackages    types.List   `tfsdk:"apt_packages"`
	PostInstall    types.List   `tfsdk:"post_install"`
	BaseRegistry   types.Object `tfsdk:"base_registry"`
	RebuildTrigger types.Map    `tfsdk:"rebuild_trigger"`
}

// Format keeps the password of base_registry out of every way of printing.
func (artifactArguments) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "artifact") }

// artifactOutputs are the outputs of the schema that all artifacts share.
type artifactOutputs struct {
	Artifact   types.Object `tfsdk:"artifact"`
	SpecDigest types.String `tfsdk:"spec_digest"`
	LockDigest types.String `tfsdk:"lock_digest"`
	Packages   types.Map    `tfsdk:"packages"`
}

var artifactType = map[string]attr.Type{
	"variant": types.StringType, "reference": types.StringType, "contract": types.StringType, "cache_key": types.StringType,
	"python_version": types.StringType, "packages": types.MapType{ElemType: types.StringType}, "env": types.MapType{ElemType: types.StringType},
}

// artifactAttributes merges the shared arguments and outputs with a variant's own attributes.
func artifactAttributes(own map[string]schema.Attribute) map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{}
	maps.Copy(attributes, sharedArguments())
	maps.Copy(attributes, sharedOutputs())
	maps.Copy(attributes, own)
	return attributes
}

func sharedArguments() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"base": schema.StringAttribute{Required: true, Validators: []validator.String{pinnedReference()},
			MarkdownDescription: "The base image, pinned by digest: `host/path@sha256:…` (a tag before the `@` is allowed and ignored). It satisfies `sandbox-contract/v1`. Another digest replaces the artifact; another repository with the same digest does not."},
		"lock": schema.StringAttribute{Optional: true, Validators: []validator.String{hashLocked()},
			MarkdownDescription: "A hash-locked requirements file, as `uv pip compile --generate-hashes` or `pip-compile --generate-hashes` write it, or a `pylock.toml` (PEP 751). It is installed as root into the system site-packages, without dependencies that it does not name. Comments, order and line ends have no meaning. Without it nothing is installed and `packages` is `{}`; an empty string is an error."},
		"python_version": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{pythonVersion()},
			MarkdownDescription: "The Python of the base, as `major.minor`. Set it so that markers in the lock can be evaluated at plan; the build fails if the base has another. Default: what the base has. It is not part of the cache key."},
		"base_packages": schema.MapAttribute{Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Packages that the base has, name to version. With it the plan refuses a lock that would replace the kernel stack (`ipykernel`, `jupyter-client`, `jupyter-server`) by another version; without it such a lock is installed. It is not part of the cache key."},
		"env": schema.MapAttribute{Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Environment variables written into the artifact. `HOME`, `PATH`, `LANG`, `LC_ALL`, `TZ`, `PYTHONHOME`, `PYTHONPATH` and `LD_*` are refused, and so are values with line breaks or other control characters, and what looks like a credential by its name or value (a URL with a password too): the artifact is readable by all who can pull it."},
		"files": schema.ListNestedAttribute{Optional: true,
			MarkdownDescription: "Files written after the packages are installed, owned by 1000:100. At most 32, 1 MiB each, 8 MiB together. Missing folders are made with the same owner and mode 0755. The order has no meaning.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"path":           schema.StringAttribute{Optional: true, MarkdownDescription: "Required. Absolute, clean path below `/home/datalayer/`, `/opt/` or `/srv/`, not in `/opt/datalayer`."},
				"content":        schema.StringAttribute{Optional: true, MarkdownDescription: "The content as text. Exactly one of `content` and `content_base64` is set."},
				"content_base64": schema.StringAttribute{Optional: true, MarkdownDescription: "The content in base64, for bytes that are not text."},
				"mode":           schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("0644"), MarkdownDescription: "Permission bits, three octal digits with an optional leading zero. Default: `0644`."},
			}}},
		"apt_packages": schema.ListAttribute{Optional: true, ElementType: types.StringType, Validators: []validator.List{noNulls{}},
			MarkdownDescription: "Debian packages to install before the lock, each `name` or `name=version`, without an architecture. The order has no meaning. An archive moves: without versions two builds can differ, and a builder that has this step in its cache does not ask the archive again; a new `rebuild_trigger` makes it."},
		"post_install": schema.ListNestedAttribute{Optional: true,
			MarkdownDescription: "Shell commands run last, in this order, as 1000:100 in `/home/datalayer/content`, with `env` set. At most 32.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"command": schema.StringAttribute{Optional: true, MarkdownDescription: "Required. Given to `/bin/sh -c`; it may span lines."},
				"network": schema.BoolAttribute{Optional: true, MarkdownDescription: "Network access during the command: `true` gives the daemon's network, with the proxies of the Terraform process (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`) and, where `DATALAYER_CA_BUNDLE` is set, its certificates as `/run/secrets/datalayer-ca-bundle`, which the command itself has to name (`curl --cacert`). Default: cut off."},
			}}},
		"base_registry": sourceRegistryAttribute("base"),
		"rebuild_trigger": schema.MapAttribute{Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Any values; a change replaces the artifact though its content did not change. It also runs `apt_packages` and the `post_install` commands with `network = true` anew, which the builder's cache would answer otherwise: what they reach may have moved. `-replace` alone takes finished steps from that cache. It is in no layer and not part of the cache key, so what did not move gives the same image again."},
	}
}

func sharedOutputs() map[string]schema.Attribute {
	text := func(description string) schema.Attribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"artifact": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "All that a launcher needs to know of the artifact, in one object.",
			Attributes: map[string]schema.Attribute{
				"variant":        text("`datalayer`."),
				"reference":      text("As `reference`."),
				"contract":       text("The contract that the image was built for; the base is not checked against it. Null after the import of an image that does not say."),
				"cache_key":      text("As `cache_key`."),
				"python_version": text("As `python_version`."),
				"packages":       schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "As `packages`."},
				"env":            schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Variables that a launcher must pass when it starts a sandbox. Always `{}`: the image itself carries `env`."},
			}},
		"reference":   text("What a sandbox is launched from. It never moves."),
		"cache_key":   text("Digest of all that determines the content: `env`, `files`, `apt_packages`, `post_install`, the lock, the digest of the base, `platforms` and `labels`. Another key replaces the artifact."),
		"spec_digest": text("Digest of `env`, `files`, `apt_packages` and `post_install`."),
		"lock_digest": text("Digest of the lock's canonical form; null without a lock."),
		"packages":    schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "The packages installed from the lock, name to version; null for an imported image that does not tell them."},
	}
}

package provider

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/resolve"
)

const (
	runnerLocal    = "local"
	runnerBuildkit = "buildkit"
)

// lockTimeout bounds a resolution where timeouts does not.
const lockTimeout = 15 * time.Minute

func (r *packageLockResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	computed := func(description string) schema.Attribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "A lock: requirements resolved by [uv](https://docs.astral.sh/uv/) to a set of packages with hashes, for one Python and platform. The result is kept in state. A plan never resolves by itself, and refresh and destroy ask nothing of the network: " +
			"only create, and an update in which an argument that decides the content changed, run uv. Every change is in place.",
		Attributes: map[string]schema.Attribute{
			"requirements": schema.ListAttribute{Required: true, ElementType: types.StringType, Validators: []validator.List{noNulls{}},
				MarkdownDescription: "What to resolve, one requirement by PEP 508 an entry: `numpy`, `pandas[excel]>=2,<4`. Options, paths, version-control URLs and URLs with a login are refused. Entries that are blank or a comment are passed over, so `split(\"\\n\", file(\"requirements.in\"))` works. Order, comments and spelling have no meaning. A change resolves again."},
			"constraints": schema.ListAttribute{Optional: true, ElementType: types.StringType, Validators: []validator.List{noNulls{}},
				MarkdownDescription: "Requirements that bound the versions of packages without asking for them, in the same form. A change resolves again."},
			"base": schema.StringAttribute{Optional: true, Validators: []validator.String{pinnedReference()},
				MarkdownDescription: "The base that the lock is for, pinned by digest. `python_version` and `python_platform` are read from it, and its `ipykernel`, `jupyter-client` and `jupyter-server` become constraints at its versions, so that the lock leaves the kernel stack alone. Another digest resolves again; another repository with the same digest does not."},
			"base_registry": lockRegistryAttribute(),
			"python_version": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{pythonVersion()},
				MarkdownDescription: "The target's Python, `3.13`. Required without `base`; else read from it when the lock is made, and kept. One that `base` does not have is an error at apply. A change resolves again."},
			"python_platform": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{pythonPlatform()},
				MarkdownDescription: "The target's platform by uv's name, such as `x86_64-manylinux_2_28` or `aarch64-manylinux_2_36`. Required without `base`; else the newest that the base's glibc runs, read when the lock is made, and kept. A change resolves again."},
			"index": lockIndexAttribute(),
			"only_binary": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true),
				MarkdownDescription: "Whether to take wheels alone. Source distributions run their code where uv runs, and again as root in the build of an environment, whose base must have what builds them: the build backend and, for machine code, a compiler. Their code can read the login of `index`: the plan warns. Default: `true`. A change resolves again."},
			"exclude_newer": schema.StringAttribute{Optional: true, Validators: []validator.String{timestamp()},
				MarkdownDescription: "Leaves out files that were uploaded after this time (RFC 3339), and those of which the index does not tell when they were. Another instant resolves again."},
			"upgrade_trigger": schema.MapAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Any values; a change resolves all anew. Any other change keeps each locked version that still fits, as uv does with a lock that is there."},
			"runner": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{lockRunner()},
				MarkdownDescription: fmt.Sprintf("Where uv runs. `%s`: in a throw-away step on `base`, on the provider's BuildKit daemon, with the uv %s whose hashes this release ships; no image is pushed, and no program is needed here. `%s`: on the machine that runs Terraform, which needs uv and a Python of any version. Default: `%s` with `base`, else `%s`. A change resolves nothing.", runnerBuildkit, resolve.UVVersion, runnerLocal, runnerBuildkit, runnerLocal)},
			"uv_path": schema.StringAttribute{Optional: true,
				MarkdownDescription: fmt.Sprintf("The path of uv's program, for the runner `%s`. Default: `uv` on the `PATH`. A change resolves nothing.", runnerLocal)},
			"uv_version": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{uvVersion()},
				MarkdownDescription: fmt.Sprintf("The version that uv must be of; another is an error at apply. Default: %s, which is that of this release of the provider; the runner `%s` takes no other. Kept until something else resolves again. A configured change resolves again.", resolve.UVVersion, runnerBuildkit)},
			"timeouts": lockTimeouts(ctx),

			"content":     computed("The lock: for `lock` of an environment. One requirement a line with all its hashes, sorted by name, below two comments that name its Python and platform, which `datalayer_environment` holds against its base. No path is in it, and no address but that of a requirement by URL."),
			"digest":      computed("The digest of the lock: `lock_digest` of an environment with it. The comments in `content` are no part of it."),
			"packages":    schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "The locked packages, name to version."},
			"resolved_at": computed("When the lock was made (RFC 3339)."),
		},
	}
}

// lockIndexAttribute is package_index of an environment, with more than one address.
func lockIndexAttribute() schema.Attribute {
	attribute, _ := packageIndexAttribute().(schema.SingleNestedAttribute)
	attribute.MarkdownDescription = "The package index (PEP 503) to resolve from, in place of PyPI. Another address resolves again; a change of login or certificates does not."
	attribute.Attributes = maps.Clone(attribute.Attributes)
	for name, own := range map[string]schema.Attribute{
		"url":                 schema.StringAttribute{Required: true, MarkdownDescription: "The simple index, as seen from where uv runs: `https://packages.example.com/simple/`. A login, a query and a fragment in it are refused."},
		"ca_certificates":     schema.StringAttribute{Optional: true, MarkdownDescription: "PEM certificates that uv trusts, in place of all others; with `extra_urls`, for those too."},
		"password_wo":         schema.StringAttribute{Optional: true, WriteOnly: true, Sensitive: true, MarkdownDescription: "The password or token. Write-only; it is given to uv in its environment, which sends it to the host of `url` alone, and is in no file, log or lock. With `only_binary = false` the code of source distributions can read it."},
		"password_wo_version": versionAttribute("Raise it to say that the password changed. A change updates in place and resolves nothing."),
		"extra_urls": schema.ListAttribute{Optional: true, ElementType: types.StringType, Validators: []validator.List{noNulls{}},
			MarkdownDescription: "Further indexes, asked in this order after `url`. A package comes from the first index that has it, so that no other can put one of the same name in its place. Without a login."},
	} {
		attribute.Attributes[name] = own
	}
	return attribute
}

func lockRegistryAttribute() schema.Attribute {
	attribute, _ := sourceRegistryAttribute("base").(schema.SingleNestedAttribute)
	attribute.MarkdownDescription = "The login for the host of `base`: `username` and `password_wo`, or `role_arn` for an image on Amazon ECR. It goes before the provider's `registries` and `aws` and the Docker configuration. A change resolves nothing."
	attribute.Attributes = maps.Clone(attribute.Attributes)
	attribute.Attributes["password_wo_version"] = versionAttribute("Raise it to say that the password changed. A change updates in place and resolves nothing.")
	attribute.Attributes["role_arn"] = schema.StringAttribute{Optional: true, Validators: []validator.String{roleARN()},
		MarkdownDescription: "The ARN of an IAM role that may read the base. It is assumed to resolve, with a session policy that allows pulls from its repository and nothing else; who assumes it, and for how long, is as in the provider's `registries[…].ecr` and `aws`."}
	return attribute
}

func lockTimeouts(ctx context.Context) schema.Attribute {
	description := func(name string) string {
		return timeoutDescription(name, "resolving", lockTimeout)
	}
	attribute := timeouts.Attributes(ctx, timeouts.Opts{Create: true, CreateDescription: description("create"), Update: true, UpdateDescription: description("update")})
	return withDurations(attribute)
}

func lockRunner() validator.String {
	return textRule("Invalid runner", fmt.Sprintf("%q or %q", runnerBuildkit, runnerLocal), oneOf(runnerBuildkit, runnerLocal))
}

var uvVersionPattern = lazyregexp.New(`^\d+\.\d+\.\d+$`)

func uvVersion() validator.String {
	return textRule("Invalid uv_version", fmt.Sprintf("a version such as %q", resolve.UVVersion), uvVersionPattern.MatchString)
}

func pythonPlatform() validator.String {
	return stringRule{"uv's name of a Linux target", resolve.ValidatePlatform}
}

func timestamp() validator.String {
	return stringRule{"a time by RFC 3339", func(value string) error {
		if _, err := time.Parse(time.RFC3339, value); err != nil {
			return &problem.Problem{Title: "Invalid exclude_newer", Object: fmt.Sprintf("%q", value), Advice: "Write a time with its zone, such as \"2026-11-30T00:00:00Z\"."}
		}
		return nil
	}}
}

// packageLockModel is the resource in plan and state.
type packageLockModel struct {
	Requirements   types.List     `tfsdk:"requirements"`
	Constraints    types.List     `tfsdk:"constraints"`
	Base           types.String   `tfsdk:"base"`
	BaseRegistry   types.Object   `tfsdk:"base_registry"`
	PythonVersion  types.String   `tfsdk:"python_version"`
	PythonPlatform types.String   `tfsdk:"python_platform"`
	Index          types.Object   `tfsdk:"index"`
	OnlyBinary     types.Bool     `tfsdk:"only_binary"`
	ExcludeNewer   types.String   `tfsdk:"exclude_newer"`
	UpgradeTrigger types.Map      `tfsdk:"upgrade_trigger"`
	Runner         types.String   `tfsdk:"runner"`
	UVPath         types.String   `tfsdk:"uv_path"`
	UVVersion      types.String   `tfsdk:"uv_version"`
	Timeouts       timeouts.Value `tfsdk:"timeouts"`
	Content        types.String   `tfsdk:"content"`
	Digest         types.String   `tfsdk:"digest"`
	Packages       types.Map      `tfsdk:"packages"`
	ResolvedAt     types.String   `tfsdk:"resolved_at"`
}

// Format keeps what a configuration brings of passwords out of every way of printing.
func (packageLockModel) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "package lock") }

// instant compares times, not their spelling; what is no time is compared as it is.
func instant(text string) string {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC().Format(time.RFC3339Nano)
	}
	return strings.TrimSpace(text)
}

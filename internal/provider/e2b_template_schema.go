package provider

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/numberdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
)

// What E2B itself takes where a build says nothing.
const (
	defaultCPUCount = 2
	defaultMemoryMB = 1024
)

// templateTimeout bounds a build: E2B ends one after an hour itself, and it may wait for a slot before.
const templateTimeout = "90m"

var interpreterType = map[string]attr.Type{"source": types.StringType, "commit": types.StringType, "edit_digest": types.StringType}

func (r *templateResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A Datalayer environment as an E2B template, built by E2B from the same arguments as `datalayer_environment`. Sandboxes are launched from `reference`, which names one build and never moves. " +
			"A change of content builds the template anew **in place**: it keeps its id, the new build gets an id of its own, and earlier builds still launch by theirs.",
		Attributes: artifactAttributes(templateAttributes(ctx)),
	}
}

// IdentitySchema is what tells one template from all others, for as long as it exists.
func (r *templateResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"template_id": identityschema.StringAttribute{RequiredForImport: true, Description: "The id of the template at E2B."},
	}}
}

// templateAttributes are a template's own attributes, and the shared ones that mean something of their own there.
func templateAttributes(ctx context.Context) map[string]schema.Attribute {
	attributes := lifecycleAttributes(ctx, "template")
	for name, own := range map[string]schema.Attribute{
		"name": schema.StringAttribute{Required: true, Validators: []validator.String{templateName()},
			MarkdownDescription: "The template's name in the team: 1 to 128 characters of `a-z`, `0-9`, `-` and `_`. E2B lower-cases and trims other spellings, so they are refused. Another name replaces the template."},
		"cpu_count": schema.NumberAttribute{Optional: true, Computed: true, Default: numberdefault.StaticBigFloat(big.NewFloat(defaultCPUCount)), Validators: []validator.Number{cpuCount()},
			MarkdownDescription: fmt.Sprintf("Cores of a sandbox: 1 or an even number up to 32, within what the team may have. Part of the cache key. Default: %d.", defaultCPUCount)},
		"memory_mb": schema.NumberAttribute{Optional: true, Computed: true, Default: numberdefault.StaticBigFloat(big.NewFloat(defaultMemoryMB)), Validators: []validator.Number{memoryMB()},
			MarkdownDescription: fmt.Sprintf("Memory of a sandbox in MiB: an even number from 128, within what the team may have. Part of the cache key. Default: %d.", defaultMemoryMB)},
		"tags": schema.SetAttribute{Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Tags for people, put on the build once it is ready, and so moved there if another build had them: 1 to 128 characters of `a-z`, `0-9`, `-`, `_` and `.`, no UUID, not `default` and not beginning with `dl-`. Never launch from them. One that was moved elsewhere is drift; E2B does not tell so while its newest build is not ready. A change builds nothing."},
		"move_default_tag": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true),
			MarkdownDescription: "Whether `default`, which a bare template name means, is put on each build once it is ready. A `default` that was moved elsewhere is then drift. Default: `true`."},
		"force": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			MarkdownDescription: "Whether a build runs all its steps anew, whatever the team's layer cache holds. It makes no build by itself. Default: `false`."},
		"start_command": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{command()},
			MarkdownDescription: "A command that E2B runs once, at the end of the build, as `datalayer` in `/home/datalayer/content`; what it started is part of the snapshot that sandboxes begin from. Part of the cache key. Default: `" + e2b.StartCommand + "`, which starts the code-interpreter server; a command of your own has to start it itself."},
		"ready_command": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{command()},
			MarkdownDescription: "A command that E2B repeats for up to ten minutes, until it succeeds. Part of the cache key. Default: that the code-interpreter server answers."},
		"code_interpreter": schema.SingleNestedAttribute{Optional: true, Computed: true,
			MarkdownDescription: "E2B's code-interpreter server, which is taken file by file from a pinned commit, each checked on its digest, edited for the contract, and installed in a venv of its own.",
			Attributes: map[string]schema.Attribute{
				"source": schema.StringAttribute{Optional: true, Validators: []validator.String{interpreterSource()},
					MarkdownDescription: "Where the files come from: an `https` address of the repository's files, in which `{commit}` stands for the commit, read by E2B's builder; or the folder of a checkout on the machine that runs Terraform, which is read when the template is built, for builders without a way out. The server's packages do not come from there, but from the index of the base's pip, as those of `lock` do. It is not part of the cache key. Default: `" + e2b.InterpreterSource + "`."},
				"commit": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{interpreterCommit()},
					MarkdownDescription: "The commit of `github.com/e2b-dev/code-interpreter`. Part of the cache key. Default: that of this release when the template is built; a later release does not build it anew by itself."},
				"edit_digest": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{interpreterEdit()},
					MarkdownDescription: "Digest of what is laid over the commit: the edit, the server's packages, Jupyter's configuration, the start program. Part of the cache key. Default: as for `commit`."},
			}},
		"public": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			MarkdownDescription: "Whether every team at E2B may launch the template. Default: `false`."},

		"template_id": computedText("The template's id at E2B. It stays over rebuilds."),
		"build_id":    computedText("The build that `reference` launches."),
		"team":        computedText("The slug of the team that the API key belongs to."),
		"create_env": schema.MapAttribute{Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Variables to pass when a sandbox is created: `env` and the locale of the contract. E2B keeps none of a template's variables for the processes of its sandboxes."},
		"build_ids": schema.ListAttribute{Computed: true, ElementType: types.StringType,
			MarkdownDescription: "The builds that this resource made and that still launch, the newest last. A refresh drops those that E2B no longer lists: nothing launches a build that lost its last tag. No call removes one alone; destroy removes all."},
		"timeouts": templateTimeouts(ctx),
		"retained": schema.ListNestedAttribute{Computed: true, MarkdownDescription: "What stays at E2B after destroy, because no call removes it: the team's cache of layers and of uploaded files.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"what": computedText("`layer cache`."), "where": computedText("The team."), "id": computedText("The base that the layers are on."), "removable_by": computedText("Who can remove it, and how."),
			}}},
	} {
		attributes[name] = own
	}
	attributes["credential_expires_at"] = computedText("When the last login that E2B was given ends (RFC 3339): E2B pulls the base with a user and a password, for Amazon ECR with a login token that lives 12 hours. Null for logins that are not known to end.")
	return redescribed(attributes)
}

// redescribed adds the shared attributes that mean something of their own here.
func redescribed(attributes map[string]schema.Attribute) map[string]schema.Attribute {
	shared := artifactAttributes(nil)
	for name, text := range map[string]string{
		"base":            "The base image, pinned by digest: `host/path@sha256:…`. E2B pulls it, so it must be reachable from there. It satisfies `sandbox-contract/v1`. Another digest builds the template anew; another repository with the same digest does not.",
		"env":             "Environment variables of the start command, of kernels and of `post_install`. E2B gives them to no other process of a sandbox: pass `create_env` when one is created. `HOME`, `PATH`, `LANG`, `LC_ALL`, `TZ`, `PYTHONHOME`, `PYTHONPATH` and `LD_*` are refused, and so are values with line breaks or other control characters, and what looks like a credential.",
		"lock":            "A hash-locked requirements file, or a `pylock.toml` (PEP 751), installed as root into the system site-packages by the base's own pip, from the index that its `/etc/pip.conf` names, else from PyPI: E2B prints the arguments of its steps, so there is no login for another index here. For private packages build them into a base first (`base = datalayer_environment.x.reference` and `env = datalayer_environment.x.env`, without `lock`). Comments, order and line ends have no meaning. Without it nothing is installed.",
		"rebuild_trigger": "Any values; a change builds the template anew in place though its content did not change. It also runs `apt_packages` and `post_install` anew, which the team's layer cache would answer otherwise: what they reach may have moved. It is not part of the cache key.",
		"reference":       "What a sandbox is launched from: `<team>/<name>:<build id>`. It never moves.",
		"cache_key":       "Digest of all that determines the content: `env`, `files`, `apt_packages`, `post_install`, the lock, the digest of the base, `cpu_count`, `memory_mb`, `start_command`, `ready_command` and `code_interpreter`. Another key builds the template anew in place.",
		"packages":        "The packages installed from the lock, name to version; null for an imported template.",
	} {
		attributes[name] = described(shared[name], text)
	}
	if commands, ok := shared["post_install"].(schema.ListNestedAttribute); ok {
		commands.NestedObject.Attributes["network"] = schema.BoolAttribute{Optional: true, MarkdownDescription: "E2B cuts no step off the network, so `false` is refused, and `true` changes nothing but `spec_digest`, which is equal on all services, and with it the cache key. Default: with network."}
		attributes["post_install"] = commands
	}
	if login, ok := shared["base_registry"].(schema.SingleNestedAttribute); ok {
		login.MarkdownDescription = "The login that E2B pulls `base` with: `username` and `password_wo`, or `role_arn` for an image on Amazon ECR. It goes before the provider's `registries` and `aws` and the Docker configuration, and is used for builds alone."
		login.Attributes["role_arn"] = described(login.Attributes["role_arn"], "The ARN of an IAM role that may read the image. It is assumed for each build, with a session policy that allows pulls from its repository and nothing else, and E2B is given the login token that comes from it.")
		attributes["base_registry"] = login
	}
	if artifact, ok := shared["artifact"].(schema.SingleNestedAttribute); ok {
		artifact.Attributes["variant"] = computedText("`e2b`.")
		artifact.Attributes["env"] = schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "As `create_env`."}
		artifact.Attributes["contract"] = computedText("The contract that the template was built for. Null after an import.")
		attributes["artifact"] = artifact
	}
	return attributes
}

// described is the attribute with another description.
func described(attribute schema.Attribute, text string) schema.Attribute {
	switch a := attribute.(type) {
	case schema.StringAttribute:
		a.MarkdownDescription = text
		return a
	case schema.MapAttribute:
		a.MarkdownDescription = text
		return a
	}
	return attribute
}

func computedText(description string) schema.Attribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func templateTimeouts(ctx context.Context) schema.Attribute {
	const build = "may take, with the wait for a free slot of the team; E2B itself ends a build after an hour. A duration such as `\"90s\"` or `\"30m\"`."
	attribute := timeouts.Attributes(ctx, timeouts.Opts{
		Create: true, CreateDescription: fmt.Sprintf("How long a build %s Default of `create`: `%s`.", build, templateTimeout),
		Read: true, ReadDescription: timeoutDescription("read", "refresh", readTimeout),
		Update: true, UpdateDescription: fmt.Sprintf("How long a build that an update makes %s Default of `update`: `%s`.", build, templateTimeout),
		Delete: true, DeleteDescription: timeoutDescription("delete", "destroy, with its wait for sandboxes to end,", deleteTimeout),
	})
	return withDurations(attribute)
}

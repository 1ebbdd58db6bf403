package provider

import (
	"context"
	"net/url"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

func packageIndexAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true,
		MarkdownDescription: "The package index (PEP 503) that the lock is installed from, in place of all that the base's pip configuration says. A change updates in place and builds nothing: what is installed is held against the lock's hashes wherever it comes from. It is not part of the cache key.",
		Attributes: map[string]schema.Attribute{
			"url":                 schema.StringAttribute{Required: true, MarkdownDescription: "The simple index, as seen from the daemon's machine: `https://packages.example.com/simple/`. A login, a query and a fragment in it are refused. An `http://` address is taken too: the lock's hashes protect what comes from it, and nothing protects the login."},
			"ca_certificates":     schema.StringAttribute{Optional: true, MarkdownDescription: "PEM certificates (text, not a path) that pip trusts for it, in place of all others."},
			"username":            schema.StringAttribute{Optional: true, MarkdownDescription: "The user name, if the index asks for a login."},
			"password_wo":         schema.StringAttribute{Optional: true, WriteOnly: true, Sensitive: true, MarkdownDescription: "The password or token. Write-only; it reaches the build as a secret mount and is in no layer, log or attestation. pip has it while it builds a source distribution of the lock, whose code can read it."},
			"password_wo_version": versionAttribute("Raise it to say that the password changed. A change updates in place and builds nothing."),
		}}
}

func buildSecretsAttribute() schema.Attribute {
	return schema.MapAttribute{Optional: true, WriteOnly: true, ElementType: types.StringType, // Not Sensitive: a new mark would plan a change of every state that an earlier release wrote.
		MarkdownDescription: "Secrets for the `apt_packages` and `post_install` steps: each is the file `/run/secrets/<key>`, mode 0400, readable by the step's user alone. Write-only; in no layer, log or attestation, unless a command writes it there. A key is 1 to 128 letters, digits, `.`, `_` or `-`, the first a letter, digit or `_`, and does not start with `datalayer-`. A value has at most 500 KiB. In logs and errors it is masked, and so is each of its lines, unless it is shorter than 4 bytes, which would mask ordinary words."}
}

// packageIndex reads the index from the configuration: write-only values are in no plan.
func packageIndex(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics) *buildkit.PackageIndex {
	var block types.Object
	if diagnostics.Append(config.GetAttribute(ctx, path.Root("package_index"), &block)...); block.IsNull() {
		return nil
	}
	appendProblems(diagnostics, missingSecrets(ctx, config, diagnostics, "package_index").Err(), "Package index without its login")
	address, err := url.Parse(member[types.String](block, "url").ValueString())
	if err != nil {
		appendProblems(diagnostics, err, "Package index cannot be read")
		return nil
	}
	return &buildkit.PackageIndex{
		URL: address, CACertificates: []byte(member[types.String](block, "ca_certificates").ValueString()),
		Username: member[types.String](block, "username").ValueString(), Password: secret.New(member[types.String](block, "password_wo").ValueString()),
	}
}

// buildSecrets reads the secrets of steps from the configuration: write-only values are in no plan.
func buildSecrets(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics) map[string]secret.Value {
	var values types.Map
	diagnostics.Append(config.GetAttribute(ctx, path.Root("build_secrets_wo"), &values)...)
	appendProblems(diagnostics, missingSecrets(ctx, config, diagnostics, "build_secrets_wo").Err(), "Build secrets without a value")
	secrets := map[string]secret.Value{}
	for name, text := range stringMap(values) {
		secrets[name] = secret.New(text)
	}
	return secrets
}

package provider

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// secretName is what names a file under /run/secrets; those that start with datalayer- are the builder's own.
var secretName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

func packageIndexAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true,
		MarkdownDescription: "The package index (PEP 503) that the lock is installed from, in place of all that the base's pip configuration says. A change updates in place and builds nothing: what is installed is held against the lock's hashes wherever it comes from. It is not part of the cache key.",
		Attributes: map[string]schema.Attribute{
			"url":                 schema.StringAttribute{Required: true, Validators: []validator.String{indexURL()}, MarkdownDescription: "The simple index, as seen from the daemon's machine: `https://packages.example.com/simple/`. A login in it is refused. An `http://` address is taken too: the lock's hashes protect what comes from it, and nothing protects the login."},
			"ca_certificates":     schema.StringAttribute{Optional: true, MarkdownDescription: "PEM certificates (text, not a path) that pip trusts for it, in place of all others."},
			"username":            schema.StringAttribute{Optional: true, MarkdownDescription: "The user name, if the index asks for a login."},
			"password_wo":         schema.StringAttribute{Optional: true, WriteOnly: true, Sensitive: true, MarkdownDescription: "The password or token. Write-only; it reaches the build as a secret mount and is in no layer, log or attestation."},
			"password_wo_version": schema.Int64Attribute{Optional: true, MarkdownDescription: "Raise it to say that the password changed. A change updates in place and builds nothing."},
		}}
}

func buildSecretsAttribute() schema.Attribute {
	return schema.MapAttribute{Optional: true, WriteOnly: true, ElementType: types.StringType, // Not Sensitive: a new mark would plan a change of every state that an earlier release wrote.
		MarkdownDescription: "Secrets for the `apt_packages` and `post_install` steps: each is the file `/run/secrets/<key>`, mode 0400, readable by the step's user alone. Write-only; in no layer, log or attestation, unless a command writes it there. A key is letters, digits, `.`, `_` or `-`, and does not start with `datalayer-`."}
}

func indexURL() validator.String {
	return stringRule{"an https:// or http:// URL without a login", func(value string) error {
		parsed, err := url.Parse(value)
		if err != nil || parsed.Hostname() == "" || parsed.Scheme != "https" && parsed.Scheme != "http" || !validPort(parsed.Port()) || strings.ContainsFunc(value, unicode.IsSpace) {
			return &problem.Problem{Title: "Invalid package index", Cause: errors.New("the address is no https:// or http:// URL"), Advice: "Write the address of a simple index, such as https://packages.example.com/simple/."}
		}
		if parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
			return &problem.Problem{Title: "Login in the address of the package index", Object: parsed.Scheme + "://" + parsed.Host + parsed.Path, Advice: "Give it in username and password_wo, which reach no state and no log."}
		}
		return nil
	}}
}

// packageIndex reads the index from the configuration: write-only values are in no plan.
func packageIndex(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics) *buildkit.PackageIndex {
	var block types.Object
	if diagnostics.Append(config.GetAttribute(ctx, path.Root("package_index"), &block)...); block.IsNull() {
		return nil
	}
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
	secrets := map[string]secret.Value{}
	for name, text := range stringMap(values) {
		secrets[name] = secret.New(text)
	}
	return secrets
}

// validatePackageIndex checks what spans its members, and the certificates. Terraform asks again at apply, when all is known.
func validatePackageIndex(index types.Object, diagnostics *diag.Diagnostics) {
	fault := func(title, object, advice string, at ...any) {
		appendProblems(diagnostics, &problem.Problem{Title: title, Path: append([]any{"package_index"}, at...), Object: object, Advice: advice}, title)
	}
	known := func(v types.String) bool { return !v.IsNull() && !v.IsUnknown() }
	username, password := member[types.String](index, "username"), member[types.String](index, "password_wo")
	certificates := member[types.String](index, "ca_certificates")
	if known(certificates) && !x509.NewCertPool().AppendCertsFromPEM([]byte(certificates.ValueString())) {
		fault("No CA certificate for the package index", "no PEM certificate could be read in it", "Give the text of the certificates (-----BEGIN CERTIFICATE-----), not a path: file(\"ca.pem\") reads one.", "ca_certificates")
	}
	switch {
	case username.IsNull() != password.IsNull():
		fault("Half a login for the package index", "", "package_index.username and package_index.password_wo go together: set both or neither.")
	case known(username) && (username.ValueString() == "" || strings.Contains(username.ValueString(), ":")):
		fault("User name that the package index cannot be sent", fmt.Sprintf("%q", username.ValueString()), "A user name is not empty and has no colon, which ends it in a Basic login. Remove username and password_wo for an index that asks for none.", "username")
	case known(password) && password.ValueString() == "":
		fault("Empty password for the package index", "", "Remove username and password_wo for an index that asks for no login.", "password_wo")
	}
}

// validateBuildSecrets checks the names of secrets, and that each has a value.
func validateBuildSecrets(secrets types.Map, diagnostics *diag.Diagnostics) {
	for _, name := range slices.Sorted(maps.Keys(secrets.Elements())) {
		at := path.Root("build_secrets_wo").AtMapKey(name)
		switch {
		case !secretName.MatchString(name) || strings.HasPrefix(name, reservedSecret):
			diagnostics.AddAttributeError(at, "Invalid name of a build secret", fmt.Sprintf("%q cannot name a file in /run/secrets: write letters, digits, \".\", \"_\" or \"-\", and do not start with %q.", name, reservedSecret))
		case secrets.Elements()[name].IsNull():
			diagnostics.AddAttributeError(at, "Build secret without a value", fmt.Sprintf("%q is null. Leave the entry out, or give it a value; \"\" makes an empty file.", name))
		}
	}
}

// validPort takes no port too.
func validPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil
}

const reservedSecret = "datalayer-"

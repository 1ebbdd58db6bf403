package provider

import (
	"context"
	"crypto/x509"
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
			"url":                 schema.StringAttribute{Required: true, MarkdownDescription: "The simple index, as seen from the daemon's machine: `https://packages.example.com/simple/`. A login in it is refused. An `http://` address is taken too: the lock's hashes protect what comes from it, and nothing protects the login."},
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

// buildInputs reads what reaches a build through secret mounts alone, from the configuration: write-only values are in no plan.
func buildInputs(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics) (*buildkit.PackageIndex, map[string]secret.Value) {
	var block types.Object
	var values types.Map
	diagnostics.Append(config.GetAttribute(ctx, path.Root("package_index"), &block)...)
	diagnostics.Append(config.GetAttribute(ctx, path.Root("build_secrets_wo"), &values)...)
	secrets := map[string]secret.Value{}
	for name, text := range stringMap(values) {
		secrets[name] = secret.New(text)
	}
	if block.IsNull() {
		return nil, secrets
	}
	address, err := url.Parse(member[types.String](block, "url").ValueString())
	if err != nil {
		appendProblems(diagnostics, err, "Package index cannot be read")
		return nil, secrets
	}
	return &buildkit.PackageIndex{
		URL: address, CACertificates: []byte(member[types.String](block, "ca_certificates").ValueString()),
		Username: member[types.String](block, "username").ValueString(), Password: secret.New(member[types.String](block, "password_wo").ValueString()),
	}, secrets
}

// buildInputFaults checks what reaches a build through secret mounts. Terraform asks again at apply, when all is known.
func buildInputFaults(index types.Object, secrets types.Map) problem.List {
	var faults problem.List
	fault := func(title, object, advice string, at ...any) {
		faults = append(faults, &problem.Problem{Title: title, Path: at, Object: object, Advice: advice})
	}
	known := func(v types.String) bool { return !v.IsNull() && !v.IsUnknown() }
	address, certificates := member[types.String](index, "url"), member[types.String](index, "ca_certificates")
	username, password := member[types.String](index, "username"), member[types.String](index, "password_wo")
	if known(address) {
		switch parsed, err := url.Parse(address.ValueString()); {
		case err != nil || parsed.Hostname() == "" || parsed.Scheme != "https" && parsed.Scheme != "http" || !validPort(parsed.Port()) || strings.ContainsFunc(address.ValueString(), unicode.IsSpace):
			fault("Invalid package index", "", "Write the address of a simple index, such as https://packages.example.com/simple/.", "package_index", "url")
		case parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "":
			fault("Login in the address of the package index", parsed.Scheme+"://"+parsed.Host+parsed.Path, "Give it in username and password_wo, which reach no state and no log.", "package_index", "url")
		}
	}
	if known(certificates) && !x509.NewCertPool().AppendCertsFromPEM([]byte(certificates.ValueString())) {
		fault("No CA certificate for the package index", "no PEM certificate could be read in it", "Give the text of the certificates (-----BEGIN CERTIFICATE-----), not a path: file(\"ca.pem\") reads one.", "package_index", "ca_certificates")
	}
	switch {
	case username.IsNull() != password.IsNull():
		fault("Half a login for the package index", "", "package_index.username and package_index.password_wo go together: set both or neither.", "package_index")
	case known(username) && (username.ValueString() == "" || strings.Contains(username.ValueString(), ":")):
		fault("User name that the package index cannot be sent", fmt.Sprintf("%q", username.ValueString()), "A user name is not empty and has no colon, which ends it in a Basic login. Remove username and password_wo for an index that asks for none.", "package_index", "username")
	case known(password) && password.ValueString() == "":
		fault("Empty password for the package index", "", "Remove username and password_wo for an index that asks for no login.", "package_index", "password_wo")
	}
	for _, name := range slices.Sorted(maps.Keys(secrets.Elements())) {
		switch {
		case !secretName.MatchString(name) || strings.HasPrefix(name, reservedSecret):
			fault("Invalid name of a build secret", fmt.Sprintf("%q cannot name a file in /run/secrets", name), fmt.Sprintf("Write letters, digits, \".\", \"_\" or \"-\", and do not start with %q.", reservedSecret), "build_secrets_wo", problem.Key(name))
		case secrets.Elements()[name].IsNull():
			fault("Build secret without a value", fmt.Sprintf("%q is null", name), "Leave the entry out, or give it a value; \"\" makes an empty file.", "build_secrets_wo", problem.Key(name))
		}
	}
	return faults
}

// validPort takes no port too.
func validPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil
}

const reservedSecret = "datalayer-"

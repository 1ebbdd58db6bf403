package provider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

var _ provider.ProviderWithValidateConfig = &datalayerProvider{}

func buildkitTLSAttribute() schema.Attribute {
	const either = " PEM text, or the path of a file with it, which is read at apply."
	return schema.SingleNestedAttribute{Optional: true,
		MarkdownDescription: "TLS for a `tcp://` address. The daemon's certificate has to name the host of the address. Without this the connection is in the clear, and whoever reaches the port controls the daemon.",
		Attributes: map[string]schema.Attribute{
			"ca":   schema.StringAttribute{Optional: true, MarkdownDescription: "Certificates of the authorities that may have signed the daemon's. Default: those that this machine trusts." + either},
			"cert": schema.StringAttribute{Optional: true, MarkdownDescription: "The client's certificate, for a daemon that asks for one (`--tlscacert`). It goes with `key`." + either},
			"key":  schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: "The private key of `cert`, without a passphrase. It is in no state, log or file." + either},
		}}
}

// pemSource is PEM text, or the path of a file with it.
type pemSource struct {
	name  string
	value secret.Value
}

func (p pemSource) isText() bool { return strings.Contains(p.value.Reveal(), "-----BEGIN ") }

func (p pemSource) read() ([]byte, error) {
	if p.value.Empty() || p.isText() {
		return []byte(p.value.Reveal()), nil
	}
	text, err := os.ReadFile(p.value.Reveal())
	if err == nil {
		return text, nil
	}
	object := "buildkit.tls." + p.name
	var failed *fs.PathError
	if errors.As(err, &failed) {
		// A key that lost its first line is no path, and must not show.
		err = failed.Err
	}
	if p.name != "key" {
		object += fmt.Sprintf(" = %q", p.value.Reveal())
	}
	return nil, &problem.Problem{Title: "File of buildkit.tls cannot be read", Path: []any{"buildkit", "tls", p.name}, Object: object, Cause: err,
		Advice: "It is taken for a path on the machine that runs Terraform, because it has no -----BEGIN line. Where that machine has no files of yours, give the text."}
}

// buildkitTLS are the settings as configured; the files are read when the daemon is reached.
type buildkitTLS struct{ ca, cert, key pemSource }

func newBuildkitTLS(object types.Object) *buildkitTLS {
	if object.IsNull() || object.IsUnknown() {
		return nil
	}
	source := func(name string) pemSource {
		return pemSource{name, secret.New(member[types.String](object, name).ValueString())}
	}
	return &buildkitTLS{ca: source("ca"), cert: source("cert"), key: source("key")}
}

// settings reads all three; it gives nil for none.
func (t *buildkitTLS) settings() (*buildkit.TLS, error) {
	if t == nil {
		return nil, nil
	}
	var texts [3][]byte
	for i, source := range []pemSource{t.ca, t.cert, t.key} {
		var err error
		if texts[i], err = source.read(); err != nil {
			return nil, err
		}
	}
	return &buildkit.TLS{CA: texts[0], Certificate: texts[1], Key: secret.New(string(texts[2]))}, nil
}

// ValidateConfig checks what spans the members of buildkit.
func (p *datalayerProvider) ValidateConfig(ctx context.Context, req provider.ValidateConfigRequest, resp *provider.ValidateConfigResponse) {
	var config providerModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &config)...); resp.Diagnostics.HasError() {
		return
	}
	validateBuildkitTLS(config.BuildKit, &resp.Diagnostics)
	validateBuildkitNodes(config.BuildKit, &resp.Diagnostics)
}

func validateBuildkitTLS(builder types.Object, diagnostics *diag.Diagnostics) {
	object := member[types.Object](builder, "tls")
	if object.IsNull() || object.IsUnknown() {
		return
	}
	at := path.Root("buildkit").AtName("tls")
	for _, name := range []string{"ca", "cert", "key"} {
		value := member[types.String](object, name)
		if !value.IsNull() && !value.IsUnknown() && strings.TrimSpace(value.ValueString()) == "" {
			diagnostics.AddAttributeError(at.AtName(name), "Empty value in buildkit.tls", fmt.Sprintf("buildkit.tls.%s = %q. Remove the argument, or give PEM text or a path.", name, value.ValueString()))
		}
	}
	cert, key := member[types.String](object, "cert"), member[types.String](object, "key")
	if cert.IsNull() != key.IsNull() { // What is not known yet counts as given.
		diagnostics.AddAttributeError(at, "Half a client certificate for BuildKit", "buildkit.tls.cert and buildkit.tls.key go together: set both or neither.")
	}
	if diagnostics.HasError() {
		return
	}
	// What is text can be checked here; a file may be on the machine that applies alone.
	checked := buildkit.TLS{}
	t := newBuildkitTLS(object)
	if t.cert.isText() && t.key.isText() {
		checked.Certificate, checked.Key = []byte(t.cert.value.Reveal()), t.key.value
	}
	if t.ca.isText() {
		checked.CA = []byte(t.ca.value.Reveal())
	}
	if err := checked.Check(addressOfTLS(builder)); err != nil {
		appendProblems(diagnostics, err, "buildkit.tls cannot be used")
	}
}

// addressOfTLS is an address that buildkit.tls is held against: one without TLS where none is known to speak it, so that the
// settings are for nothing; otherwise none.
func addressOfTLS(builder types.Object) string {
	address := member[types.String](builder, "address")
	if address.IsNull() {
		return "" // The machine that applies says which.
	}
	addresses := []attr.Value{address}
	for _, node := range member[types.Map](builder, "nodes").Elements() {
		addresses = append(addresses, node)
	}
	for _, one := range addresses {
		if text, ok := one.(types.String); !ok || text.IsUnknown() || strings.HasPrefix(text.ValueString(), "tcp://") {
			return ""
		}
	}
	if member[types.Map](builder, "nodes").IsUnknown() {
		return ""
	}
	return address.ValueString()
}

package provider

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// request is what a plan, in which all arguments are known by now, says of any image. cacheKey is the label for the key.
func (m builtImage) request(cacheKey string, diagnostics *diag.Diagnostics) buildkit.Request {
	request := buildkit.Request{Platforms: texts(m.Platforms), Labels: stringMap(m.Labels)}
	var err error
	if request.Repository, err = reference.ParseRepository(m.Repository.ValueString()); err != nil {
		appendProblems(diagnostics, err, "Repository to push to cannot be read")
	}
	request.Attestations, request.Cache = m.attestations(diagnostics), m.buildCache(diagnostics)
	request.Labels[environment.LabelContract] = environment.Contract
	request.Labels[cacheKey] = m.CacheKey.ValueString()
	return request
}

// loginFor is an argument with a login, and an address on the host that the login is for.
type loginFor struct{ attribute, address string }

// resourceLogins are the credentials that the configuration brings for hosts. They are read from the configuration
// alone: write-only values are in no plan, and must get into no model.
func resourceLogins(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics, sources ...loginFor) []login {
	var logins []login
	for _, source := range sources {
		var block types.Object
		if diagnostics.Append(config.GetAttribute(ctx, path.Root(source.attribute), &block)...); block.IsNull() || block.IsUnknown() {
			continue
		}
		username, password := member[types.String](block, "username"), member[types.String](block, "password_wo")
		parsed, err := reference.Parse(source.address)
		if err != nil {
			appendProblems(diagnostics, err, "Registry host cannot be read")
			continue
		}
		if role := member[types.String](block, "role_arn").ValueString(); role != "" {
			logins = append(logins, login{host: parsed.Host, role: role, externalID: member[types.String](block, "external_id").ValueString()})
			continue
		}
		if password.ValueString() == "" {
			diagnostics.AddAttributeError(path.Root(source.attribute).AtName("password_wo"), "Empty registry password", fmt.Sprintf("%s.password_wo is empty. Remove %s to use the provider's registries or the Docker configuration for %s.", source.attribute, source.attribute, parsed.Host))
			continue
		}
		logins = append(logins, login{host: parsed.Host, credential: image.Credential{Username: username.ValueString(), Password: secret.New(password.ValueString()), Source: "the resource's " + source.attribute}})
	}
	return logins
}

// pushed is the state from the moment that the registry holds the digest: enough to delete it, the rest null.
func (m builtImage) pushed(repository reference.Repository, p buildkit.Published, tag string) builtImage {
	m.Digest = types.StringValue(p.Digest)
	m.Reference = types.StringValue(p.Reference(repository).String())
	m.Tag = types.StringValue(tag)
	m.BuiltAt = types.StringValue(p.BuiltAt.Format(time.RFC3339))
	m.BuildDurationSeconds = types.Float64Value(math.Round(p.BuildDuration.Seconds()*10) / 10)
	m.Attestations = withGenerator(m.Attestations, p.SBOMGenerator)
	return m.described(p.Image, p.Attestations).settled()
}

// described adds what the registry says of the image; nil adds nothing.
func (m builtImage) described(found *image.Image, statements []image.Attestation) builtImage {
	if found == nil {
		return m
	}
	m.Manifests = stringMapValue(found.Manifests)
	m.SizeBytes = types.Int64Value(found.SizeBytes)
	m.MediaType = types.StringValue(found.MediaType)
	m.Attested = attestedValue(statements)
	return m
}

// settled makes null what is still unknown: a state with unknowns in it is refused as a whole.
func (m builtImage) settled() builtImage {
	settleTexts(&m.Reference, &m.CacheKey, &m.CredentialExpiresAt, &m.Digest, &m.Tag, &m.MediaType, &m.BuiltAt)
	settleMaps(&m.Manifests)
	if m.SizeBytes.IsUnknown() {
		m.SizeBytes = types.Int64Null()
	}
	if m.BuildDurationSeconds.IsUnknown() {
		m.BuildDurationSeconds = types.Float64Null()
	}
	if m.Retained.IsUnknown() {
		m.Retained = noneRetained()
	}
	if m.Attested.IsUnknown() {
		m.Attested = types.ListNull(attestedType)
	}
	return m
}

func settleTexts(values ...*types.String) {
	for _, text := range values {
		if text.IsUnknown() {
			*text = types.StringNull()
		}
	}
}

func settleMaps(values ...*types.Map) {
	for _, m := range values {
		if m.IsUnknown() {
			*m = types.MapNull(types.StringType)
		}
	}
}

// lowered begins with a small letter.
func lowered(text string) string { return strings.ToLower(text[:1]) + text[1:] }

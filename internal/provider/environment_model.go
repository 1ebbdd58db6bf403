package provider

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// request turns a plan, in which all arguments are known by now, into what the builder takes.
func (m environmentModel) request(diagnostics *diag.Diagnostics) buildkit.Request {
	request := buildkit.Request{Platforms: texts(m.Platforms)}
	fail := func(err error) { appendProblems(diagnostics, err, "Environment cannot be built as planned") }
	var err error
	if request.Base, err = reference.ParsePinned(m.Base.ValueString()); err != nil {
		fail(err)
	}
	if request.Repository, err = reference.ParseRepository(m.Repository.ValueString()); err != nil {
		fail(err)
	}
	if !m.Lock.IsNull() {
		if request.Lock, err = lock.Parse(m.Lock.ValueString()); err != nil {
			fail(err)
		}
	}
	if !m.PythonVersion.IsUnknown() {
		request.Python = m.PythonVersion.ValueString()
	}
	spec, _, faults := m.spec()
	if len(faults) > 0 {
		fail(faults)
	}
	request.Spec = spec
	request.Attestations, request.Cache = m.attestations(diagnostics), m.buildCache(diagnostics)
	request.Labels = stringMap(m.Labels)
	request.Labels[environment.LabelContract] = environment.Contract
	request.Labels[environment.LabelCacheKey] = m.CacheKey.ValueString()
	return request
}

// resourceLogins are the credentials that the configuration brings for the hosts of base and repository. They are read
// from the configuration alone: write-only values are in no plan, and must get into no model.
func resourceLogins(ctx context.Context, config tfsdk.Config, m environmentModel, diagnostics *diag.Diagnostics) []login {
	var logins []login
	for _, source := range []struct{ attribute, address string }{{"base_registry", m.Base.ValueString()}, {"registry", m.Repository.ValueString()}} {
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
			logins = append(logins, login{host: parsed.Host, role: role})
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
func (m environmentModel) pushed(repository reference.Repository, p buildkit.Published, tag string) environmentModel {
	m.Digest = types.StringValue(p.Digest)
	m.Reference = types.StringValue(p.Reference(repository).String())
	m.Tag = types.StringValue(tag)
	m.Packages = stringMapValue(p.Packages)
	if m.PythonVersion.IsUnknown() {
		m.PythonVersion = types.StringValue(p.Python)
	}
	m.BuiltAt = types.StringValue(p.BuiltAt.Format(time.RFC3339))
	m.BuildDurationSeconds = types.Float64Value(math.Round(p.BuildDuration.Seconds()*10) / 10)
	m.Attestations = withGenerator(m.Attestations, p.SBOMGenerator)
	m.Artifact = m.artifact(types.StringValue(environment.Contract))
	return m.settled()
}

// described adds what the registry says of the image; nil adds nothing.
func (m environmentModel) described(found *image.Image, statements []image.Attestation) environmentModel {
	if found == nil {
		return m
	}
	m.Manifests = stringMapValue(found.Manifests)
	m.SizeBytes = types.Int64Value(found.SizeBytes)
	m.MediaType = types.StringValue(found.MediaType)
	m.Attested = attestedValue(statements)
	return m
}

// artifact is the object that launchers take. contract is that of the release which built the image.
func (m environmentModel) artifact(contract types.String) types.Object {
	return types.ObjectValueMust(artifactType, map[string]attr.Value{
		"variant": types.StringValue(environment.VariantDatalayer), "reference": m.Reference, "contract": contract,
		"cache_key": m.CacheKey, "python_version": m.PythonVersion, "packages": m.Packages, "env": stringMapValue(nil),
	})
}

// settled makes null what is still unknown: a state with unknowns in it is refused as a whole.
func (m environmentModel) settled() environmentModel {
	for _, text := range []*types.String{&m.PythonVersion, &m.Reference, &m.CacheKey, &m.SpecDigest, &m.LockDigest, &m.CredentialExpiresAt, &m.Digest, &m.Tag, &m.MediaType, &m.BuiltAt} {
		if text.IsUnknown() {
			*text = types.StringNull()
		}
	}
	for _, m := range []*types.Map{&m.Packages, &m.Manifests} {
		if m.IsUnknown() {
			*m = types.MapNull(types.StringType)
		}
	}
	if m.SizeBytes.IsUnknown() {
		m.SizeBytes = types.Int64Null()
	}
	if m.BuildDurationSeconds.IsUnknown() {
		m.BuildDurationSeconds = types.Float64Null()
	}
	if m.Artifact.IsUnknown() {
		m.Artifact = types.ObjectNull(artifactType)
	}
	if m.Retained.IsUnknown() {
		m.Retained = noneRetained()
	}
	if m.Attested.IsUnknown() {
		m.Attested = types.ListNull(attestedType)
	}
	return m
}

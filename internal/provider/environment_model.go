package provider

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// request turns a plan, in which all arguments are known by now, into what the builder takes.
func (m environmentModel) request(diagnostics *diag.Diagnostics) buildkit.Request {
	request := m.builtImage.request(environment.LabelCacheKey, diagnostics)
	fail := func(err error) { appendProblems(diagnostics, err, "Environment cannot be built as planned") }
	var err error
	if request.Base, err = reference.ParsePinned(m.Base.ValueString()); err != nil {
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
	request.RebuildTrigger = triggerDigest(m.RebuildTrigger)
	return request
}

// triggerDigest stands for the values of a rebuild_trigger; empty for none.
func triggerDigest(trigger types.Map) string {
	if len(trigger.Elements()) == 0 {
		return ""
	}
	values := map[string]*string{}
	for name, element := range trigger.Elements() {
		if text, ok := element.(types.String); ok {
			values[name] = text.ValueStringPointer()
		}
	}
	// The keys of a map are encoded in their order, and texts always can be.
	encoded, _ := json.Marshal(values)
	return fmt.Sprintf("%x", sha256.Sum256(encoded))
}

// logins are what the configuration brings for the hosts of base and repository.
func (m environmentModel) logins(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics) []login {
	return resourceLogins(ctx, config, diagnostics, loginFor{"base_registry", m.Base.ValueString()}, loginFor{"registry", m.Repository.ValueString()})
}

// pushed is the state from the moment that the registry holds the digest: enough to delete it, the rest null.
func (m environmentModel) pushed(repository reference.Repository, p buildkit.Published, tag string) environmentModel {
	m.builtImage = m.builtImage.pushed(repository, p, tag)
	m.Packages = stringMapValue(p.Packages)
	if m.PythonVersion.IsUnknown() {
		m.PythonVersion = types.StringValue(p.Python)
	}
	m.Artifact = m.artifact(types.StringValue(environment.Contract))
	return m.settled()
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
	m.builtImage = m.builtImage.settled()
	settleTexts(&m.PythonVersion, &m.SpecDigest, &m.LockDigest)
	settleMaps(&m.Packages)
	if m.Artifact.IsUnknown() {
		m.Artifact = types.ObjectNull(artifactType)
	}
	return m
}

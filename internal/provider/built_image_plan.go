package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// origin is what private state remembers of where the image came from.
type origin struct {
	// imported: this is the first plan after an import. foreign: the image was not made by this provider.
	imported, foreign bool
}

type privateState interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

func readOrigin(ctx context.Context, private privateState, diagnostics *diag.Diagnostics) origin {
	marked := func(key string) bool {
		mark, found := private.GetKey(ctx, key)
		diagnostics.Append(found...)
		return string(mark) == "true"
	}
	return origin{imported: marked(importedMark), foreign: marked(foreignMark)}
}

// warnOfOther says that what was imported has other content than what is configured.
func (o origin) warnOfOther(state builtImage, key types.String, diagnostics *diag.Diagnostics) {
	if o.imported && !key.IsUnknown() && !key.Equal(state.CacheKey) {
		diagnostics.AddWarning("Imported image has other content", fmt.Sprintf("%s carries %s, and this configuration has %s: the image will be replaced by one that is built anew.", state.Reference.ValueString(), orNone(state.CacheKey), key.ValueString()))
	}
}

// warnOfForeign says that what was imported cannot be checked.
func (o origin) warnOfForeign(state builtImage, diagnostics *diag.Diagnostics) {
	if o.imported && o.foreign {
		diagnostics.AddWarning("Content of the imported image is not checked", fmt.Sprintf("%s was not made by this provider. The arguments are taken as they are, packages stays null, and destroy will forget the image, not delete it.", state.Reference.ValueString()))
	}
}

// warnOfMissingStatements says that an image stays without statements that are asked for: attestations replace nothing that was
// built or imported without them.
func warnOfMissingStatements(planned builtImage, diagnostics *diag.Diagnostics) {
	if planned.MediaType.IsNull() || planned.MediaType.IsUnknown() {
		return // The image was not read back yet.
	}
	if missing := missingStatements(planned); len(missing) > 0 {
		diagnostics.AddAttributeWarning(path.Root("attestations"), "Image lacks attestations that are asked for", fmt.Sprintf("%s was built or imported without them, and none is made for an image that is there: attestations hold for its next build. It lacks: %s. "+
			"attested lists what it has. To have them, build it anew: apply with -replace for this resource.", planned.Reference.ValueString(), strings.Join(missing, ", ")))
	}
}

// missingStatements are the statements, by platform, that are asked for and are not there.
func missingStatements(planned builtImage) []string {
	if planned.Attestations.IsNull() || planned.Attestations.IsUnknown() || planned.Attested.IsUnknown() {
		return nil
	}
	has := func(platform, predicate string) bool {
		return slices.ContainsFunc(planned.Attested.Elements(), func(s attr.Value) bool {
			return member[types.String](s, "platform").ValueString() == platform && strings.HasPrefix(member[types.String](s, "predicate_type").ValueString(), predicate)
		})
	}
	var missing []string
	for _, platform := range texts(planned.Platforms) {
		if member[types.Bool](planned.Attestations, "sbom").ValueBool() && !has(platform, image.PredicateSPDX) {
			missing = append(missing, "SBOM of "+platform)
		}
		if wants := member[types.String](planned.Attestations, "provenance").ValueString(); wants != "" && wants != provenanceNone && !has(platform, image.PrefixProvenance) {
			missing = append(missing, "provenance of "+platform)
		}
	}
	return missing
}

// replacedBy gives the attributes whose change makes another image. A missing cache key means that content cannot be compared.
func (m builtImage) replacedBy(state builtImage, key types.String, attestations types.Object) []path.Path {
	var reasons []path.Path
	if key.IsUnknown() || state.CacheKey.ValueString() != "" && !key.Equal(state.CacheKey) {
		reasons = append(reasons, path.Root("cache_key"))
	}
	if !sameRepository(m.Repository, state.Repository) {
		reasons = append(reasons, path.Root("repository"))
	}
	if !state.Attestations.IsNull() && !plannedAttestations(attestations, state.Attestations).Equal(state.Attestations) {
		reasons = append(reasons, path.Root("attestations"))
	}
	return reasons
}

// sameRepository compares what two spellings name: Docker Hub's repositories have several.
func sameRepository(planned, prior types.String) bool {
	one, err := reference.ParseRepository(planned.ValueString())
	if planned.IsUnknown() || err != nil {
		return planned.Equal(prior)
	}
	other, err := reference.ParseRepository(prior.ValueString())
	return err == nil && one == other
}

// asNew is the plan of an image that is to be built. attestations is as configured.
func (m builtImage) asNew(key, from types.String, attestations types.Object) builtImage {
	m.Attestations, m.Attested = plannedAttestations(attestations, types.ObjectNull(attestationsType)), types.ListUnknown(attestedType)
	m.CacheKey = key
	m.Reference, m.Digest, m.Tag, m.MediaType, m.BuiltAt = types.StringUnknown(), types.StringUnknown(), types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	m.Manifests, m.SizeBytes, m.BuildDurationSeconds = types.MapUnknown(types.StringType), types.Int64Unknown(), types.Float64Unknown()
	m.CredentialExpiresAt, m.Retained = m.plannedExpiry(from, attestations), noneRetained()
	return m
}

// inPlace is the plan of an image that stays: its outputs do, and another order of platforms is no change.
func (m builtImage) inPlace(state builtImage, key types.String, attestations types.Object) builtImage {
	if slices.Equal(slices.Sorted(slices.Values(texts(m.Platforms))), slices.Sorted(slices.Values(texts(state.Platforms)))) {
		m.Platforms = state.Platforms
	}
	m.Attested = state.Attested
	if m.Attestations = state.Attestations; state.Attestations.IsNull() && !attestations.IsNull() {
		m.Attestations = adoptedAttestations(attestations)
	}
	m.CacheKey = key
	m.Reference, m.Digest, m.MediaType, m.BuiltAt = state.Reference, state.Digest, state.MediaType, state.BuiltAt
	m.Manifests, m.SizeBytes, m.BuildDurationSeconds = state.Manifests, state.SizeBytes, state.BuildDurationSeconds
	m.CredentialExpiresAt, m.Tag, m.Retained = state.CredentialExpiresAt, state.Tag, state.Retained
	if !state.Version.IsNull() && !m.Version.Equal(state.Version) {
		m.Tag, m.Retained = m.nextTag(state), types.ListUnknown(retainedType)
	}
	return m
}

// nextTag keeps the nonce under the new version; it is unknown while the version is, or where no tag was adopted.
func (m builtImage) nextTag(state builtImage) types.String {
	_, nonce, ours := splitTag(state.Tag.ValueString())
	if m.Version.IsUnknown() || !ours {
		return types.StringUnknown()
	}
	return types.StringValue(imageTag(m.Version.ValueString(), nonce))
}

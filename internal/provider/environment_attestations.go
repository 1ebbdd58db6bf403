package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

const (
	provenanceMax  = "max"
	provenanceMin  = "min"
	provenanceNone = "none"
)

var (
	attestationsType = map[string]attr.Type{"sbom": types.BoolType, "sbom_generator": types.StringType, "provenance": types.StringType}
	attestedType     = types.ObjectType{AttrTypes: map[string]attr.Type{"platform": types.StringType, "predicate_type": types.StringType, "digest": types.StringType}}
)

func attestationsAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true, Computed: true,
		MarkdownDescription: "The in-toto statements that BuildKit attaches to the image. A change replaces the image, but for one that was built or imported without this argument. With a statement, `digest` is that of an index, which differs at each build; `manifests` are the images' own. It is not part of the cache key. Left out, both statements are made, each with its default; an imported image gets none until its next build.",
		Attributes: map[string]schema.Attribute{
			"sbom": schema.BoolAttribute{Optional: true, Computed: true, MarkdownDescription: "Attach an SBOM (SPDX) for each platform. Default: `true`."},
			"sbom_generator": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{pinnedReference()},
				MarkdownDescription: "The image that BuildKit runs to make the SBOM, pinned by digest; the daemon pulls it with the login for its host. Default: `" + buildkit.DefaultSBOMGenerator + "`, resolved to a digest when an image is created and kept. One that cannot be had is an error, never an image without an SBOM."},
			"provenance": schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{textRule("Invalid provenance", `"max", "min" or "none"`, oneOf(provenanceMax, provenanceMin, provenanceNone))},
				MarkdownDescription: "Attach SLSA provenance: `max` (default) with the whole build definition, `min` with the materials alone, `none`. The build definition holds what `post_install`, `files` and `lock` say; it holds no secret and no login."},
		}}
}

func attestedAttribute() schema.Attribute {
	text := func(description string) schema.Attribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return schema.ListNestedAttribute{Computed: true, MarkdownDescription: "The statements that the pushed index carries.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"platform":       text("The platform whose image it speaks of."),
			"predicate_type": text("What it says: `" + image.PredicateSPDX + "` (SBOM), `" + image.PredicateProvenance + "`."),
			"digest":         text("The digest of the statement, a blob of the repository."),
		}}}
}

// plannedAttestations completes what is configured by the defaults. The generator of an artifact that stays is the one
// that it was built with; of one to be built it is unknown until then, unless it is configured. What is not known as a
// whole stays so: Terraform refuses a known member where the configuration may give another.
func plannedAttestations(configured types.Object, prior types.Object) types.Object {
	if configured.IsUnknown() {
		return types.ObjectUnknown(attestationsType)
	}
	sbom, generator, provenance := member[types.Bool](configured, "sbom"), member[types.String](configured, "sbom_generator"), member[types.String](configured, "provenance")
	if sbom.IsNull() {
		sbom = types.BoolValue(true)
	}
	if provenance.IsNull() {
		provenance = types.StringValue(provenanceMax)
	}
	switch {
	case !generator.IsNull():
	case sbom.IsUnknown():
		generator = types.StringUnknown()
	case !sbom.ValueBool():
		generator = types.StringNull()
	case !prior.IsNull():
		generator = member[types.String](prior, "sbom_generator")
	default:
		generator = types.StringUnknown()
	}
	return types.ObjectValueMust(attestationsType, map[string]attr.Value{"sbom": sbom, "sbom_generator": generator, "provenance": provenance})
}

// attestations are what a request asks BuildKit for.
func (m builtImage) attestations(diagnostics *diag.Diagnostics) buildkit.Attestations {
	wanted := buildkit.Attestations{SBOM: member[types.Bool](m.Attestations, "sbom").ValueBool(), Provenance: member[types.String](m.Attestations, "provenance").ValueString()}
	if wanted.Provenance == provenanceNone {
		wanted.Provenance = ""
	}
	if generator := member[types.String](m.Attestations, "sbom_generator"); wanted.SBOM && generator.ValueString() != "" {
		var err error
		if wanted.SBOMGenerator, err = reference.ParsePinned(generator.ValueString()); err != nil {
			appendProblems(diagnostics, err, "SBOM generator cannot be read")
		}
	}
	return wanted
}

// withGenerator says which generator was run.
func withGenerator(attestations types.Object, generator reference.Reference) types.Object {
	members := attestations.Attributes()
	if text := member[types.String](attestations, "sbom_generator"); text.IsUnknown() {
		members["sbom_generator"] = types.StringNull()
		if generator.Digest != "" {
			members["sbom_generator"] = types.StringValue(generator.String())
		}
	}
	return types.ObjectValueMust(attestationsType, members)
}

func attestedValue(statements []image.Attestation) types.List {
	entries := []attr.Value{}
	for _, s := range statements {
		entries = append(entries, types.ObjectValueMust(attestedType.AttrTypes, map[string]attr.Value{
			"platform": types.StringValue(s.Platform), "predicate_type": types.StringValue(s.PredicateType), "digest": types.StringValue(s.Digest),
		}))
	}
	return types.ListValueMust(attestedType, entries)
}

// adoptedAttestations are what is configured for an image that was built or imported without: they hold for the next build,
// so nobody chooses a generator now.
func adoptedAttestations(configured types.Object) types.Object {
	planned := plannedAttestations(configured, types.ObjectNull(attestationsType))
	if planned.IsUnknown() || !member[types.String](configured, "sbom_generator").IsNull() {
		return planned
	}
	return withGenerator(planned, reference.Reference{})
}

// validateSBOM refuses a generator that nothing would run.
func validateSBOM(configured types.Object, diagnostics *diag.Diagnostics) {
	sbom, generator := member[types.Bool](configured, "sbom"), member[types.String](configured, "sbom_generator")
	if !sbom.IsNull() && !sbom.IsUnknown() && !sbom.ValueBool() && !generator.IsNull() && !generator.IsUnknown() {
		diagnostics.AddAttributeError(attributePath([]any{"attestations", "sbom_generator"}), "SBOM generator without an SBOM", "attestations.sbom is false, so attestations.sbom_generator would never run. Remove one of the two.")
	}
}

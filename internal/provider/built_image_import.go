package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// importedMark is the private-state key that tells the first plan after an import: arguments that the registry cannot
// give back are null in state then, which is no change of them.
const importedMark = "imported"

// foreignMark is the private-state key of an imported object that this provider did not make, for as long as it is kept.
const foreignMark = "foreign"

// importImage puts what every image has into state; nil after an error. It asks the registry at once, so that an unknown
// image is an error that names it and leaves nothing in state.
func (r *imageResource) importImage(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) (reference.Reference, *image.Image) {
	ref, err := importReference(ctx, req, &resp.Diagnostics)
	if err != nil {
		appendProblems(&resp.Diagnostics, err, "Import id cannot be read")
	}
	if resp.Diagnostics.HasError() {
		return ref, nil
	}
	ref.Tag = ""
	defer r.services.warn(&resp.Diagnostics)
	client := r.services.registry(nil, reads(ref.Repository), looks(ref.Repository))
	found, err := client.Inspect(ctx, ref)
	if err != nil {
		if image.NotFound(err) {
			err = &problem.Problem{Title: "Image to import does not exist", Object: ref.String(), Cause: err, Advice: "Import by the reference output of the resource: repository@sha256:…"}
		}
		appendProblems(&resp.Diagnostics, err, "Image to import cannot be read")
		return ref, nil
	}
	labels := commonLabels(found)
	if r.kind.foreign != nil {
		if err := r.kind.foreign(labels, ref); err != nil {
			appendProblems(&resp.Diagnostics, err, "Image to import is another resource's")
			return ref, nil
		}
	}
	tags, complete, err := client.TagsOf(ctx, ref.Repository, ref.Digest)
	if err != nil {
		appendProblems(&resp.Diagnostics, err, "Tags of the image to import cannot be read")
		return ref, nil
	}
	statements, err := client.Attestations(ctx, ref.Repository, found)
	if err != nil {
		appendProblems(&resp.Diagnostics, err, "Attestations of the image to import cannot be read")
		return ref, nil
	}
	resp.Diagnostics.Append(identify(ctx, resp.Identity, types.StringValue(ref.Repository.String()), types.StringValue(ref.Digest))...)
	key := labels[r.kind.cacheKey]
	set := func(attribute string, value any) {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(attribute), value)...)
	}
	if tag, version := adoptedTag(tags, complete); tag != "" {
		set("tag", tag)
		set("version", version)
	} else if key != "" {
		resp.Diagnostics.AddWarning("No tag was adopted", fmt.Sprintf("%s has no single tag of the form v<version>-<8 hex>, so tag is null. Destroy removes the image only if no tag points to it.", ref))
	}
	if key == "" {
		resp.Diagnostics.AddWarning("Imported image carries no cache key", fmt.Sprintf("%s was not made by this provider, so its content cannot be held against the configuration: the arguments are taken as they are. Destroy will forget the image and not delete it.", ref))
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, foreignMark, []byte("true"))...)
	}
	set("cache_key", orNull(key))
	set("repository", ref.Repository.String())
	set("reference", ref.String())
	set("digest", ref.Digest)
	set("manifests", stringMapValue(found.Manifests))
	set("media_type", found.MediaType)
	set("size_bytes", types.Int64Value(found.SizeBytes))
	set("attested", attestedValue(statements))
	set("retained", noneRetained())
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedMark, []byte("true"))...)
	return ref, found
}

// adoptedTag gives the one tag of our form, if there is exactly one.
func adoptedTag(tags []string, complete bool) (tag, version string) {
	if !complete {
		return "", ""
	}
	for _, candidate := range tags {
		v, _, ours := splitTag(candidate)
		if !ours {
			continue
		}
		if tag != "" {
			return "", ""
		}
		tag, version = candidate, v
	}
	return tag, version
}

// commonLabels are the labels that all platforms of an image agree on.
func commonLabels(found *image.Image) map[string]string {
	var common map[string]string
	for _, config := range found.Configs {
		if common == nil {
			common = map[string]string{}
			for name, value := range config.Labels {
				common[name] = value
			}
			continue
		}
		for name, value := range common {
			if config.Labels[name] != value {
				delete(common, name)
			}
		}
	}
	return common
}

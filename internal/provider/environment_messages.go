package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// withoutLogin explains a refusal where the resource's own login, being write-only, cannot be used.
func (m builtImage) withoutLogin(err error) error {
	var one *problem.Problem
	if m.Registry.IsNull() || !image.Denied(err) || !errors.As(err, &one) {
		return err
	}
	said := *one
	said.Advice = "registry.password_wo is used at create and update only, because Terraform keeps no write-only value. For refresh and destroy give the host a login in the provider's registries, in DATALAYER_REGISTRIES or in the Docker configuration."
	return &said
}

// imageGone explains a 404 of the image that state names.
func imageGone(err error, state builtImage) error {
	if !image.NotFound(err) {
		return err
	}
	return advised(err, fmt.Sprintf("%s is no longer in the registry: plan with refresh, so that it is built again.", state.Reference.ValueString()))
}

// keepsState adds to a refresh's error that state is as it was, and the way round it.
func keepsState(err error) error {
	return advised(err, "State is kept as it was. `-refresh=false` plans without asking the registry.")
}

// deleteKeepsState adds to a destroy's error what to do if the registry will not answer again.
func deleteKeepsState(err error) error {
	return advised(err, "State is kept. To give the image up where it is: set deletion_policy = \"retain\", apply, then destroy, each with `-refresh=false` if the registry does not answer. "+
		"For a deposed object, which a replacement has left, that comes too late: it keeps the policy that it was made with. Note the resource's reference, then run `terraform state rm` with its address, and `terraform import` with address and reference.")
}

// advised adds a sentence to the advice of a problem.
func advised(err error, sentence string) error {
	var one *problem.Problem
	if !errors.As(err, &one) {
		return &problem.Problem{Title: "Registry could not be used", Cause: err, Advice: sentence}
	}
	said := *one
	said.Advice = strings.TrimSpace(said.Advice + " " + sentence)
	return &said
}

// warnOfTag says that the tag is not where Create put it.
func (k imageKind) warnOfTag(state builtImage, presence image.Presence, diagnostics *diag.Diagnostics) {
	tag, ref := state.Tag.ValueString(), state.Reference.ValueString()
	if presence.TagDigest != "" {
		diagnostics.AddWarning("Tag of the "+k.what()+" moved", fmt.Sprintf("The tag %s now points to %s, not to %s. The image is there under its digest, so what %s it is unchanged; destroy leaves the tag alone. A new version puts a tag of its own.", tag, presence.TagDigest, ref, k.uses))
		return
	}
	diagnostics.AddWarning("Tag of the "+k.what()+" is gone", fmt.Sprintf("%s is there, but its tag %s is not. What %s it is unchanged; a registry that removes what has no tag may remove it, though. A new version puts a tag again.", ref, tag, k.uses))
}

// warnOfRemains says what a destroy left, and why.
func (k imageKind) warnOfRemains(state builtImage, removed image.Removed, diagnostics *diag.Diagnostics) {
	ref := state.Reference.ValueString()
	if removed.Forgotten != "" {
		diagnostics.AddWarning(k.noun+" was forgotten, not deleted", fmt.Sprintf("%s is out of state and still in the registry: %s.", ref, removed.Forgotten))
	}
	// A tag of our own form is another image's, which looks after itself: replacing by equal content leaves one.
	foreign := slices.DeleteFunc(slices.Clone(removed.Others), func(tag string) bool {
		_, _, ours := splitTag(tag)
		return ours && !state.Tag.IsNull()
	})
	if len(foreign) > 0 {
		diagnostics.AddWarning("Image was left in the registry", fmt.Sprintf("%s is out of state and still there, because other tags point to it or to an index that lists it: %s.", ref, strings.Join(foreign, ", ")))
	}
	for _, kept := range removed.Kept {
		diagnostics.AddWarning(k.noun+" was not removed whole", fmt.Sprintf("%s %s is left in the registry: %s.", kept.What, kept.ID, kept.Why))
	}
}

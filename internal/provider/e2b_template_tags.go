package provider

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// settle puts default and tags on the build of plan, takes off those that are no longer wanted, and sets the visibility.
// It does only what differs from state. left are tags that stay although they are not wanted, and why.
func settle(ctx context.Context, client *e2b.Client, state, plan templateModel, public bool) (failed, left problem.List) {
	had, want := wantedTags(state), wantedTags(plan)
	more := want
	if state.BuildID.Equal(plan.BuildID) {
		more = without(want, had)
	}
	// By its id: E2B may not know the name yet, which was asked for a moment before the template was made.
	id := plan.TemplateID.ValueString()
	if len(more) > 0 {
		if err := client.AssignTags(ctx, id, plan.BuildID.ValueString(), more...); err != nil {
			failed = append(failed, problem.From(err, "Tags were not put on the E2B build")...)
		}
	}
	// default stays where it is: E2B removes it from no template.
	if less := without(without(had, want), []string{e2b.DefaultTag}); len(less) > 0 {
		var err error
		if left, err = client.RemoveTagsFrom(ctx, id, state.BuildID.ValueString(), less...); err != nil {
			failed = append(failed, problem.From(advised(err, "Remove them by hand if the next plan does not: after a build, state no longer has them."), "Tags were not taken off the E2B template")...)
		}
	}
	if plan.Public.ValueBool() != public {
		if err := client.SetPublic(ctx, id, plan.Public.ValueBool()); err != nil {
			failed = append(failed, problem.From(err, "Visibility of the E2B template was not set")...)
		}
	}
	return failed, left
}

// wantedTags are those that a model puts on its build.
func wantedTags(m templateModel) []string {
	all := setTexts(m.Tags)
	if m.MoveDefaultTag.ValueBool() {
		all = append(all, e2b.DefaultTag)
	}
	return all
}

func without(all, but []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(but, one) })
}

func setTexts(set types.Set) []string {
	var all []string
	for _, element := range set.Elements() {
		if text, ok := element.(types.String); ok {
			all = append(all, text.ValueString())
		}
	}
	slices.Sort(all)
	return all
}

// refreshed is the state with what E2B says of the template, and of its tags where this resource manages any.
func (r *templateResource) refreshed(ctx context.Context, state templateModel, found e2b.Template, diagnostics *diag.Diagnostics) (templateModel, error) {
	state.BuildIDs = launching(state.BuildIDs, found)
	if state.Reference.IsNull() {
		return state, nil // Its create failed: the next apply builds it anew.
	}
	state.Public = types.BoolValue(found.Public)
	id := state.BuildID.ValueString()
	if build := found.Build(id); build == nil || build.Status != e2b.StatusReady {
		status := "is no longer listed"
		if build != nil {
			status = fmt.Sprintf("has the status %q", build.Status)
		}
		diagnostics.AddWarning("Build of the E2B template is gone", fmt.Sprintf("Build %s of template %s %s, so %s launches nothing. The next apply builds the template anew in place.", id, found.TemplateID, status, state.Reference.ValueString()))
		state.Reference, state.CacheKey, state.Artifact = types.StringNull(), types.StringNull(), types.ObjectNull(artifactType)
		return state, nil
	}
	if !state.MoveDefaultTag.ValueBool() && len(state.Tags.Elements()) == 0 {
		return state, nil
	}
	tags, err := r.services.e2b.Tags(ctx, found.TemplateID)
	if err != nil {
		return state, err
	}
	ours := map[string]bool{}
	for _, tag := range tags {
		build := found.Build(tag.BuildID)
		// A tag that a build took which is not ready still means the ready one before it, which E2B tells of default alone.
		unready := build != nil && build.Status != e2b.StatusReady
		ours[tag.Tag] = tag.BuildID == id || unready
		if tag.Tag == e2b.DefaultTag && unready && state.MoveDefaultTag.ValueBool() {
			launched, err := r.services.e2b.DefaultBuild(ctx, found.TemplateID)
			if err != nil {
				return state, err
			}
			ours[tag.Tag] = launched == id
		}
	}
	state.MoveDefaultTag = types.BoolValue(state.MoveDefaultTag.ValueBool() && ours[e2b.DefaultTag])
	if !state.Tags.IsNull() {
		kept := []attr.Value{}
		for _, tag := range setTexts(state.Tags) {
			if ours[tag] {
				kept = append(kept, types.StringValue(tag))
			}
		}
		state.Tags = types.SetValueMust(types.StringType, kept)
	}
	return state, nil
}

// launching are those of the builds that E2B still launches: it lists no others as ready. Nothing is known of builds older
// than the page that a refresh reads, so they stay.
func launching(ids types.List, found e2b.Template) types.List {
	all := texts(ids)
	kept := slices.DeleteFunc(slices.Clone(all), func(id string) bool {
		build := found.Build(id)
		return build == nil && !found.Older || build != nil && build.Status != e2b.StatusReady
	})
	if len(kept) == len(all) {
		return ids
	}
	return stringList(kept...)
}

// keepsTemplate adds to a refresh's error that state is as it was, and the way round it.
func keepsTemplate(err error) error {
	return advised(err, "State is kept as it was. `-refresh=false` plans without asking E2B.")
}

// deleteKeepsTemplate adds to a destroy's error what to do if E2B will not answer again.
func deleteKeepsTemplate(err error) error {
	return advised(err, "State is kept. To give the template up where it is: set deletion_policy = \"retain\", apply, then destroy.")
}

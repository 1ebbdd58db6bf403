package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// ImportState takes "<template id>:<build id>", a template id, a name, or the identity. It asks E2B at once, so that what
// is not there is an error that names it and leaves nothing in state.
func (r *templateResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id, buildID, known := toImport(ctx, req, &resp.Diagnostics)
	if !known {
		return
	}
	running := operation{what: templateNoun, kind: "read", ctx: ctx, diagnostics: &resp.Diagnostics}
	if _, ok := r.client(running); !ok {
		return
	}
	found, tags, err := r.lookUp(ctx, id, strings.TrimSpace(req.ID) == "")
	if err != nil {
		appendProblems(&resp.Diagnostics, err, "E2B template to import cannot be read")
		return
	}
	build, key := ownBuild(found, tags, buildID)
	if buildID != "" && build == nil {
		appendProblems(&resp.Diagnostics, &problem.Problem{Title: "Build to import is not there", Object: fmt.Sprintf("build %s of template %s", buildID, found.TemplateID),
			Advice: "Give a build of the template that is ready, as in <template id>:<build id>, or the template's name."}, "Build to import is not there")
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, templateIdentity{types.StringValue(found.TemplateID)})...)
	set := func(attribute string, value any) {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(attribute), value)...)
	}
	name := nameOf(found.Names, id)
	set("template_id", found.TemplateID)
	set("name", name)
	set("team", orNull(teamOf(found.Names)))
	set("public", found.Public)
	set("retained", noneRetained())
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedMark, []byte("true"))...)
	madeHere := e2b.MadeHere(found, tags)
	if !madeHere {
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, foreignMark, []byte("true"))...)
	}
	if build == nil || key == "" {
		set("build_ids", stringList())
		detail := fmt.Sprintf("Template %s is taken over, and the next apply builds it anew in place. Its builds of today still launch.", found.TemplateID)
		if !madeHere {
			detail += " " + willBeForgotten
		}
		resp.Diagnostics.AddWarning("Imported template has no ready build of this provider", detail)
		return
	}
	if !madeHere {
		resp.Diagnostics.AddWarning("Imported template may have been made by others", fmt.Sprintf("Template %s has builds of this provider, but not as its first. %s", found.TemplateID, willBeForgotten))
	}
	set("build_id", build.BuildID)
	set("cpu_count", int64(build.CPUCount))
	set("memory_mb", int64(build.MemoryMB))
	set("build_ids", stringList(ownBuilds(found, tags, build.BuildID)...))
	moves, own := tagsOf(tags, build.BuildID)
	set("move_default_tag", moves)
	set("tags", own)
	set("cache_key", key)
	set("reference", referenceOf(found.Names, name, build.BuildID))
}

// willBeForgotten is said of a template that others made, or may have made.
const willBeForgotten = "It is not known that this provider made it, so destroy will forget the template and leave it at E2B with all its builds."

// toImport reads what to import: the id, or else the identity; false after an error.
func toImport(ctx context.Context, req resource.ImportStateRequest, diagnostics *diag.Diagnostics) (id, buildID string, ok bool) {
	given := strings.TrimSpace(req.ID)
	id, buildID, withBuild := strings.Cut(given, ":")
	refused := func(title, cause string) (string, string, bool) {
		p := &problem.Problem{Title: title, Advice: importForms}
		if cause != "" {
			p.Object, p.Cause = fmt.Sprintf("%q", given), errors.New(cause)
		}
		appendProblems(diagnostics, p, title)
		return "", "", false
	}
	if given == "" && req.Identity != nil && !req.Identity.Raw.IsNull() {
		var identity templateIdentity
		if diagnostics.Append(req.Identity.Get(ctx, &identity)...); diagnostics.HasError() {
			return "", "", false
		}
		id = identity.TemplateID.ValueString()
	}
	const title = "Import id of the template not understood"
	switch {
	case given == "" && id == "":
		return refused("Empty import id for a template", "")
	case id == "":
		return refused(title, "it names no template before the \":\"")
	case withBuild && buildID == "":
		return refused(title, "it names no build after the \":\"")
	case withBuild && !e2b.IsBuildID(buildID):
		return refused(title, fmt.Sprintf("%q is no build id, which is a UUID; a tag is none", buildID))
	}
	return id, strings.ToLower(buildID), true
}

const importForms = "Import by the template's name or its id, which takes the newest ready build of this provider, or by <template id>:<build id>; as an identity by { template_id = \"…\" }."

// lookUp finds a template by its name or its id, or by the id alone, with all its builds and tags.
func (r *templateResource) lookUp(ctx context.Context, id string, byID bool) (e2b.Template, []e2b.Tag, error) {
	client := r.services.e2b
	templateID := id
	if !byID {
		alias, err := client.Alias(ctx, id)
		switch {
		case err == nil:
			templateID = alias.TemplateID
		case !e2b.NotFound(err):
			return e2b.Template{}, nil, err
		}
	}
	found, err := client.Template(ctx, templateID)
	if e2b.NotFound(err) {
		err = &problem.Problem{Title: "E2B template to import does not exist", Object: fmt.Sprintf("%q", id), Cause: err,
			Advice: "Import by <template id>:<build id>, as the outputs template_id and build_id give them, or by the template's name."}
	}
	if err != nil {
		return found, nil, err
	}
	tags, err := client.Tags(ctx, found.TemplateID)
	return found, tags, err
}

// nameOf is the name of a template in its team: the one that was asked for, or else the team's first. A template of old
// has names without a team too.
func nameOf(names []string, asked string) string {
	ownOf := func(full string) string { return full[strings.Index(full, "/")+1:] }
	first := ""
	for _, full := range names {
		if asked == full || asked == ownOf(full) {
			return ownOf(full)
		}
		if first == "" || !strings.Contains(first, "/") && strings.Contains(full, "/") {
			first = full
		}
	}
	if first == "" {
		first = asked
	}
	return ownOf(first)
}

// ownBuild is the build that was asked for, or the newest ready one with a tag of ours, and the cache key of its tag.
func ownBuild(found e2b.Template, tags []e2b.Tag, wanted string) (*e2b.Build, string) {
	keys := map[string]string{}
	for _, tag := range tags {
		if key, _, ours := e2b.SplitOwnTag(tag.Tag); ours {
			keys[tag.BuildID] = key
		}
	}
	for i := range found.Builds {
		build := &found.Builds[i]
		if build.Status == e2b.StatusReady && (build.BuildID == wanted || wanted == "" && keys[build.BuildID] != "") {
			return build, keys[build.BuildID]
		}
	}
	return nil, ""
}

// ownBuilds are the ready builds with tags of ours, the oldest first, and the one given as the last.
func ownBuilds(found e2b.Template, tags []e2b.Tag, last string) []string {
	var all []string
	for _, build := range slices.Backward(found.Builds) {
		ours := slices.ContainsFunc(tags, func(tag e2b.Tag) bool {
			_, _, own := e2b.SplitOwnTag(tag.Tag)
			return own && tag.BuildID == build.BuildID
		})
		if ours && build.Status == e2b.StatusReady && build.BuildID != last {
			all = append(all, build.BuildID)
		}
	}
	return append(all, last)
}

// tagsOf tells whether default points to a build, and which tags of people do; null for none.
func tagsOf(tags []e2b.Tag, buildID string) (bool, types.Set) {
	moves, own := false, []attr.Value{}
	for _, tag := range tags {
		switch _, _, ours := e2b.SplitOwnTag(tag.Tag); {
		case tag.BuildID != buildID || ours:
		case tag.Tag == e2b.DefaultTag:
			moves = true
		default:
			own = append(own, types.StringValue(tag.Tag))
		}
	}
	if len(own) == 0 {
		return moves, types.SetNull(types.StringType)
	}
	return moves, types.SetValueMust(types.StringType, own)
}

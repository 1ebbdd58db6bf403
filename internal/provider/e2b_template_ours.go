package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// unsureMark is the private-state key of a template of which it is not known yet that this Create made it.
const unsureMark = "unsure"

// errForeign is the cause where E2B answered a create with a template that was there before.
var errForeign = errors.New("the template was there before")

// errElsewhere is the cause where E2B answered a rebuild with another template than the one in state.
var errElsewhere = errors.New("it is not the template in state")

func isForeign(err error) bool { return errors.Is(err, errForeign) }

// unsure tells whether Create could not see that the template is its own. Until that is seen nothing is built in it and
// it is not deleted.
func (r *templateResource) unsure(ctx context.Context, private privateState, diagnostics *diag.Diagnostics) bool {
	mark, found := private.GetKey(ctx, unsureMark)
	diagnostics.Append(found...)
	return string(mark) == "true"
}

// isOurs holds that the template was made by this Create. E2B answers a create for a name that
// it knows with the template of that name.
func (r *templateResource) isOurs(ctx context.Context, build e2b.RequestedBuild) error {
	if made, err := r.services.e2b.MadeBy(ctx, build); err != nil || made {
		return err
	}
	object := fmt.Sprintf("template %s, build %s, which waits to be started", build.TemplateID, build.BuildID)
	if len(build.Tags) > 0 {
		object += ", tag " + strings.Join(build.Tags, ", ")
	}
	return &problem.Problem{Title: "E2B answered with a template of somebody else", Path: []any{"name"}, Cause: errForeign, Object: object,
		Advice: "The build was not started: E2B ends it after 40 minutes, and no other tag points to it. Something else made a template of this name at the same time: two blocks with one name, or another run. Choose another name where another block has this one; else import it."}
}

// madeHere asks whether this provider made a template that was imported. It did where the template itself is gone.
func (r *templateResource) madeHere(ctx context.Context, id string) (bool, error) {
	found, err := r.services.e2b.Template(ctx, id)
	if err == nil {
		var tags []e2b.Tag
		if tags, err = r.services.e2b.Tags(ctx, id); err == nil {
			return e2b.MadeHere(found, tags), nil
		}
	}
	if e2b.NotFound(err) {
		return true, nil
	}
	return false, err
}

// elsewhere says that a rebuild was answered with another template than the one in state. If the request itself surely made
// that, because the one in state is gone, it is removed again: nobody would know of it.
func (r *templateResource) elsewhere(ctx context.Context, build e2b.RequestedBuild, name, wanted string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	p := &problem.Problem{Title: "E2B template was replaced by another", Cause: errElsewhere, Object: fmt.Sprintf("%s is now template %s, not %s", name, build.TemplateID, wanted),
		Advice: fmt.Sprintf("Build %s waits there, was not started, and ends after 40 minutes. Plan with refresh, so that the change is seen.", build.BuildID)}
	found, err := r.services.e2b.Template(ctx, build.TemplateID)
	switch {
	case err == nil && (len(found.Builds) != 1 || !found.MadeWith(build.BuildID)):
		return p
	case err == nil:
		err = r.services.e2b.DeleteTemplate(ctx, build.TemplateID)
	}
	if err != nil {
		p.Cause = errors.Join(errElsewhere, err)
		return p
	}
	return &problem.Problem{Title: "E2B template is gone", Cause: errElsewhere, Object: fmt.Sprintf("%s, template %s", name, wanted),
		Advice: fmt.Sprintf("Asked for a build, E2B made another template of that name, %s, which was removed again. Plan with refresh, so that it is made anew.", build.TemplateID)}
}

// warnOfOthers names the builds of the content that is about to be built which are not in state: a run that was killed may
// have left them, and nothing else would ever tell of them. They are not adopted, since another state may have made them.
func (r *templateResource) warnOfOthers(ctx context.Context, running operation, prior templateModel, key string) {
	id := prior.TemplateID.ValueString()
	tags, err := r.services.e2b.Tags(ctx, id)
	if err != nil {
		if !e2b.NotFound(err) && ctx.Err() == nil {
			for _, p := range problem.From(err, "Tags of the E2B template could not be read") {
				running.diagnostics.AddWarning(p.Title, p.Detail()+" So a build of this content that a killed run left would not be named. A build is asked for all the same.")
			}
		}
		return
	}
	known := append(texts(prior.BuildIDs), prior.BuildID.ValueString())
	tags = slices.DeleteFunc(tags, func(tag e2b.Tag) bool {
		content, _, ours := e2b.SplitOwnTag(tag.Tag)
		return !ours || content != key || slices.Contains(known, tag.BuildID)
	})
	if len(tags) == 0 {
		return
	}
	found, err := r.services.e2b.Template(ctx, id)
	for _, tag := range tags {
		status := "its status could not be read"
		if build := found.Build(tag.BuildID); err == nil && build != nil {
			if build.Status == e2b.StatusError {
				continue // It launches nothing, and runs no more.
			}
			status = fmt.Sprintf("its status is %q", build.Status)
		}
		running.diagnostics.AddWarning("E2B has a build of this content that is not in state",
			fmt.Sprintf("Template %s has build %s, tag %s; %s. A run that was killed may have left it, or another state made it, so it is not used, and this apply makes a build of its own. E2B removes no build alone: it goes with the template. "+
				"Once it is ready it launches by its id. To take it over: terraform state rm datalayer_e2b_template.NAME, which leaves the template as it is, then terraform import datalayer_e2b_template.NAME %s:%s.", id, tag.BuildID, tag.Tag, status, id, tag.BuildID))
	}
}

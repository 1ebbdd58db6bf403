package sweep

import (
	"context"
	"errors"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
)

// templates are those of datalayer_e2b_template, in the team of an API key. E2B keeps no credentials.
type templates struct {
	client  *e2b.Client
	missing string
}

// E2B looks for templates of the team whose key the client has; missing says which settings there are not, "" for none.
func E2B(client *e2b.Client, missing string) Service { return templates{client, missing} }

func (templates) Name() string      { return "E2B" }
func (t templates) Missing() string { return t.missing }

func (t templates) Leftovers(ctx context.Context) (all []Leftover, err error) {
	sandboxes, err := t.client.Sandboxes(ctx, e2b.SandboxFilter{States: []e2b.SandboxState{e2b.SandboxRunning, e2b.SandboxPaused}})
	for _, s := range sandboxes {
		all = append(all, Leftover{
			What: "sandbox", ID: s.SandboxID, Name: s.Metadata[SandboxMarker], ByHand: "end it in the team's dashboard, https://e2b.dev/dashboard",
			Remove: func(ctx context.Context) error { return t.client.KillSandbox(ctx, s.SandboxID) },
		})
	}
	return all, err
}

// SandboxMarker is the key of a sandbox's metadata that holds the marker of who made it.
const SandboxMarker = "datalayer"

// Artifacts are the templates that have a build with a tag of ours.
func (t templates) Artifacts(ctx context.Context) (all []Artifact, err error) {
	listed, err := t.client.Templates(ctx)
	for _, l := range listed {
		tags, failed := t.client.Tags(ctx, l.TemplateID)
		if failed != nil {
			if !e2b.NotFound(failed) {
				err = errors.Join(err, failed)
			}
			continue
		}
		var newest e2b.Tag
		key := ""
		for _, tag := range tags {
			if k, _, ours := e2b.SplitOwnTag(tag.Tag); ours && !tag.CreatedAt.Before(newest.CreatedAt) {
				newest, key = tag, k
			}
		}
		if key == "" {
			continue
		}
		all = append(all, Artifact{
			ID: l.TemplateID, Name: strings.Join(l.Names, ", "), BuiltAt: newest.CreatedAt, CacheKey: key,
			Import: "terraform import datalayer_e2b_template.NAME " + quoted(l.TemplateID),
			Remove: func(ctx context.Context) error { return t.remove(ctx, l.TemplateID) },
		})
	}
	return all, err
}

// remove removes a template that a build of ours made. One that was taken over has builds of others, and goes by hand.
func (t templates) remove(ctx context.Context, id string) error {
	found, err := t.client.Template(ctx, id)
	if e2b.NotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	tags, err := t.client.Tags(ctx, id)
	if err != nil {
		return err
	}
	if !e2b.MadeHere(found, tags) {
		return errors.New("others made it: its first build has no tag of this provider, or is no longer listed, so remove it in the team's dashboard, https://e2b.dev/dashboard")
	}
	return t.client.DeleteTemplate(ctx, id)
}

package sweep

import (
	"context"
	"errors"
	"fmt"
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
			Check:  func(ctx context.Context) error { return t.check(ctx, l.TemplateID, tags) },
			Used:   func(ctx context.Context) error { return t.used(ctx, l.TemplateID, nil) },
			Remove: func(ctx context.Context) error { return t.remove(ctx, l.TemplateID) },
		})
	}
	return all, err
}

// check refuses a template, which has these tags, that no build of ours is known to have made. One that was taken over has
// builds of others, and goes by hand.
func (t templates) check(ctx context.Context, id string, tags []e2b.Tag) error {
	found, err := t.client.Template(ctx, id)
	switch {
	case e2b.NotFound(err):
		return nil
	case err != nil:
		return err
	case !e2b.MadeHere(found, tags):
		return &Kept{Why: "others made it: its first build has no tag of this provider, or is no longer listed, so remove it in the team's dashboard, https://e2b.dev/dashboard"}
	}
	return nil
}

// used says which sandboxes keep a template. refused is what E2B answered to its removal; with none it may be unused.
func (t templates) used(ctx context.Context, id string, refused error) error {
	usage, err := t.client.Usage(ctx, id)
	switch {
	case err != nil && refused == nil:
		return err
	case err == nil && refused == nil && len(usage.IDs) == 0:
		return nil
	}
	kept := &Kept{InUse: true, Why: usage.String(),
		Advice: "sweep ends no sandbox but expired ones of this provider. End or wait for those of this template, paused ones included, then sweep again."}
	switch {
	case err != nil:
		kept.Why = fmt.Sprintf("%s; its sandboxes could not be counted: %s", refused, err)
	case refused != nil:
		kept.Why += ": " + refused.Error()
	}
	return kept
}

// remove removes a template that check does not refuse.
func (t templates) remove(ctx context.Context, id string) error {
	tags, err := t.client.Tags(ctx, id)
	if e2b.NotFound(err) {
		return nil
	}
	if err == nil {
		err = t.check(ctx, id, tags)
	}
	if err != nil {
		return err
	}
	err = t.client.DeleteTemplate(ctx, id)
	if e2b.InUse(err) {
		return t.used(ctx, id, err)
	}
	return err
}

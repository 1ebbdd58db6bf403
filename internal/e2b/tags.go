package e2b

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
)

// Tag is where a tag of a template points to. E2B lists the newest assignment, whether or not its build is ready.
type Tag struct {
	Tag       string    `json:"tag"`
	BuildID   string    `json:"buildID"`
	CreatedAt time.Time `json:"createdAt"`
}

type assignTags struct {
	Target string   `json:"target"`
	Tags   []string `json:"tags"`
}

type assignedTags struct {
	Tags    []string `json:"tags"`
	BuildID string   `json:"buildID"`
}

type removeTags struct {
	Name string   `json:"name"`
	Tags []string `json:"tags"`
}

// Tags lists the tags of a template, given by id or name, each once.
func (c *Client) Tags(ctx context.Context, template string) ([]Tag, error) {
	var got []Tag
	_, err := c.send(ctx, call{method: http.MethodGet, path: "/templates/" + url.PathEscape(template) + "/tags", object: "/templates/" + template + "/tags", into: &got})
	return newest(got), report("Tags of the E2B template could not be read", template, err)
}

// newest keeps the newest assignment of each tag: an older deployment lists all that there ever were.
func newest(all []Tag) []Tag {
	var kept []Tag
	at := map[string]int{}
	for _, tag := range all {
		i, known := at[tag.Tag]
		switch {
		case !known:
			at[tag.Tag] = len(kept)
			kept = append(kept, tag)
		case tag.CreatedAt.After(kept[i].CreatedAt):
			kept[i] = tag
		}
	}
	return kept
}

// AssignTags puts tags on a build that is ready, and so moves them there if another build had them. The template is
// given by id or name. An answer that was lost is made up for by a look at where the tags point to.
func (c *Client) AssignTags(ctx context.Context, template, buildID string, tags ...string) error {
	const title = "Tags could not be put on the E2B build"
	target := Reference(template, buildID)
	object := fmt.Sprintf("%s, tags %s", target, strings.Join(tags, ", "))
	for attempt := 1; ; attempt++ {
		var got assignedTags
		_, err := c.send(ctx, call{method: http.MethodPost, path: "/templates/tags", json: assignTags{target, tags}, into: &got, changes: true})
		switch {
		case err == nil && got.BuildID != buildID:
			return &problem.Problem{Title: title, Object: object, Cause: fmt.Errorf("E2B put them on build %s", got.BuildID),
				Advice: "Nothing that launches by build id is affected. Apply again to move them."}
		case err == nil || !Unclear(err):
			return report(title, object, err)
		}
		known, look := c.Tags(ctx, template)
		switch {
		case look != nil:
			return report(title, object, errors.Join(err, look))
		case pointTo(known, buildID, tags):
			return nil
		case attempt == 3:
			return report(title, object, err)
		}
		if c.clock.Sleep(ctx, retry.Jitter(lookPause)) != nil {
			return report(title, object, err)
		}
	}
}

// RemoveTags takes tags off whatever builds had them; tags that are not there are no error. A build without any tag
// left can no longer be launched by id, so the last tag of a build that counts is not to be removed.
func (c *Client) RemoveTags(ctx context.Context, template string, tags ...string) error {
	_, err := c.send(ctx, call{method: http.MethodDelete, path: "/templates/tags", json: removeTags{template, tags}})
	return report("Tags could not be removed from the E2B template", fmt.Sprintf("%s, tags %s", template, strings.Join(tags, ", ")), err)
}

// RemoveTagsFrom takes tags off a build that they were put on, and gives those that it leaves, each with the reason: one
// that was moved to another build since, and one without which a build may launch no more. E2B removes a tag with its
// whole history, so that a build from which it was moved away long ago may hang on it.
func (c *Client) RemoveTagsFrom(ctx context.Context, templateID, buildID string, tags ...string) (left problem.List, err error) {
	known, err := c.Tags(ctx, templateID)
	if err != nil {
		return nil, err
	}
	leave := func(tag, why, advice string) {
		left = append(left, &problem.Problem{Title: "Tag of the E2B template was left", Object: fmt.Sprintf("%q of template %s", tag, templateID), Cause: errors.New(why), Advice: advice})
	}
	var ours []string
	held := map[string]bool{} // builds that keep a tag
	for _, tag := range known {
		switch {
		case !slices.Contains(tags, tag.Tag):
			held[tag.BuildID] = true
		case tag.BuildID != buildID:
			held[tag.BuildID] = true
			leave(tag.Tag, "it points to build "+tag.BuildID+", which it was not put on here", "Remove it by hand if nobody needs it.")
		default:
			ours = append(ours, tag.Tag)
		}
	}
	if len(ours) == 0 {
		return left, nil
	}
	template, err := c.Template(ctx, templateID)
	if err != nil {
		return left, err
	}
	for _, build := range template.Builds {
		if build.Status == StatusReady && !held[build.BuildID] {
			for _, tag := range ours {
				leave(tag, "build "+build.BuildID+" may have no other tag, and then no longer launches by its id", "Give that build a tag of its own and remove this one by hand, if nobody needs it.")
			}
			return left, nil
		}
	}
	return left, c.RemoveTags(ctx, templateID, ours...)
}

func pointTo(known []Tag, buildID string, tags []string) bool {
	at := map[string]string{}
	for _, tag := range known {
		at[tag.Tag] = tag.BuildID
	}
	for _, tag := range tags {
		if at[tag] != buildID {
			return false
		}
	}
	return true
}

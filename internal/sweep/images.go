package sweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Opener gives a client whose login allows these actions in the repository.
type Opener func(repository reference.Repository, actions ...credential.Action) *image.Client

// kinds are the resources whose objects are images, by the label that each one's own images carry. An environment has the
// label of its base too, so it is looked for first.
var kinds = []struct{ label, resource string }{{environment.LabelCacheKey, "datalayer_environment"}, {base.LabelCacheKey, "datalayer_base_image"}}

// images are those of the kinds, in the repositories given. Registries keep no credentials and no sandboxes.
type images struct {
	open         Opener
	repositories []reference.Repository
}

// Images looks for images of ours in these repositories and no other.
func Images(open Opener, repositories []reference.Repository) Service {
	return images{open, repositories}
}

func (images) Name() string { return "Registries" }

func (i images) Missing() string {
	if len(i.repositories) == 0 {
		return "give --repository HOST/PATH"
	}
	return ""
}

func (images) Leftovers(context.Context) ([]Leftover, error) { return nil, nil }

// Artifacts are the images with a cache key and a tag of ours: what others built on an image of ours has the one only. An image
// without any tag, where a registry lists such, is what a run left that was killed before it put one.
func (i images) Artifacts(ctx context.Context) (all []Artifact, err error) {
	var labels []string
	resources := map[string]string{}
	for _, kind := range kinds {
		labels, resources[kind.label] = append(labels, kind.label), kind.resource
	}
	for _, repository := range i.repositories {
		marked, failure := i.open(repository, credential.Pull, credential.Describe).Marked(ctx, repository, labels...)
		err = errors.Join(err, failure)
		for _, m := range marked {
			if ours := ourTags(m.Tags); len(ours) > 0 || len(m.Tags) == 0 {
				all = append(all, Artifact{
					Untagged: len(m.Tags) == 0, ID: m.Reference.String(), BuiltAt: m.BuiltAt, CacheKey: m.Value,
					Import: "terraform import " + resources[m.Label] + ".NAME " + quoted(m.Reference.String()),
					Remove: func(ctx context.Context) error { return i.remove(ctx, m, ours) },
				})
			}
		}
	}
	return all, err
}

func ourTags(tags []string) (ours []string) {
	for _, tag := range tags {
		if _, _, ok := environment.SplitTag(tag); ok {
			ours = append(ours, tag)
		}
	}
	return ours
}

func (i images) remove(ctx context.Context, m image.Marked, ours []string) error {
	done, err := i.open(m.Reference.Repository, credential.Pull, credential.Describe, credential.Delete).Remove(ctx, image.Removal{
		Repository: m.Reference.Repository, Digest: m.Reference.Digest, Tags: ours, RequireLabel: m.Label,
	})
	switch {
	case err != nil:
		return err
	case done.Forgotten != "":
		return errors.New(done.Forgotten)
	case len(done.Kept) > 0:
		return fmt.Errorf("%s %s stayed: %s", done.Kept[0].What, done.Kept[0].ID, done.Kept[0].Why)
	case len(done.Others) > 0:
		return fmt.Errorf("the tags of ours are removed, and the image stayed: %v point to it", done.Others)
	}
	return nil
}

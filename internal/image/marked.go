package image

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Marked is an image that carries one of the labels that were looked for on every platform.
type Marked struct {
	Reference reference.Reference
	// Tags point to it, sorted; none only where an API lists what no tag points to.
	Tags []string
	// Label is the first of the labels that it carries, Value that label's value.
	Label, Value string
	// BuiltAt is what its provenance says; zero without one.
	BuiltAt time.Time
}

// Marked gives the tagged images of a repository that carry one of the labels, by digest, then those that no tag points to and
// no index lists, where an API tells of them. A repository that is not there has none. Images that cannot be read in full prove nothing, and are left out. Where there are more tags than are looked at, what
// was found comes beside the error.
func (c *Client) Marked(ctx context.Context, repo reference.Repository, labels ...string) ([]Marked, error) {
	scanned, err := c.scan(ctx, repo)
	if err != nil {
		return nil, report("Images of the repository could not be listed", repo, repo.String(), err)
	}
	digests := map[string]bool{}
	for _, found := range scanned.points {
		digests[found.Digest] = true
	}
	untagged, unsure, err := c.untagged(ctx, repo, scanned)
	if err != nil {
		return nil, report("Images without a tag could not be listed", repo, repo.String(), err)
	}
	var marked []Marked
	for _, digest := range slices.Concat(slices.Sorted(maps.Keys(digests)), untagged) {
		content, err := c.inspect(ctx, repo.WithDigest(digest))
		switch {
		case NotFound(err) || errors.Is(err, ErrNotImage) || errors.Is(err, ErrIncomplete):
			continue
		case err != nil:
			return marked, report("Image of the repository could not be inspected", repo, object(repo, digest), err)
		}
		carried := slices.IndexFunc(labels, func(label string) bool { return labelled(content, label) })
		if carried < 0 {
			continue
		}
		found := Marked{Reference: repo.WithDigest(digest), Tags: scanned.of(digest), Label: labels[carried]}
		for _, platform := range slices.Sorted(maps.Keys(content.Configs)) {
			found.Value = content.Configs[platform].Labels[found.Label]
		}
		if found.BuiltAt, err = c.builtAt(ctx, repo, content); err != nil {
			return marked, err
		}
		marked = append(marked, found)
	}
	if unsure = cmp.Or(scanned.unsure, unsure); unsure != "" {
		return marked, report("Images of the repository could not all be listed", repo, repo.String(), errors.New(unsure))
	}
	return marked, nil
}

// untaggedLister is an API that lists what no tag points to, which the registry protocol does not; complete tells whether
// that is all.
type untaggedLister interface {
	Untagged(ctx context.Context) (found []Descriptor, complete bool, err error)
}

// untagged gives the digests that no tag points to and no index lists, sorted; unsure says why they may not be all.
func (c *Client) untagged(ctx context.Context, repo reference.Repository, tagged scan) (digests []string, unsure string, err error) {
	api, err := c.api(ctx, repo)
	if err != nil {
		return nil, "", err
	}
	lister, ok := api.(untaggedLister)
	if !ok {
		return nil, "", nil
	}
	found, complete, err := lister.Untagged(ctx)
	if err != nil {
		return nil, "", err
	}
	if !complete {
		unsure = "it holds too many images without a tag"
	}
	alone := scan{points: map[string]Descriptor{}}
	for _, one := range found {
		alone.points[one.Digest] = one
	}
	for _, scanned := range []scan{tagged, alone} {
		listed, why := c.listed(ctx, repo, scanned)
		if why != "" {
			return nil, why, nil
		}
		for _, one := range found {
			if listed[one.Digest] != "" {
				delete(alone.points, one.Digest)
			}
		}
	}
	return slices.Sorted(maps.Keys(alone.points)), unsure, nil
}

// builtAt reads the time from the provenance; a time in the image itself would make equal content unequal.
func (c *Client) builtAt(ctx context.Context, repo reference.Repository, content *Image) (time.Time, error) {
	attested, err := c.Attestations(ctx, repo, content)
	if err != nil {
		return time.Time{}, err
	}
	var last time.Time
	for _, a := range attested {
		if a.PredicateType != PredicateProvenance {
			continue
		}
		text, err := c.Statement(ctx, repo, a)
		if err != nil {
			return time.Time{}, err
		}
		var statement struct {
			Predicate struct {
				RunDetails struct {
					Metadata struct {
						FinishedOn time.Time `json:"finishedOn"`
					} `json:"metadata"`
				} `json:"runDetails"`
			} `json:"predicate"`
		}
		if err := json.Unmarshal(text, &statement); err != nil {
			return time.Time{}, report("Provenance is not understood", repo, object(repo, a.Digest), err)
		}
		if at := statement.Predicate.RunDetails.Metadata.FinishedOn; at.After(last) {
			last = at
		}
	}
	return last, nil
}

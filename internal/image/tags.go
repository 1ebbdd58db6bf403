package image

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

const (
	maxScanned  = 1000
	scanAtOnce  = 8
	tagsPerPage = 500
)

// TagsOf gives the tags that point to a digest, sorted. It looks at each tag of the repository, at most 1000: complete
// tells whether those were all.
func (c *Client) TagsOf(ctx context.Context, repo reference.Repository, digest string) (tags []string, complete bool, err error) {
	scanned, err := c.scan(ctx, repo)
	if err != nil {
		return nil, false, report("Tags of the image could not be found", repo, object(repo, digest), err)
	}
	return scanned.of(digest), scanned.complete, nil
}

// scan is where each tag of a repository points to.
type scan struct {
	points   map[string]Descriptor
	complete bool
}

func (s scan) of(digest string) []string {
	var tags []string
	for tag, found := range s.points {
		if found.Digest == digest {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags
}

func (c *Client) scan(ctx context.Context, repo reference.Repository) (scan, error) {
	if api, err := c.api(ctx, repo); api != nil || err != nil {
		if err != nil {
			return scan{}, err
		}
		points, complete, err := api.Tags(ctx)
		return scan{points, complete}, err
	}
	tags, complete, err := c.listTags(ctx, repo)
	if err != nil {
		return scan{}, err
	}
	found := make([]Descriptor, len(tags))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(scanAtOnce)
	for i, tag := range tags {
		group.Go(func() error {
			one, err := c.head(ctx, repo, tag)
			if NotFound(err) {
				return nil
			}
			found[i] = one
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return scan{}, err
	}
	points := make(map[string]Descriptor, len(tags))
	for i, tag := range tags {
		if found[i].Digest != "" {
			points[tag] = found[i]
		}
	}
	return scan{points, complete}, nil
}

// listTags gives at most maxScanned tags, and whether there are no more.
func (c *Client) listTags(ctx context.Context, repo reference.Repository) (tags []string, complete bool, err error) {
	k := call{
		method: http.MethodGet, repo: repo, path: fmt.Sprintf("tags/list?n=%d", tagsPerPage), object: "/tags/list",
		actions: []string{auth.ActionPull},
	}
	seen := map[string]bool{}
	for range maxScanned {
		var page struct{ Tags []string }
		k.check = func(got *answer) error {
			page.Tags = nil
			if err := json.Unmarshal(got.body, &page); err != nil {
				return fmt.Errorf("the list of tags is not JSON: %w", err)
			}
			return nil
		}
		got, err := c.send(ctx, k)
		if NotFound(err) {
			return nil, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		fresh := false
		for _, tag := range page.Tags {
			if seen[tag] {
				continue
			}
			if len(tags) == maxScanned {
				return tags, false, nil
			}
			seen[tag], fresh = true, true
			tags = append(tags, tag)
		}
		next, err := nextPage(got)
		if err != nil {
			return nil, false, k.failed(err)
		}
		if next == nil {
			return tags, true, nil
		}
		if !fresh {
			return nil, false, k.failed(fmt.Errorf("the registry repeats a page of tags"))
		}
		k.url = next
	}
	return tags, false, nil
}

// nextPage reads the Link header; nil at the last page. A link to another host is not followed: it would be asked
// with this one's credential.
func nextPage(got *answer) (*url.URL, error) {
	for _, link := range got.header.Values("Link") {
		target, rest, found := strings.Cut(link, ">")
		if !found || !strings.Contains(strings.ReplaceAll(rest, " ", ""), `rel="next"`) {
			continue
		}
		parsed, err := url.Parse(strings.TrimPrefix(strings.TrimSpace(target), "<"))
		if err != nil {
			return nil, fmt.Errorf("the link to the next page of tags is not understood: %w", err)
		}
		next := got.url.ResolveReference(parsed)
		if next.Host != got.url.Host || next.Scheme != got.url.Scheme {
			return nil, fmt.Errorf("the next page of tags is on another host, %s", next.Host)
		}
		return next, nil
	}
	return nil, nil
}

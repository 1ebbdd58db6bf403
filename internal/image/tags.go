package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
)

const (
	maxScanned  = 1000
	tooManyTags = "the repository has more than 1000 tags"
	scanAtOnce  = 8
	tagsPerPage = 500
)

// TagsOf gives the tags that point to a digest, sorted. It looks at each tag of the repository, at most 1000: complete
// tells whether those are surely all.
func (c *Client) TagsOf(ctx context.Context, repo reference.Repository, digest string) (tags []string, complete bool, err error) {
	scanned, err := c.scan(ctx, repo)
	if err != nil {
		return nil, false, report("Tags of the image could not be found", repo, object(repo, digest), err)
	}
	return scanned.of(digest), scanned.unsure == "", nil
}

// scan is where each tag of a repository points to. unsure says why there may be others; "" if there are none.
type scan struct {
	points map[string]Descriptor
	unsure string
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

// scan looks at every tag. A list that leaves out one of the tags given, though it is there, is not trusted: a proxy may
// answer with a page of its own.
func (c *Client) scan(ctx context.Context, repo reference.Repository, given ...string) (scan, error) {
	api, err := c.api(ctx, repo)
	if err != nil {
		return scan{}, err
	}
	if api != nil {
		return c.scanAPI(ctx, api, repo, given)
	}
	tags, unsure, err := c.listTags(ctx, repo)
	if err != nil {
		return scan{}, err
	}
	listed := len(tags)
	for _, tag := range given {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
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
		if found[i].Digest == "" {
			continue
		}
		if points[tag] = found[i]; i >= listed && unsure == "" {
			unsure = "the registry's list of tags leaves out " + tag + ", which is there"
		}
	}
	return scan{points, unsure}, nil
}

// scanAPI takes the word of the service behind the registry, and asks for the tags given where that is not complete.
func (c *Client) scanAPI(ctx context.Context, api API, repo reference.Repository, given []string) (scan, error) {
	points, complete, err := api.Tags(ctx)
	if err != nil || complete {
		return scan{points, ""}, err
	}
	for _, tag := range given {
		if _, known := points[tag]; known {
			continue
		}
		one, err := c.head(ctx, repo, tag)
		if err != nil && !NotFound(err) {
			return scan{}, err
		}
		if err == nil {
			points[tag] = one
		}
	}
	return scan{points, tooManyTags}, nil
}

// listTags gives at most maxScanned tags; unsure says why there may be more.
func (c *Client) listTags(ctx context.Context, repo reference.Repository) (tags []string, unsure string, err error) {
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
		switch {
		case noSuchRepository(err):
			return nil, "", nil
		case NotFound(err):
			return tags, "the registry has no list of tags (404)", nil
		case err != nil:
			return nil, "", err
		}
		fresh := false
		for _, tag := range page.Tags {
			if seen[tag] {
				continue
			}
			if len(tags) == maxScanned {
				return tags, tooManyTags, nil
			}
			seen[tag], fresh = true, true
			tags = append(tags, tag)
		}
		next, err := nextPage(got)
		if err != nil {
			return nil, "", k.failed(retry.Final(err))
		}
		if next == nil {
			return tags, "", nil
		}
		if !fresh {
			return nil, "", k.failed(retry.Final(errors.New("the registry repeats a page of tags")))
		}
		k.url = next
	}
	return tags, tooManyTags, nil
}

// noSuchRepository tells a registry's 404 for a repository without tags from that of a server which knows no lists of tags.
func noSuchRepository(err error) bool {
	var e *Error
	return NotFound(err) && errors.As(err, &e) && e.Code != "" && e.Code != "UNSUPPORTED"
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

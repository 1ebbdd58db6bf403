package image_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// newDebianBench is newBench on Debian's docker-registry 2.8, which deletes by digest only.
func newDebianBench(t *testing.T) bench {
	t.Helper()
	registry := enginetest.StartDebianRegistry(t)
	return bench{t, image.New(image.Options{}), registry, reference.Repository{Host: registry.Host, Path: "team/env"}}
}

func TestDebianRegistryCannotUntag(t *testing.T) {
	b := newDebianBench(t)
	digest := b.pushImage("a", "amd64", ours)
	b.tag(digest, "v1")
	err := b.Untag(t.Context(), b.repo, "v1")
	var refusal *image.Error
	if !errors.Is(err, image.ErrCannotUntag) || !errors.As(err, &refusal) || refusal.Status != http.StatusBadRequest || refusal.Code != "DIGEST_INVALID" {
		t.Errorf("got %v", err)
	}
	b.wantLeft("@"+digest, ":v1")
}

func TestDebianRegistryKeepsTheOldTagOfARetag(t *testing.T) {
	b := newDebianBench(t)
	digest := b.pushImage("a", "amd64", ours)
	b.tag(digest, "v1")
	if kept, err := b.Retag(t.Context(), b.repo, digest, "v1", "v2"); err != nil || kept != "v1" {
		t.Errorf("kept %q, %v", kept, err)
	}
	b.wantLeft("@"+digest, ":v1", ":v2")
}

func TestDebianRegistryRemovesAnImageWithAllItsTags(t *testing.T) {
	b := newDebianBench(t)
	digest, other := b.pushImage("a", "amd64", ours), b.pushImage("b", "amd64", ours)
	b.tag(digest, "v1")
	b.tag(digest, "v2")
	b.tag(other, "v3")
	if got := b.remove(digest, "v1", "v2"); !got.DigestDeleted || len(got.Kept) != 0 || len(got.Others) != 0 {
		t.Errorf("got %+v", got)
	}
	b.wantLeft("@"+other, ":v3")
	if got, err := b.Presence(t.Context(), b.repo, digest, "v1"); err != nil || got.State != image.Gone {
		t.Errorf("presence is %+v, %v", got, err)
	}
}

func TestDebianRegistryLeavesADigestThatOthersTagged(t *testing.T) {
	b := newDebianBench(t)
	digest := b.pushImage("a", "amd64", ours)
	b.tag(digest, "v1")
	b.tag(digest, "theirs")
	got := b.remove(digest, "v1")
	kept := []image.Kept{{What: "tag", ID: b.repo.String() + ":v1", Why: image.ErrCannotUntag.Error()}}
	if got.DigestDeleted || len(got.Untagged) != 0 || !slices.Equal(got.Others, []string{"theirs"}) || !slices.Equal(got.Kept, kept) {
		t.Errorf("got %+v", got)
	}
	b.wantLeft("@"+digest, ":v1", ":theirs")
}

func TestDebianRegistryRemovesAnIndexButNotWhatItsSiblingShares(t *testing.T) {
	b := newDebianBench(t)
	shared, own := b.pushImage("shared", "amd64", ours), b.pushImage("own", "arm64", ours)
	first := b.pushIndex("first", map[string]string{"amd64": shared, "arm64": own})
	second := b.pushIndex("second", map[string]string{"amd64": shared})
	b.tag(first, "v1")
	b.tag(second, "v2")
	if got := b.remove(first, "v1"); !got.DigestDeleted || len(got.Kept) != 0 {
		t.Errorf("got %+v", got)
	}
	left, err := b.Inspect(t.Context(), b.repo.WithTag("v2"))
	if err != nil || !slices.Contains(left.Children, shared) {
		t.Fatalf("the sibling is broken: %+v, %v", left, err)
	}
	b.wantLeft(append([]string{":v2", "@" + second}, at(left.Children)...)...)
	if got := b.remove(second, "v2"); !got.DigestDeleted || len(got.Kept) != 0 {
		t.Errorf("got %+v", got)
	}
	b.wantLeft()
}

func TestDebianRegistryIsProbedAndTaggedLikeAnyOther(t *testing.T) {
	b := newDebianBench(t)
	digest := b.pushImage("a", "amd64", ours)
	for range 2 {
		if err := b.Tag(t.Context(), b.repo, digest, "v1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.ProbePush(t.Context(), b.repo); err != nil {
		t.Fatal(err)
	}
	b.wantLeft("@"+digest, ":v1")
}

package image_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

var ours = map[string]string{ourLabel: "k"}

func isTag(r *http.Request, tag string) bool {
	return strings.HasSuffix(r.URL.Path, "/manifests/"+tag)
}

// digestsOnly refuses to delete by tag, as docker-registry 2.8 does.
func digestsOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/manifests/") && !reference.ValidDigest(path.Base(r.URL.Path)) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"errors":[{"code":"DIGEST_INVALID","message":"provided digest did not match uploaded content"}]}`)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (b bench) remove(digest string, tags ...string) image.Removed {
	b.Helper()
	got, err := b.Remove(b.Context(), image.Removal{Repository: b.repo, Digest: digest, Tags: tags, RequireLabel: ourLabel})
	if err != nil {
		b.Fatal(err)
	}
	return got
}

func TestRemoveDeletesAnImageThatOnlyWeTagged(t *testing.T) {
	b := newBench(t)
	digest := b.pushImage("a", "amd64", ours)
	b.tag(digest, "v1")
	if got := b.remove(digest, "v1"); !got.DigestDeleted || got.Forgotten != "" || len(got.Kept) != 0 {
		t.Errorf("got %+v", got)
	}
	b.wantLeft()
	if got := b.remove(digest, "v1"); !got.DigestDeleted || got.Forgotten != "" || len(got.Kept) != 0 {
		t.Errorf("again: got %+v", got)
	}
}

func TestRemoveOfAnIndexTakesItsChildrenAlong(t *testing.T) {
	b := newBench(t)
	index := b.pushIndex("a", map[string]string{"amd64": b.pushImage("a", "amd64", ours), "arm64": b.pushImage("a2", "arm64", ours)})
	b.tag(index, "v1")
	if n := len(b.left()); n != 5 {
		t.Fatalf("%d objects before", n)
	}
	if got := b.remove(index, "v1"); !got.DigestDeleted || len(got.Kept) != 0 {
		t.Errorf("got %+v", got)
	}
	b.wantLeft()
}

func TestRemoveLeavesChildrenThatOthersNeed(t *testing.T) {
	b := newBench(t)
	shared, tagged := b.pushImage("shared", "amd64", ours), b.pushImage("tagged", "arm64", ours)
	first := b.pushIndex("first", map[string]string{"amd64": shared, "arm64": tagged})
	second := b.pushIndex("second", map[string]string{"amd64": shared})
	b.tag(first, "v1")
	b.tag(second, "v2")
	b.tag(tagged, "theirs")
	if got := b.remove(first, "v1"); !got.DigestDeleted || len(got.Kept) != 0 {
		t.Errorf("got %+v", got)
	}
	left, err := b.Inspect(t.Context(), b.repo.WithTag("v2"))
	if err != nil {
		t.Fatalf("the other build is broken: %v", err)
	}
	b.wantLeft(append([]string{":v2", ":theirs", "@" + second, "@" + tagged}, at(left.Children)...)...)
	if got := b.remove(second, "v2"); !got.DigestDeleted {
		t.Errorf("got %+v", got)
	}
	b.wantLeft(":theirs", "@"+tagged)
}

func at(digests []string) []string {
	named := make([]string, len(digests))
	for i, digest := range digests {
		named[i] = "@" + digest
	}
	return named
}

func TestRemoveKnowsOurTagsThatStateMissed(t *testing.T) {
	b := newBench(t)
	digest := b.pushImage("a", "amd64", ours)
	for _, tag := range []string{"v1-00000001", "v2-00000001", "prod-v1-00000001"} {
		b.tag(digest, tag)
	}
	removal := image.Removal{Repository: b.repo, Digest: digest, Tags: []string{"v1-00000001"}, RequireLabel: ourLabel,
		Owns: func(tag string) bool { return tag == "v2-00000001" }}
	got, err := b.Remove(b.Context(), removal)
	if err != nil || got.DigestDeleted || !slices.Equal(got.Untagged, []string{"v1-00000001", "v2-00000001"}) || !slices.Equal(got.Others, []string{"prod-v1-00000001"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	b.wantLeft("@"+digest, ":prod-v1-00000001")
}

func TestRemoveLeavesAManifestThatATaggedIndexLists(t *testing.T) {
	b := newBench(t)
	child := b.pushImage("a", "amd64", ours)
	b.tag(child, "v1")
	b.tag(b.pushIndex("theirs", map[string]string{"amd64": child}), "theirs")
	got := b.remove(child, "v1")
	if got.DigestDeleted || !slices.Equal(got.Untagged, []string{"v1"}) || !slices.Equal(got.Others, []string{"theirs"}) || len(got.Kept) != 0 {
		t.Errorf("got %+v", got)
	}
	if _, err := b.Inspect(t.Context(), b.repo.WithTag("theirs")); err != nil {
		t.Errorf("the index is broken: %v", err)
	}
}

func TestRemoveSaysThatATagStillAnswersForAGoneDigest(t *testing.T) {
	var gone string
	b := newBench(t, enginetest.Fault(func(r *http.Request) *enginetest.FaultResponse {
		if gone == "" || !strings.HasSuffix(r.URL.Path, gone) {
			return nil
		}
		return &enginetest.FaultResponse{Status: http.StatusNotFound}
	}))
	digest := b.pushImage("a", "amd64", ours)
	b.tag(digest, "v1")
	gone = digest
	got := b.remove(digest, "v1", "v2")
	if !got.DigestDeleted || len(got.Kept) != 1 || !strings.HasSuffix(got.Kept[0].ID, ":v1") || !strings.Contains(got.Kept[0].Why, "still gives it") {
		t.Errorf("got %+v", got)
	}
}

func TestRemoveOfOurOwnDamagedImageLeavesNothing(t *testing.T) {
	b := newBench(t)
	missing := b.pushImage("missing", "amd64", ours)
	broken := b.pushIndex("broken", map[string]string{"amd64": missing, "arm64": b.pushImage("a", "arm64", ours)})
	b.tag(broken, "v1")
	if err := b.Delete(t.Context(), b.repo, missing); err != nil {
		t.Fatal(err)
	}
	got, err := b.Remove(b.Context(), image.Removal{Repository: b.repo, Digest: broken, Tags: []string{"v1"}})
	if err != nil || !got.DigestDeleted || len(got.Kept) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	b.wantLeft()
}

func TestRemoveTakesOnlyOurTagsFromADigestThatOthersTagged(t *testing.T) {
	b := newBench(t)
	digest := b.pushImage("a", "amd64", ours)
	for _, tag := range []string{"v1", "v1-again", "theirs"} {
		b.tag(digest, tag)
	}
	got := b.remove(digest, "v1", "v1-again")
	if got.DigestDeleted || !slices.Equal(got.Untagged, []string{"v1", "v1-again"}) || len(got.Kept) != 0 {
		t.Errorf("got %+v", got)
	}
	b.wantLeft("@"+digest, ":theirs")
}

func TestRemoveLeavesOurTagThatPointsElsewhere(t *testing.T) {
	b := newBench(t)
	digest, other := b.pushImage("a", "amd64", ours), b.pushImage("b", "amd64", nil)
	b.tag(other, "v1")
	if got := b.remove(digest, "v1"); !got.DigestDeleted || len(got.Untagged) != 0 {
		t.Errorf("got %+v", got)
	}
	b.wantLeft("@"+other, ":v1")

	b.tag(other, "theirs")
	b.tag(other, "ours")
	digest = b.pushImage("a", "amd64", ours)
	b.tag(digest, "theirs")
	if got := b.remove(digest, "v1"); got.DigestDeleted || len(got.Untagged) != 0 {
		t.Errorf("with another tag on the digest: got %+v", got)
	}
	b.wantLeft("@"+other, "@"+digest, ":v1", ":ours", ":theirs")
}

// TestTwoRemovalsOfOneDigestAtOnceLeaveNothing lets the second removal run between the first one's look at the tags
// and its untagging, so that each has seen the other's tag.
func TestTwoRemovalsOfOneDigestAtOnceLeaveNothing(t *testing.T) {
	var meanwhile func()
	b := newBench(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if run := meanwhile; run != nil && r.Method == http.MethodDelete {
				meanwhile = nil
				run()
			}
			next.ServeHTTP(w, r)
		})
	})
	digest := b.pushImage("a", "amd64", ours)
	b.tag(digest, "v1")
	b.tag(digest, "v2")
	var second image.Removed
	meanwhile = func() { second = b.remove(digest, "v2") }
	first := b.remove(digest, "v1")
	if second.DigestDeleted || !slices.Equal(second.Untagged, []string{"v2"}) || !first.DigestDeleted {
		t.Errorf("first %+v, second %+v", first, second)
	}
	b.wantLeft()
}

func TestRemoveForgetsAnImageThatIsNotProvenOurs(t *testing.T) {
	b := newBench(t)
	plain := b.pushImage("plain", "amd64", nil)
	labelled := b.pushImage("a", "arm64", ours)
	mixed := b.pushIndex("mixed", map[string]string{"amd64": plain, "arm64": labelled})
	missing := b.pushImage("missing", "amd64", ours)
	broken := b.pushIndex("broken", map[string]string{"amd64": missing, "arm64": labelled})
	if err := b.Delete(t.Context(), b.repo, missing); err != nil {
		t.Fatal(err)
	}
	before := b.left()
	for _, digest := range []string{plain, mixed, broken} {
		b.registry.ResetRequests()
		if got := b.remove(digest, "v1"); got.Forgotten == "" || got.DigestDeleted {
			t.Errorf("got %+v", got)
		}
	}
	if after := b.left(); len(after) != len(before) {
		t.Errorf("before %v, after %v", before, after)
	}
}

func TestRemoveWhereTagsCannotBeRemoved(t *testing.T) {
	b := newBench(t, digestsOnly)
	digest := b.pushImage("a", "amd64", ours)
	b.tag(digest, "v1")
	b.tag(digest, "theirs")
	got := b.remove(digest, "v1")
	want := []image.Kept{{What: "tag", ID: b.repo.String() + ":v1", Why: image.ErrCannotUntag.Error()}}
	if got.DigestDeleted || len(got.Untagged) != 0 || !slices.Equal(got.Kept, want) {
		t.Errorf("got %+v", got)
	}
	b.wantLeft("@"+digest, ":v1", ":theirs")
	if got := b.remove(digest, "v1", "theirs"); !got.DigestDeleted || len(got.Kept) != 0 {
		t.Errorf("got %+v", got)
	}
	b.wantLeft()
}

func TestRemoveOnlyUntagsWhereTheTagsAreTooMany(t *testing.T) {
	b := newBench(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/tags/list"):
				many := make([]string, 1001)
				for i := range many {
					many[i] = fmt.Sprintf("other-%d", i)
				}
				_ = json.NewEncoder(w).Encode(fields{"tags": many})
			case strings.Contains(r.URL.Path, "/manifests/other-"):
				w.WriteHeader(http.StatusNotFound)
			default:
				next.ServeHTTP(w, r)
			}
		})
	})
	digest := b.pushImage("a", "amd64", ours)
	b.tag(digest, "v1")
	got := b.remove(digest, "v1")
	if got.DigestDeleted || !slices.Equal(got.Untagged, []string{"v1"}) || len(got.Kept) != 1 || got.Kept[0].ID != b.repo.String()+"@"+digest {
		t.Errorf("got %+v", got)
	}
	b.wantLeft("@" + digest)
}

func TestRemoveNamesTheChildrenThatItCouldNotDelete(t *testing.T) {
	var child string
	b := newBench(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete && isTag(r, child) {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	child = b.pushImage("a", "amd64", ours)
	index := b.pushIndex("a", map[string]string{"amd64": child})
	b.tag(index, "v1")
	got := b.remove(index, "v1")
	if !got.DigestDeleted || len(got.Kept) != 1 || got.Kept[0].What != "manifest" || got.Kept[0].ID != b.repo.String()+"@"+child {
		t.Errorf("got %+v", got)
	}
	b.wantLeft("@" + child)
}

func TestRemoveThatCannotLookDeletesNothing(t *testing.T) {
	for name, fails := range map[string]func(r *http.Request) bool{
		"content": func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/manifests/")
		},
		"tags":     func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/tags/list") },
		"one head": func(r *http.Request) bool { return r.Method == http.MethodHead && isTag(r, "v1") },
	} {
		t.Run(name, func(t *testing.T) {
			armed := false
			b := newBench(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if armed && fails(r) {
						w.WriteHeader(http.StatusForbidden)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			digest := b.pushImage("a", "amd64", ours)
			b.tag(digest, "v1")
			armed = true
			got, err := b.Remove(t.Context(), image.Removal{Repository: b.repo, Digest: digest, Tags: []string{"v1"}, RequireLabel: ourLabel})
			if !image.Denied(err) || got.DigestDeleted || got.Forgotten != "" {
				t.Errorf("got %+v, %v", got, err)
			}
			b.wantLeft("@"+digest, ":v1")
		})
	}
}

// TestRemoveTrustsNoListThatContradictsItself has servers that know no list of tags: to take that for none would delete
// what somebody else has tagged.
func TestRemoveTrustsNoListThatContradictsItself(t *testing.T) {
	for name, list := range map[string]struct {
		status int
		body   string
		why    string
	}{
		"page not found":  {http.StatusNotFound, "<html>404 page not found</html>", "no list of tags (404)"},
		"not supported":   {http.StatusNotFound, `{"errors":[{"code":"UNSUPPORTED","message":"unsupported"}]}`, "no list of tags (404)"},
		"no repository":   {http.StatusNotFound, `{"errors":[{"code":"NAME_UNKNOWN","message":"repository name not known"}]}`, "leaves out v1"},
		"another's JSON":  {http.StatusOK, `{}`, "leaves out v1"},
		"one of two tags": {http.StatusOK, `{"name":"env","tags":["theirs"]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "/tags/list") {
						w.WriteHeader(list.status)
						_, _ = io.WriteString(w, list.body)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			digest := b.pushImage("a", "amd64", ours)
			b.tag(digest, "v1")
			b.tag(digest, "theirs")
			got := b.remove(digest, "v1")
			if got.DigestDeleted || !slices.Equal(got.Untagged, []string{"v1"}) {
				t.Errorf("got %+v", got)
			}
			if list.why == "" != (len(got.Kept) == 0) || len(got.Kept) > 0 && !strings.Contains(got.Kept[0].Why, list.why) {
				t.Errorf("kept %+v", got.Kept)
			}
			b.wantLeft("@"+digest, ":theirs")
		})
	}
}

func TestRemoveLeavesAnIndexThatATaggedIndexLists(t *testing.T) {
	b := newBench(t)
	child := b.pushImage("a", "amd64", ours)
	index := b.pushIndex("a", map[string]string{"amd64": child})
	nested := b.pushManifest(ocispec.MediaTypeImageIndex, fields{"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageIndex, "manifests": []fields{b.child(index, "linux", "amd64")}})
	b.tag(index, "v1")
	b.tag(nested, "all")
	left := b.left()
	delete(left, ":v1")
	if got := b.remove(index, "v1"); got.DigestDeleted || !slices.Equal(got.Others, []string{"all"}) || len(got.Kept) != 0 {
		t.Errorf("got %+v", got)
	}
	b.wantLeft(slices.Collect(maps.Keys(left))...)
}

func TestRemoveThatIsCancelledAfterTheIndexTakesTheChildrenAlong(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lists := 0
	b := newBench(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/tags/list") {
				// The second is the first request after the index went.
				if lists++; lists == 2 {
					cancel()
				}
			}
			next.ServeHTTP(w, r)
		})
	})
	index := b.pushIndex("a", map[string]string{"amd64": b.pushImage("a", "amd64", ours)})
	b.tag(index, "v1")
	got, err := b.Remove(ctx, image.Removal{Repository: b.repo, Digest: index, Tags: []string{"v1"}, RequireLabel: ourLabel})
	if err != nil || !got.DigestDeleted || len(got.Kept) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	b.wantLeft()
}

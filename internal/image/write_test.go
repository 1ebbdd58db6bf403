package image

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestProbePushCancelsTheUploadItStarted(t *testing.T) {
	f := newFake(t)
	f.on("POST", "blobs/uploads/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/v2/env/blobs/uploads/1?_state=x")
		w.WriteHeader(http.StatusAccepted)
	})
	f.on("DELETE", "blobs/uploads/1", answering(204, "", ""))
	c, _ := newClient(t, nil)
	if err := c.ProbePush(t.Context(), f.repo); err != nil {
		t.Fatal(err)
	}
	if log := f.requests(); !slices.Equal(log, []string{"POST blobs/uploads/", "DELETE blobs/uploads/1?_state=x"}) {
		t.Errorf("requests %q", log)
	}
}

func TestProbePushDoesNotFollowALocationElsewhere(t *testing.T) {
	f := newFake(t)
	f.on("POST", "blobs/uploads/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://127.0.0.1:1/upload")
		w.WriteHeader(http.StatusAccepted)
	})
	c, pauses := newClient(t, nil)
	if err := c.ProbePush(t.Context(), f.repo); err != nil || len(pauses.pause) != 0 {
		t.Errorf("got %v, %d pauses", err, len(pauses.pause))
	}
}

func TestProbePushSaysWhatIsMissing(t *testing.T) {
	tests := map[string]struct {
		answer       http.HandlerFunc
		title, words string
	}{
		"no repository": {registryError(404, "NAME_UNKNOWN", "no such repository"), "Repository does not exist", "NAME_UNKNOWN"},
		"no right":      {registryError(403, "DENIED", "no push"), "Push to the repository is not possible", "credentials"},
		"bare EOF":      {hangUp, "Registry closed the connection when asked for an upload", "repository does not exist"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("POST", "blobs/uploads/", tt.answer)
			c, _ := newClient(t, nil)
			p, _ := asProblem(t, c.ProbePush(t.Context(), f.repo))
			if p.Title != tt.title || p.Object != f.repo.String() {
				t.Errorf("title %q, object %q", p.Title, p.Object)
			}
			want(t, p.Detail(), tt.words)
		})
	}
}

func TestTagPutsTheSameBytesOnce(t *testing.T) {
	f := newFake(t)
	digest := f.manifest(map[string]any{"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageIndex}, ocispec.MediaTypeImageIndex)
	f.on("PUT", "manifests/v1", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Type") != ocispec.MediaTypeImageIndex {
			t.Errorf("put %s, %v", r.Header.Get("Content-Type"), err)
		}
		w.Header().Set("Docker-Content-Digest", digestOf(body))
		w.WriteHeader(http.StatusCreated)
	})
	c, _ := newClient(t, nil)
	if err := c.Tag(t.Context(), f.repo, digest, "v1"); err != nil {
		t.Fatal(err)
	}
	if log := f.requests(); !slices.Equal(log, []string{"GET manifests/" + digest, "PUT manifests/v1"}) {
		t.Errorf("requests %q", log)
	}
}

func TestTagOnAnImmutableTag(t *testing.T) {
	f := newFake(t)
	digest := f.manifest(map[string]any{"schemaVersion": 2}, ocispec.MediaTypeImageManifest, "same")
	f.manifest(map[string]any{"schemaVersion": 3}, ocispec.MediaTypeImageManifest, "taken")
	for _, tag := range []string{"same", "taken", "free"} {
		f.on("PUT", "manifests/"+tag, registryError(400, "TAG_INVALID", "the tag is immutable"))
	}
	f.manifest(map[string]any{"schemaVersion": 3}, ocispec.MediaTypeImageManifest, "broken")
	f.on("PUT", "manifests/broken", registryError(400, "MANIFEST_BLOB_UNKNOWN", "blob unknown to registry"))
	c, _ := newClient(t, nil)
	if err := c.Tag(t.Context(), f.repo, digest, "same"); err != nil {
		t.Errorf("the tag with our digest: %v", err)
	}
	p, _ := asProblem(t, c.Tag(t.Context(), f.repo, digest, "taken"))
	other := digestOf([]byte(`{"schemaVersion":3}`))
	for _, words := range []string{f.repo.String() + ":taken", digest, other, "new tag", "TAG_INVALID"} {
		want(t, p.Detail(), words)
	}
	p, _ = asProblem(t, c.Tag(t.Context(), f.repo, digest, "free"))
	if p.Title != "Tag was refused by the registry" {
		t.Errorf("title %q", p.Title)
	}
	want(t, p.Detail(), "the tag is immutable")
	// What the registry refuses then is the content, though the tag is there.
	if p, _ = asProblem(t, c.Tag(t.Context(), f.repo, digest, "broken")); p.Title != "Tag was refused by the registry" {
		t.Errorf("title %q", p.Title)
	}
}

func TestTagRefusesAnotherDigestBack(t *testing.T) {
	f := newFake(t)
	digest := f.manifest(map[string]any{"schemaVersion": 2}, ocispec.MediaTypeImageManifest)
	f.on("PUT", "manifests/v1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Docker-Content-Digest", someDigest)
		w.WriteHeader(http.StatusCreated)
	})
	c, _ := newClient(t, nil)
	_, e := asProblem(t, c.Tag(t.Context(), f.repo, digest, "v1"))
	want(t, e.Error(), someDigest)
}

func TestUntagTellsRegistriesThatDeleteByDigestOnly(t *testing.T) {
	tests := map[string]struct {
		answer http.HandlerFunc
		cannot bool
		fails  bool
	}{
		"202":                {answering(202, "", ""), false, false},
		"404":                {registryError(404, "MANIFEST_UNKNOWN", ""), false, false},
		"405":                {answering(405, "", ""), true, true},
		"400 DIGEST_INVALID": {registryError(400, "DIGEST_INVALID", "provided digest did not match"), true, true},
		"400 UNSUPPORTED":    {registryError(400, "UNSUPPORTED", ""), true, true},
		"400 other":          {registryError(400, "NAME_INVALID", ""), false, true},
		"403":                {registryError(403, "DENIED", ""), false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("DELETE", "manifests/v1", tt.answer)
			c, _ := newClient(t, nil)
			err := c.Untag(t.Context(), f.repo, "v1")
			if errors.Is(err, ErrCannotUntag) != tt.cannot || (err != nil) != tt.fails {
				t.Errorf("got %v", err)
			}
		})
	}
}

// page answers a list of tags, with a link to the next page if there is one.
func page(link string, tags ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if link != "" {
			w.Header().Set("Link", `<`+link+`>; rel="next"`)
		}
		quoted := make([]string, len(tags))
		for i, tag := range tags {
			quoted[i] = fmt.Sprintf("%q", tag)
		}
		_, _ = io.WriteString(w, `{"name":"env","tags":[`+strings.Join(quoted, ",")+`]}`)
	}
}

func TestTagsFollowsEveryPage(t *testing.T) {
	f := newFake(t)
	f.on("GET", "tags/list", page("/v2/env/tags/list?n=500&last=b", "a", "b"), page("", "c"))
	c, _ := newClient(t, nil)
	got, _, err := c.listTags(t.Context(), f.repo)
	if err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %q, %v", got, err)
	}
	if log := f.requests(); !slices.Equal(log, []string{"GET tags/list?n=500", "GET tags/list?n=500&last=b"}) {
		t.Errorf("requests %q", log)
	}
}

func TestTagsOfARepositoryThatIsNotThereAreNone(t *testing.T) {
	f := newFake(t)
	c, _ := newClient(t, nil)
	if got, _, err := c.listTags(t.Context(), f.repo); err != nil || len(got) != 0 {
		t.Errorf("got %q, %v", got, err)
	}
	f.on("GET", "tags/list", answering(200, "application/json", `{"name":"env","tags":null}`))
	if got, _, err := c.listTags(t.Context(), f.repo); err != nil || len(got) != 0 {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTagsRefusesPagesThatLeadAstray(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		words  string
	}{
		"same page for ever": {page("/v2/env/tags/list?n=500", "a"), "repeats a page"},
		"another host":       {page("http://127.0.0.1:1/v2/env/tags/list", "a"), "on another host, 127.0.0.1:1"},
		"HTML":               {answering(200, "text/html", "<html>"), "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("GET", "tags/list", tt.answer)
			c, _ := newClient(t, nil)
			_, _, err := c.TagsOf(t.Context(), f.repo, digestOf(nil))
			_, e := asProblem(t, err)
			want(t, e.Error(), "/tags/list: ")
			want(t, e.Error(), tt.words)
		})
	}
}

func TestTagsOfStopsAtAThousand(t *testing.T) {
	f := newFake(t)
	tags := make([]string, maxScanned+1)
	for i := range tags {
		tags[i] = fmt.Sprintf("t%04d", i)
	}
	f.manifest(map[string]any{"schemaVersion": 2}, ocispec.MediaTypeImageManifest, tags[0], tags[7], tags[maxScanned])
	digest := digestOf([]byte(`{"schemaVersion":2}`))
	f.on("GET", "tags/list", page("", tags...))
	c, _ := newClient(t, nil)
	got, complete, err := c.TagsOf(t.Context(), f.repo, digest)
	if err != nil || complete || !slices.Equal(got, []string{"t0000", "t0007"}) {
		t.Errorf("got %q, complete %v, %v", got, complete, err)
	}
	f.on("GET", "tags/list", page("", tags[:maxScanned]...))
	if _, complete, err = c.TagsOf(t.Context(), f.repo, digest); err != nil || !complete {
		t.Errorf("complete %v, %v", complete, err)
	}
	f.on("HEAD", "manifests/t0003", answering(403, "", ""))
	if _, _, err = c.TagsOf(t.Context(), f.repo, digest); !Denied(err) {
		t.Errorf("a tag that could not be looked at: %v", err)
	}
}

package image_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

func TestProbePushLeavesNothingBehind(t *testing.T) {
	b := newBench(t)
	if err := b.ProbePush(t.Context(), b.repo); err != nil {
		t.Fatal(err)
	}
	b.wantLeft()
}

func TestPresenceOfAnUntouchedImageCostsOneRequest(t *testing.T) {
	b := newBench(t)
	digest := b.pushImage("a", "amd64", nil)
	b.tag(digest, "v1")
	for _, tag := range []string{"v1", ""} {
		b.registry.ResetRequests()
		got, err := b.Presence(t.Context(), b.repo, digest, tag)
		if err != nil || got != (image.Presence{State: image.Present}) {
			t.Errorf("tag %q: got %+v, %v", tag, got, err)
		}
		if log := b.requests(); len(log) != 1 {
			t.Errorf("tag %q: requests %q", tag, log)
		}
	}
}

func TestPresenceTellsMovedFromGone(t *testing.T) {
	b := newBench(t)
	digest, other := b.pushImage("a", "amd64", nil), b.pushImage("b", "amd64", nil)
	b.tag(other, "v1")
	steps := []struct {
		name   string
		change func() error
		want   image.Presence
	}{
		{"tag points elsewhere", func() error { return nil }, image.Presence{State: image.PresentMoved, TagDigest: other}},
		{"tag missing", func() error { return b.Untag(t.Context(), b.repo, "v1") }, image.Presence{State: image.PresentMoved}},
		{"digest missing", func() error { return b.Delete(t.Context(), b.repo, digest) }, image.Presence{State: image.Gone}},
		{"digest missing, tag points elsewhere", func() error { return b.Tag(t.Context(), b.repo, other, "v1") }, image.Presence{State: image.Gone}},
	}
	for _, step := range steps {
		if err := step.change(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		b.registry.ResetRequests()
		got, err := b.Presence(t.Context(), b.repo, digest, "v1")
		if err != nil || got != step.want {
			t.Errorf("%s: got %+v, %v; want %+v", step.name, got, err, step.want)
		}
		if log := b.requests(); len(log) != 2 {
			t.Errorf("%s: requests %q", step.name, log)
		}
	}
}

func TestPresenceIsAnErrorUnlessTheRegistrySaysNotFound(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		b := newBench(t, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		})
		got, err := b.Presence(t.Context(), b.repo, absent, "v1")
		if !image.Denied(err) || got != (image.Presence{}) {
			t.Errorf("%d: got %+v, %v", status, got, err)
		}
	}
}

const absent = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestTagOfADigestThatIsNotThere(t *testing.T) {
	b := newBench(t)
	if err := b.Tag(t.Context(), b.repo, absent, "v1"); !image.NotFound(err) {
		t.Errorf("got %v", err)
	}
	b.wantLeft()
}

func TestTagsOfSeesEveryTagOfADigest(t *testing.T) {
	b := newBench(t)
	digest, other := b.pushImage("a", "amd64", nil), b.pushImage("b", "amd64", nil)
	for _, tag := range []string{"v2", "v1"} {
		b.tag(digest, tag)
	}
	b.tag(other, "v3")
	got, complete, err := b.TagsOf(t.Context(), b.repo, digest)
	if err != nil || !complete || !slices.Equal(got, []string{"v1", "v2"}) {
		t.Errorf("got %q, complete %v, %v", got, complete, err)
	}
}

func TestRetagPutsTheNewTagAndRemovesTheOld(t *testing.T) {
	b := newBench(t)
	digest := b.pushImage("a", "amd64", nil)
	b.tag(digest, "v1-old")
	kept, err := b.Retag(t.Context(), b.repo, digest, "v1-old", "v2-new")
	if err != nil || kept != "" {
		t.Errorf("kept %q, %v", kept, err)
	}
	b.wantLeft("@"+digest, ":v2-new")
}

func TestRetagLeavesAnOldTagThatMoved(t *testing.T) {
	b := newBench(t)
	digest, other := b.pushImage("a", "amd64", nil), b.pushImage("b", "amd64", nil)
	b.tag(other, "v1")
	if kept, err := b.Retag(t.Context(), b.repo, digest, "v1", "v2"); err != nil || kept != "" {
		t.Errorf("kept %q, %v", kept, err)
	}
	b.wantLeft("@"+digest, "@"+other, ":v1", ":v2")
}

func TestRetagKeepsTheOldTagWhereItCannotBeRemoved(t *testing.T) {
	b := newBench(t, digestsOnly)
	digest := b.pushImage("a", "amd64", nil)
	b.tag(digest, "v1")
	if kept, err := b.Retag(t.Context(), b.repo, digest, "v1", "v2"); err != nil || kept != "v1" {
		t.Errorf("kept %q, %v", kept, err)
	}
	b.wantLeft("@"+digest, ":v1", ":v2")
}

func TestRetagThatCannotPutTheNewTagRemovesNothing(t *testing.T) {
	b := newBench(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && isTag(r, "v2") {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	digest := b.pushImage("a", "amd64", nil)
	b.tag(digest, "v1")
	if _, err := b.Retag(t.Context(), b.repo, digest, "v1", "v2"); !image.Denied(err) {
		t.Errorf("got %v", err)
	}
	b.wantLeft("@"+digest, ":v1")
}

type credentials map[string]image.Credential

func (c credentials) Credential(_ context.Context, host string) (image.Credential, error) {
	return c[host], nil
}

func TestAllOperationsLogIn(t *testing.T) {
	for name, middleware := range map[string]func(http.Handler) http.Handler{
		"basic":  enginetest.BasicAuth(map[string]string{"u": "cnry-1"}, nil),
		"bearer": enginetest.TokenAuth("u", "cnry-1"),
	} {
		t.Run(name, func(t *testing.T) {
			var gate func(http.Handler) http.Handler
			b := newBench(t, func(next http.Handler) http.Handler {
				guarded := middleware(next)
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if gate == nil {
						next.ServeHTTP(w, r)
						return
					}
					guarded.ServeHTTP(w, r)
				})
			})
			digest := b.pushImage("a", "amd64", map[string]string{ourLabel: "k"})
			gate = middleware
			if err := b.ProbePush(t.Context(), b.repo); !image.Denied(err) {
				t.Errorf("without a login: %v", err)
			}
			host := b.repo.Host
			b.Client = image.New(image.Options{Credentials: credentials{host: {Username: "u", Password: secret.New("cnry-1")}}})
			if err := b.ProbePush(t.Context(), b.repo); err != nil {
				t.Error(err)
			}
			if err := b.Tag(t.Context(), b.repo, digest, "v1"); err != nil {
				t.Error(err)
			}
			got, err := b.Remove(t.Context(), image.Removal{Repository: b.repo, Digest: digest, Tags: []string{"v1"}, RequireLabel: ourLabel})
			if err != nil || !got.DigestDeleted {
				t.Errorf("got %+v, %v", got, err)
			}
			b.wantLeft()
		})
	}
}

func TestDeleteWhereTheRegistryForbidsIt(t *testing.T) {
	b := newBench(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	digest := b.pushImage("a", "amd64", nil)
	b.tag(digest, "v1")
	_, err := b.Remove(t.Context(), image.Removal{Repository: b.repo, Digest: digest, Tags: []string{"v1"}})
	var e *image.Error
	if !errors.As(err, &e) || e.Status != http.StatusMethodNotAllowed {
		t.Errorf("got %v", err)
	}
	b.wantLeft("@"+digest, ":v1")
}

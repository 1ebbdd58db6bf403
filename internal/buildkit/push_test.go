package buildkit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

func TestRefusedManifestIsToldFromTheBuildAndTheRetryRunsNothingAgain(t *testing.T) {
	var refused atomic.Bool
	b := newBench(t, enginetest.Fault(func(r *http.Request) *enginetest.FaultResponse {
		if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/manifests/") || !refused.CompareAndSwap(false, true) {
			return nil
		}
		return &enginetest.FaultResponse{Status: http.StatusForbidden, Header: http.Header{"Content-Type": {"text/plain"}}, Body: "token no longer valid"}
	}))
	request := b.request(t, "")
	printed := fmt.Sprintf("ran-%d", time.Now().UnixNano())
	request.Spec.PostInstall = []environment.Command{{Command: "echo " + strings.Replace(printed, "-", "''-", 1)}}
	log := &bytes.Buffer{}
	b.daemon.SetLogger(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	_, err := b.publish(t.Context(), request)
	var found *problem.Problem
	if !errors.As(err, &found) || found.Title != "Image was built but not pushed" {
		t.Fatalf("error is %v", err)
	}
	for _, words := range []string{request.Repository.String(), request.Repository.Host, "403 Forbidden", "token no longer valid", "the build finished", "expired"} {
		if !strings.Contains(found.Detail(), words) {
			t.Errorf("%q is not in the detail:\n%s", words, found.Detail())
		}
	}
	if strings.Contains(found.Detail(), "invalid character") {
		t.Errorf("the text is taken for JSON:\n%s", found.Detail())
	}
	if left := b.registry.Left(t); len(left) > 0 {
		t.Errorf("left in the registry: %v", left)
	}
	if strings.Count(log.String(), printed) != 1 {
		t.Fatalf("the command did not run once:\n%s", log)
	}
	log.Reset()
	if _, err := b.publish(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), printed) || !strings.Contains(log.String(), "step was cached") {
		t.Errorf("the retry built again:\n%s", log)
	}
}

// TestPushedImageThatLostAPartIsAnError has a deletion in the same repository at the same time, which takes a manifest along
// that the new index shares. Not every registry sees that when the tag is put.
func TestPushedImageThatLostAPartIsAnError(t *testing.T) {
	b := newBench(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/manifests/v1-0badcafe") {
				next.ServeHTTP(w, r)
				return
			}
			body, err := io.ReadAll(r.Body)
			var index ocispec.Index
			if err = errors.Join(err, json.Unmarshal(body, &index)); err != nil || len(index.Manifests) == 0 {
				t.Errorf("the tag is put on %s: %v", body, err)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
			lost := httptest.NewRequestWithContext(r.Context(), http.MethodDelete, path.Join(path.Dir(r.URL.Path), index.Manifests[0].Digest.String()), nil)
			lost.Host = r.Host
			next.ServeHTTP(httptest.NewRecorder(), lost)
		})
	})
	request := b.request(t, "")
	request.Attestations.Provenance = "max"
	_, err := b.publish(t.Context(), request)
	var found *problem.Problem
	if !errors.As(err, &found) || found.Title != "Pushed image is not whole" || !errors.Is(err, image.ErrIncomplete) || !strings.Contains(found.Detail(), "404") {
		t.Errorf("error is %v", err)
	}
}

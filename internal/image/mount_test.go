package image

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

var layerNames = []string{digestOf([]byte("one")), digestOf([]byte("two")), digestOf([]byte("three"))}

// uploads answers a POST for an upload: by layer where it asks for a mount, else with a session.
func (f *fake) uploads(mounts map[string]http.HandlerFunc, plain http.HandlerFunc) {
	f.on("POST", "blobs/uploads/", func(w http.ResponseWriter, r *http.Request) {
		layer := r.URL.Query().Get("mount")
		if layer == "" {
			plain(w, r)
			return
		}
		if r.URL.Query().Get("from") != "base" {
			registryError(400, "NAME_INVALID", r.URL.RawQuery)(w, r)
			return
		}
		mounts[layer](w, r)
	})
	f.on("DELETE", "blobs/uploads/1", answering(204, "", ""))
}

func session(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", "/v2/env/blobs/uploads/1")
	w.WriteHeader(http.StatusAccepted)
}

var mountDone = answering(201, "", "")

func mountOf(layer string) string {
	return "POST blobs/uploads/?" + url.Values{"from": {"base"}, "mount": {layer}}.Encode()
}

func TestMountOrProbe(t *testing.T) {
	const plain, cancel = "POST blobs/uploads/", "DELETE blobs/uploads/1"
	one, two, three := layerNames[0], layerNames[1], layerNames[2]
	denied := registryError(403, "DENIED", "no pull on base")
	tests := map[string]struct {
		elsewhere bool
		layers    []string
		mounts    map[string]http.HandlerFunc
		plain     http.HandlerFunc
		requests  []string
		reason    string
		title     string
	}{
		"all mounted": {layers: layerNames, mounts: map[string]http.HandlerFunc{one: mountDone, two: mountDone, three: mountDone},
			requests: []string{mountOf(one), mountOf(two), mountOf(three)}},
		"registry does not mount": {layers: layerNames, mounts: map[string]http.HandlerFunc{one: session},
			requests: []string{mountOf(one), cancel}, reason: "the registry opened an upload instead"},
		"registry mounts some": {layers: layerNames, mounts: map[string]http.HandlerFunc{one: mountDone, two: session, three: mountDone},
			requests: []string{mountOf(one), mountOf(two), mountOf(three), cancel}, reason: "for some layers"},
		"registry refuses some": {layers: layerNames, mounts: map[string]http.HandlerFunc{one: mountDone, two: denied, three: mountDone},
			requests: []string{mountOf(one), mountOf(two), mountOf(three)}, reason: "some layers were refused: POST"},
		"base not readable": {layers: layerNames, mounts: map[string]http.HandlerFunc{one: denied}, plain: session,
			requests: []string{mountOf(one), plain, cancel}, reason: "no pull on base"},
		"no login for the base": {layers: layerNames, mounts: map[string]http.HandlerFunc{one: answering(401, "", "")}, plain: session,
			requests: []string{mountOf(one), plain, cancel}, reason: "401 Unauthorized"},
		"target not writable": {layers: layerNames, mounts: map[string]http.HandlerFunc{one: denied}, plain: registryError(403, "DENIED", "no push"),
			requests: []string{mountOf(one), plain}, reason: "no pull on base", title: "Push to the repository is not possible"},
		"no target": {layers: layerNames, mounts: map[string]http.HandlerFunc{one: registryError(404, "NAME_UNKNOWN", "")}, plain: registryError(404, "NAME_UNKNOWN", "no such repository"),
			requests: []string{mountOf(one), plain}, reason: "404 Not Found", title: "Repository does not exist"},
		"two registries": {elsewhere: true, layers: layerNames, plain: session,
			requests: []string{plain, cancel}, reason: "in two registries"},
		"no layers": {plain: session,
			requests: []string{plain, cancel}, reason: "has no layers"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.uploads(tt.mounts, tt.plain)
			base := reference.Repository{Host: f.repo.Host, Path: "base"}
			if tt.elsewhere {
				base.Host = "base.example.com"
			}
			log := &bytes.Buffer{}
			c, _ := newClient(t, nil)
			c.logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			err := c.MountOrProbe(t.Context(), f.repo, base, tt.layers)
			if tt.title == "" && err != nil {
				t.Fatal(err)
			}
			if tt.title != "" {
				if p, _ := asProblem(t, err); p.Title != tt.title {
					t.Errorf("title %q, want %q", p.Title, tt.title)
				}
			}
			// What comes after the first request is concurrent.
			got, expected := f.requests(), slices.Clone(tt.requests)
			if got[0] != expected[0] {
				t.Errorf("the first request is %q, want %q", got[0], expected[0])
			}
			slices.Sort(got)
			slices.Sort(expected)
			if !slices.Equal(got, expected) {
				t.Errorf("requests %q, want %q", got, expected)
			}
			if lines := strings.Count(log.String(), "base layers cannot be mounted"); lines != min(1, len(tt.reason)) || !strings.Contains(log.String(), tt.reason) {
				t.Errorf("%d lines say why; want %q in:\n%s", lines, tt.reason, log)
			}
		})
	}
}

func TestAMountsTokenIsForTheBaseToo(t *testing.T) {
	f := newFake(t)
	var asked []string
	f.answers["GET /token"] = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query()["scope"]
		_ = json.NewEncoder(w).Encode(map[string]string{"token": strings.Join(asked, " ")})
	}}
	const scopes = "repository:base:pull repository:env:pull,push"
	f.uploads(map[string]http.HandlerFunc{layerNames[0]: f.bearer(scopes, mountDone)}, session)
	c, _ := newClient(t, loginOf("p"))
	base := reference.Repository{Host: f.repo.Host, Path: "base"}
	if err := c.MountOrProbe(t.Context(), f.repo, base, layerNames[:1]); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(asked, " "); got != scopes || slices.Contains(f.requests(), "POST blobs/uploads/") {
		t.Errorf("a token was asked for %q, requests %q", got, f.requests())
	}
}

package main

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// serve answers GET by path; manifests come with a digest.
func serve(t *testing.T, answers map[string]string) (host string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Docker-Content-Digest", "sha256:top")
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestInspectReadsAnIndexAndAManifest(t *testing.T) {
	tests := map[string]struct {
		manifest string
		want     map[string]string
	}{
		"index with an attestation": {
			`{"mediaType":"` + ocispec.MediaTypeImageIndex + `","manifests":[
				{"digest":"sha256:amd","platform":{"os":"linux","architecture":"amd64"}},
				{"digest":"sha256:arm","platform":{"os":"linux","architecture":"arm64","variant":"v8"}},
				{"digest":"sha256:att","platform":{"os":"unknown","architecture":"unknown"}}]}`,
			map[string]string{"linux/amd64": "sha256:amd", "linux/arm64/v8": "sha256:arm"},
		},
		"manifest": {
			`{"mediaType":"` + ocispec.MediaTypeImageManifest + `","config":{"digest":"sha256:config"}}`,
			map[string]string{"linux/amd64": "sha256:top"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			host := serve(t, map[string]string{
				"/v2/team/env/tags/list":             `{"tags":["v1-00c0ffee"]}`,
				"/v2/team/env/manifests/v1-00c0ffee": test.manifest,
				"/v2/team/env/blobs/sha256:config":   `{"os":"linux","architecture":"amd64"}`,
			})
			got, err := inspect(t.Context(), host, "team/env")
			if err != nil {
				t.Fatal(err)
			}
			if got.Tag != "v1-00c0ffee" || got.Digest != "sha256:top" || got.Reference != host+"/team/env@sha256:top" || !maps.Equal(got.Manifests, test.want) {
				t.Errorf("got %+v, want manifests %v", got, test.want)
			}
		})
	}
}

func TestConfigIsThatOfTheManifest(t *testing.T) {
	host := serve(t, map[string]string{
		"/v2/team/env/manifests/sha256:amd": `{"config":{"digest":"sha256:config"}}`,
		"/v2/team/env/blobs/sha256:config":  `{"os":"linux","config":{"Env":["TZ=UTC"]}}`,
	})
	config, err := configOf(t.Context(), host, "team/env", "sha256:amd")
	if err != nil || !slices.Equal(config.Env, []string{"TZ=UTC"}) {
		t.Errorf("%+v, %v", config, err)
	}
	if _, err := configOf(t.Context(), host, "team/env", "sha256:other"); err == nil || !strings.Contains(err.Error(), "404 Not Found") {
		t.Errorf("%v", err)
	}
}

func TestInspectWantsExactlyOneTag(t *testing.T) {
	for _, tags := range []string{`[]`, `["v1-00000000","v1-00000001"]`} {
		host := serve(t, map[string]string{"/v2/team/env/tags/list": `{"tags":` + tags + `}`})
		if _, err := inspect(t.Context(), host, "team/env"); err == nil || !strings.Contains(err.Error(), "want one") {
			t.Errorf("tags %s: %v", tags, err)
		}
	}
}

func TestInspectTellsWhatTheRegistrySaid(t *testing.T) {
	host := serve(t, nil)
	if _, err := inspect(t.Context(), host, "team/env"); err == nil || !strings.Contains(err.Error(), "404 Not Found") {
		t.Errorf("got %v", err)
	}
}

package provider_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
)

// foreignImage lets the registry answer as if it had an image with this config, by the tag "moving" and by its digest, which
// it gives. The image's one layer is never asked for.
func (s *stack) foreignImage(t *testing.T, platform [2]string, config map[string]any) (digest string) {
	t.Helper()
	encoded := func(document any) (string, string) {
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		return string(text), fmt.Sprintf("sha256:%x", sha256.Sum256(text))
	}
	blob, blobDigest := encoded(map[string]any{"os": platform[0], "architecture": platform[1], "config": config})
	manifest, digest := encoded(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": map[string]any{"mediaType": configType, "digest": blobDigest, "size": len(blob)},
		"layers": []any{map[string]any{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": "sha256:" + fmt.Sprintf("%064d", 0), "size": 1000}},
	})
	s.breakWith(func(r *http.Request) *enginetest.FaultResponse {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return nil
		}
		switch r.URL.Path {
		case "/v2/team/env/manifests/moving", "/v2/team/env/manifests/" + digest:
			return &enginetest.FaultResponse{Status: http.StatusOK, Body: manifest, Header: http.Header{
				"Content-Type": {manifestType}, "Docker-Content-Digest": {digest}, "Content-Length": {fmt.Sprint(len(manifest))},
			}}
		case "/v2/team/env/blobs/" + blobDigest:
			return &enginetest.FaultResponse{Status: http.StatusOK, Body: blob, Header: http.Header{"Content-Type": {"application/octet-stream"}}}
		case "/v2/team/env/tags/list":
			return &enginetest.FaultResponse{Status: http.StatusOK, Body: `{"name":"team/env","tags":["moving"]}`, Header: http.Header{"Content-Type": {"application/json"}}}
		}
		return nil
	})()
	return digest
}

package image_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// ourLabel marks the images that the tests push as ours.
const ourLabel = "ai.datalayer.cache-key"

type fields = map[string]any

// bench is a registry of the test's own, with a client and a repository on it.
type bench struct {
	*testing.T
	*image.Client
	registry *enginetest.Registry
	repo     reference.Repository
}

func newBench(t *testing.T, middleware ...func(http.Handler) http.Handler) bench {
	t.Helper()
	registry := enginetest.StartRegistry(t, middleware...)
	return bench{t, image.New(image.Options{}), registry, reference.Repository{Host: registry.Host, Path: "team/env"}}
}

// pushImage pushes a one-layer image and gives its digest; name makes its content unlike others'.
func (b bench) pushImage(name, arch string, labels map[string]string) string {
	b.Helper()
	layer, layerSize := b.pushBlob([]byte("layer of " + name))
	config, configSize := b.pushBlob(b.json(fields{"os": "linux", "architecture": arch, "config": fields{"Labels": labels}}))
	return b.pushManifest(ocispec.MediaTypeImageManifest, fields{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest,
		"config": fields{"mediaType": ocispec.MediaTypeImageConfig, "digest": config, "size": configSize},
		"layers": []fields{{"mediaType": ocispec.MediaTypeImageLayerGzip, "digest": layer, "size": layerSize}},
	})
}

// pushIndex pushes an index of images ("linux/" and the key) and of one attestation, and gives its digest.
func (b bench) pushIndex(name string, images map[string]string) string {
	b.Helper()
	attestation := b.pushImage("attestation of "+name, "unknown", nil)
	children := []fields{b.child(attestation, "unknown", "unknown")}
	for arch, digest := range images {
		children = append(children, b.child(digest, "linux", arch))
	}
	return b.pushManifest(ocispec.MediaTypeImageIndex, fields{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageIndex, "manifests": children,
	})
}

func (b bench) child(digest, os, arch string) fields {
	b.Helper()
	found, err := b.Head(b.Context(), b.repo, digest)
	if err != nil {
		b.Fatal(err)
	}
	return fields{
		"mediaType": found.MediaType, "digest": digest, "size": found.Size, "platform": fields{"os": os, "architecture": arch},
	}
}

func (b bench) pushBlob(content []byte) (digest string, size int) {
	b.Helper()
	digest = fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	started := b.do(http.MethodPost, b.url("blobs/uploads/"), "", nil, http.StatusAccepted)
	location, err := url.Parse(started.Get("Location"))
	if err != nil {
		b.Fatal(err)
	}
	query := location.Query()
	query.Set("digest", digest)
	location.RawQuery = query.Encode()
	base, err := url.Parse(b.url(""))
	if err != nil {
		b.Fatal(err)
	}
	b.do(http.MethodPut, base.ResolveReference(location).String(), "application/octet-stream", content, http.StatusCreated)
	return digest, len(content)
}

func (b bench) pushManifest(mediaType string, content any) string {
	b.Helper()
	raw := b.json(content)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(raw))
	b.do(http.MethodPut, b.url("manifests/"+digest), mediaType, raw, http.StatusCreated)
	return digest
}

func (b bench) tag(digest, tag string) {
	b.Helper()
	if err := b.Tag(b.Context(), b.repo, digest, tag); err != nil {
		b.Fatal(err)
	}
}

func (b bench) url(path string) string {
	return "http://" + b.repo.Host + "/v2/" + b.repo.Path + "/" + path
}

func (b bench) do(method, address, contentType string, body []byte, want int) http.Header {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		b.Fatalf("%s %s: %s, want %d: %s %v", method, address, response.Status, want, answer, err)
	}
	return response.Header
}

func (b bench) json(content any) []byte {
	b.Helper()
	raw, err := json.Marshal(content)
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

// left gives what the registry holds, without the repository's name: ":tag" and "@digest".
func (b bench) left() map[string]bool {
	b.Helper()
	left := map[string]bool{}
	for _, one := range b.registry.Left(b) {
		left[strings.TrimPrefix(one, b.repo.Path)] = true
	}
	return left
}

func (b bench) wantLeft(want ...string) {
	b.Helper()
	left := b.left()
	for _, one := range want {
		if !left[one] {
			b.Errorf("%s is gone", one)
		}
		delete(left, one)
	}
	for one := range left {
		b.Errorf("%s is left", one)
	}
}

// requests gives the methods and paths since the last reset, without /v2/<repository>/.
func (b bench) requests() []string {
	var log []string
	for _, r := range b.registry.Requests() {
		log = append(log, r.Method+" "+strings.TrimPrefix(r.Path, "/v2/"+b.repo.Path+"/"))
	}
	return log
}

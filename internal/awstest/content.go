package awstest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// PushImage puts a small image of linux/amd64 into a repository, past AWS, and gives its digest. Images of the same text
// are the same.
func (c *Cloud) PushImage(t testing.TB, account, region, name, text string, labels map[string]string, tags ...string) string {
	t.Helper()
	at := c.registry(t, account, region)
	layer := at.blob(t, name, ocispec.MediaTypeImageLayer, []byte(text))
	config, err := json.Marshal(ocispec.Image{Platform: ocispec.Platform{OS: "linux", Architecture: "amd64"}, Config: ocispec.ImageConfig{Labels: labels}})
	if err != nil {
		t.Fatal(err)
	}
	return at.put(t, name, ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: at.blob(t, name, ocispec.MediaTypeImageConfig, config), Layers: []ocispec.Descriptor{layer},
	}, tags)
}

// PushIndex puts an index of images that are there, and gives its digest.
func (c *Cloud) PushIndex(t testing.TB, account, region, name string, digests []string, tags ...string) string {
	t.Helper()
	at := c.registry(t, account, region)
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, child := range digests {
		got, err := at.ask(http.MethodGet, "/v2/"+name+"/manifests/"+child)
		if err != nil {
			t.Fatal(err)
		}
		index.Manifests = append(index.Manifests, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(child), Size: int64(len(got.body)), Platform: &ocispec.Platform{OS: "linux", Architecture: "amd64"}})
	}
	return at.put(t, name, ocispec.MediaTypeImageIndex, index, tags)
}

func (r *registry) put(t testing.TB, name, mediaType string, content any, tags []string) string {
	t.Helper()
	raw, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	sum := digest.FromBytes(raw).String()
	for _, object := range append([]string{sum}, tags...) {
		r.send(t, http.MethodPut, "/v2/"+name+"/manifests/"+object, mediaType, raw)
	}
	return sum
}

func (r *registry) blob(t testing.TB, name, mediaType string, content []byte) ocispec.Descriptor {
	t.Helper()
	started := r.send(t, http.MethodPost, "/v2/"+name+"/blobs/uploads/", "", nil)
	location, err := url.Parse(started.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	query := location.Query()
	query.Set("digest", digest.FromBytes(content).String())
	r.send(t, http.MethodPut, location.Path+"?"+query.Encode(), "application/octet-stream", content)
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
}

func (r *registry) send(t testing.TB, method, path, contentType string, body []byte) http.Header {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.backend.Host+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode > 299 {
		t.Fatalf("%s %s: %s", method, path, response.Status)
	}
	return response.Header
}

package awstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

// stored is an image as the registry keeps it.
type stored struct {
	digest, mediaType string
	tags              []string
	raw               []byte
}

// answer is what the registry behind says.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends a request to the registry behind.
func (r *registry) ask(method, path string) (answer, error) {
	request, err := http.NewRequest(method, "http://"+r.backend.Host+path, nil) //nolint:noctx // It is on loopback.
	if err != nil {
		return answer{}, err
	}
	request.Header["Accept"] = []string{
		ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex,
		"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json",
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, body}, err
}

// head is the digest of a tag or digest; empty if it is not there.
func (r *registry) head(name, object string) string {
	got, err := r.ask(http.MethodHead, "/v2/"+name+"/manifests/"+object)
	if err != nil || got.status != http.StatusOK {
		return ""
	}
	return got.header.Get("Docker-Content-Digest")
}

// images are all of a repository by digest, those without a tag and those within an index too.
func (r *registry) images(name string) (map[string]*stored, error) {
	content, err := engine.Contents(r.backend.Storage())
	if err != nil {
		return nil, err
	}
	found := map[string]*stored{}
	for _, manifest := range content.Manifests {
		in, digest, _ := strings.Cut(manifest, "@")
		if in != name {
			continue
		}
		got, err := r.ask(http.MethodGet, "/v2/"+name+"/manifests/"+digest)
		if err != nil {
			return nil, err
		}
		if got.status == http.StatusOK {
			found[digest] = &stored{digest: digest, mediaType: got.header.Get("Content-Type"), raw: got.body}
		}
	}
	for _, tag := range content.Tags {
		if in, name2, _ := strings.Cut(tag, ":"); in == name {
			if image := found[r.head(name, name2)]; image != nil {
				image.tags = append(image.tags, name2)
			}
		}
	}
	return found, nil
}

// holder is the digest of an index that lists this one; empty if none does.
func holder(images map[string]*stored, digest string) string {
	for _, of := range slices.Sorted(maps.Keys(images)) {
		var index struct{ Manifests []struct{ Digest string } }
		if of != digest && json.Unmarshal(images[of].raw, &index) == nil && slices.ContainsFunc(index.Manifests, func(m struct{ Digest string }) bool { return m.Digest == digest }) {
			return of
		}
	}
	return ""
}

// remove deletes by tag or digest.
func (r *registry) remove(name, object string) error {
	got, err := r.ask(http.MethodDelete, "/v2/"+name+"/manifests/"+object)
	if err == nil && got.status != http.StatusAccepted {
		err = fmt.Errorf("DELETE %s %s: %d %s", name, object, got.status, bytes.TrimSpace(got.body))
	}
	return err
}

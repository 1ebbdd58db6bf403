package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// published is what the registry says of the environment's repository.
type published struct {
	Digest    string            `json:"digest"`
	Reference string            `json:"reference"`
	Tag       string            `json:"tag"`
	Manifests map[string]string `json:"manifests"`
}

// inspect asks the registry, with nothing but plain HTTP, for the one tag of the repository, the digest that it points to
// and the image manifest of each platform.
func inspect(ctx context.Context, host, repository string) (*published, error) {
	base := "http://" + host + "/v2/" + repository
	var tags struct {
		Tags []string `json:"tags"`
	}
	if _, err := get(ctx, base+"/tags/list", "application/json", &tags); err != nil {
		return nil, err
	}
	if len(tags.Tags) != 1 {
		return nil, fmt.Errorf("repository %s/%s has %d tags %q, want one", host, repository, len(tags.Tags), tags.Tags)
	}
	p := &published{Tag: tags.Tags[0], Manifests: map[string]string{}}
	var manifest struct {
		MediaType string               `json:"mediaType"`
		Manifests []ocispec.Descriptor `json:"manifests"`
		Config    ocispec.Descriptor   `json:"config"`
	}
	accept := ocispec.MediaTypeImageIndex + ", " + ocispec.MediaTypeImageManifest
	header, err := get(ctx, base+"/manifests/"+p.Tag, accept, &manifest)
	if err != nil {
		return nil, err
	}
	p.Digest = header.Get("Docker-Content-Digest")
	p.Reference = host + "/" + repository + "@" + p.Digest
	if manifest.MediaType == ocispec.MediaTypeImageIndex {
		for _, child := range manifest.Manifests {
			if child.Platform != nil && child.Platform.OS != "unknown" {
				p.Manifests[platformName(*child.Platform)] = child.Digest.String()
			}
		}
		return p, nil
	}
	var config ocispec.Image
	if _, err := get(ctx, base+"/blobs/"+manifest.Config.Digest.String(), "*/*", &config); err != nil {
		return nil, err
	}
	p.Manifests[platformName(config.Platform)] = p.Digest
	return p, nil
}

// configOf reads the config of an image manifest.
func configOf(ctx context.Context, host, repository, digest string) (*ocispec.ImageConfig, error) {
	base := "http://" + host + "/v2/" + repository
	var manifest ocispec.Manifest
	if _, err := get(ctx, base+"/manifests/"+digest, ocispec.MediaTypeImageManifest, &manifest); err != nil {
		return nil, err
	}
	var image ocispec.Image
	if _, err := get(ctx, base+"/blobs/"+manifest.Config.Digest.String(), "*/*", &image); err != nil {
		return nil, err
	}
	return &image.Config, nil
}

func platformName(p ocispec.Platform) string {
	return strings.TrimSuffix(p.OS+"/"+p.Architecture+"/"+p.Variant, "/")
}

func get(ctx context.Context, url, accept string, into any) (http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header["Accept"] = strings.Split(accept, ", ")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("GET %s: %s: %s", url, response.Status, body), err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, fmt.Errorf("GET %s: %w", url, err)
	}
	return response.Header, nil
}

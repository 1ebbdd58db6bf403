package image

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

type fields = map[string]any

// platformImage serves a one-layer image and of Linux, and gives its descriptor in an index.
func (f *fake) platformImage(arch, variant string, labels map[string]string, layer string) (digest string, size int64) {
	config, configSize := f.blob(fields{"os": "linux", "architecture": arch, "variant": variant, "config": fields{"Labels": labels, "Env": []string{"LANG=C.UTF-8"}, "User": "1000:100"}})
	digest = f.manifest(fields{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest,
		"config": fields{"mediaType": ocispec.MediaTypeImageConfig, "digest": config, "size": configSize},
		"layers": []fields{{"digest": layer, "size": 1000}},
	}, ocispec.MediaTypeImageManifest)
	return digest, int64(configSize)
}

func child(digest, os, arch, variant string) fields {
	platform := fields{"os": os, "architecture": arch}
	if variant != "" {
		platform["variant"] = variant
	}
	return fields{"mediaType": ocispec.MediaTypeImageManifest, "digest": digest, "size": 1, "platform": platform}
}

func TestInspectReadsAnIndexWithoutItsAttestations(t *testing.T) {
	f := newFake(t)
	amd, amdConfig := f.platformImage("amd64", "", map[string]string{"a": "1"}, "sha256:shared")
	arm, armConfig := f.platformImage("arm64", "v8", nil, "sha256:shared")
	attested := child(someDigest, "unknown", "unknown", "")
	index := f.manifest(fields{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageIndex,
		"manifests": []fields{child(amd, "linux", "amd64", ""), attested, child(arm, "linux", "arm64", "v8")},
	}, ocispec.MediaTypeImageIndex, "v1")
	c, _ := newClient(t, nil)
	got, err := c.Inspect(t.Context(), f.repo.WithTag("v1"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest != index || got.MediaType != ocispec.MediaTypeImageIndex {
		t.Errorf("digest %s, media type %s", got.Digest, got.MediaType)
	}
	if want := map[string]string{"linux/amd64": amd, "linux/arm64": arm}; !maps.Equal(got.Manifests, want) {
		t.Errorf("manifests %v, want %v", got.Manifests, want)
	}
	if want := []string{amd, someDigest, arm}; !slices.Equal(got.Children, want) {
		t.Errorf("children %v, want %v", got.Children, want)
	}
	config := got.Configs["linux/amd64"]
	if config.Labels["a"] != "1" || config.User != "1000:100" || !slices.Equal(config.Env, []string{"LANG=C.UTF-8"}) || digestOf(config.Raw) == "" {
		t.Errorf("config %+v", config)
	}
	size := 1000 + amdConfig + armConfig
	for _, digest := range []string{index, amd, arm} {
		found, err := c.Head(t.Context(), f.repo, digest)
		if err != nil {
			t.Fatal(err)
		}
		size += found.Size
	}
	if got.SizeBytes != size {
		t.Errorf("size %d, want %d", got.SizeBytes, size)
	}
}

func TestAttestationsThatWereNotCopiedAreNone(t *testing.T) {
	f := newFake(t)
	amd, _ := f.platformImage("amd64", "", nil, "sha256:l")
	f.manifest(fields{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageIndex, "manifests": []fields{child(amd, "linux", "amd64", ""), child(someDigest, "unknown", "unknown", "")},
	}, ocispec.MediaTypeImageIndex, "v1")
	c, _ := newClient(t, nil)
	found, err := c.Inspect(t.Context(), f.repo.WithTag("v1"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Attestations(t.Context(), f.repo, found); err != nil || got == nil || len(got) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	f.on("GET", "manifests/"+someDigest, registryError(403, "DENIED", "no access"))
	if _, err := c.Attestations(t.Context(), f.repo, found); !Denied(err) {
		t.Errorf("attestations that may not be read: %v", err)
	}
}

func TestInspectTakesAManifestsPlatformFromItsConfig(t *testing.T) {
	f := newFake(t)
	digest, _ := f.platformImage("arm64", "v8", nil, "sha256:l")
	c, _ := newClient(t, nil)
	got, err := c.Inspect(t.Context(), f.repo.WithTag("ignored").WithDigest(digest))
	if err != nil || !maps.Equal(got.Manifests, map[string]string{"linux/arm64": digest}) || len(got.Children) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if len(f.requests()) != 2 {
		t.Errorf("requests %q", f.requests())
	}
}

func TestInspectReadsTheWholeConfig(t *testing.T) {
	f := newFake(t)
	config, size := f.blob(fields{"os": "linux", "architecture": "amd64", "config": fields{
		"Volumes": fields{"/b": fields{}, "/a": fields{}}, "OnBuild": []string{"RUN true"}, "StopSignal": "SIGQUIT", "Entrypoint": []string{"/bin/tini", "--"}, "Cmd": []string{"sh"},
	}})
	digest := f.manifest(fields{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest, "config": fields{"mediaType": ocispec.MediaTypeImageConfig, "digest": config, "size": size},
	}, ocispec.MediaTypeImageManifest)
	c, _ := newClient(t, nil)
	found, err := c.Inspect(t.Context(), f.repo.WithDigest(digest))
	if err != nil {
		t.Fatal(err)
	}
	got := found.Configs["linux/amd64"]
	if !slices.Equal(got.Volumes, []string{"/a", "/b"}) || !slices.Equal(got.OnBuild, []string{"RUN true"}) || got.StopSignal != "SIGQUIT" ||
		!slices.Equal(got.Entrypoint, []string{"/bin/tini", "--"}) || !slices.Equal(got.Cmd, []string{"sh"}) {
		t.Errorf("got %+v", got)
	}
}

func TestInspectOfAnImageWithAMissingPartIsNotGone(t *testing.T) {
	f := newFake(t)
	index := f.manifest(fields{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageIndex, "manifests": []fields{child(someDigest, "linux", "amd64", "")},
	}, ocispec.MediaTypeImageIndex)
	c, _ := newClient(t, nil)
	_, err := c.Inspect(t.Context(), f.repo.WithDigest(index))
	if !errors.Is(err, ErrIncomplete) || NotFound(err) {
		t.Errorf("got %v", err)
	}
}

func TestInspectRefusesWhatIsNoImage(t *testing.T) {
	f := newFake(t)
	config, size := f.blob(fields{"name": "chart"})
	chart := f.manifest(fields{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest, "config": fields{"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": config, "size": size},
	}, ocispec.MediaTypeImageManifest)
	old := f.manifest(fields{"schemaVersion": 1}, "application/vnd.docker.distribution.manifest.v1+prettyjws")
	c, _ := newClient(t, nil)
	for _, digest := range []string{chart, old} {
		if _, err := c.Inspect(t.Context(), f.repo.WithDigest(digest)); !errors.Is(err, ErrNotImage) {
			t.Errorf("got %v", err)
		}
	}
}

func TestInspectRefusesAConfigThatIsNotTheOneNamed(t *testing.T) {
	f := newFake(t)
	digest := f.manifest(fields{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest, "config": fields{"digest": someDigest, "size": 2},
	}, ocispec.MediaTypeImageManifest)
	f.on("GET", "blobs/"+someDigest, answering(http.StatusOK, "", "{}"))
	c, _ := newClient(t, nil)
	_, err := c.Inspect(t.Context(), f.repo.WithDigest(digest))
	if _, e := asProblem(t, err); !Transient(err) {
		t.Errorf("got %v", e)
	}
}

func TestResolvePinsATagAndLeavesADigest(t *testing.T) {
	f := newFake(t)
	digest := f.manifest(fields{"schemaVersion": 2}, ocispec.MediaTypeImageManifest, "v1")
	c, _ := newClient(t, nil)
	got, err := c.Resolve(t.Context(), f.repo.WithTag("v1"))
	if err != nil || got.String() != f.repo.String()+":v1@"+digest {
		t.Errorf("got %s, %v", got, err)
	}
	pinned, err := c.Resolve(t.Context(), f.repo.WithDigest(someDigest))
	if err != nil || pinned != f.repo.WithDigest(someDigest) || len(f.requests()) != 1 {
		t.Errorf("got %s, %v after %q", pinned, err, f.requests())
	}
	_, err = c.Resolve(t.Context(), f.repo.WithTag("v2"))
	if p, _ := asProblem(t, err); p.Title != "Image tag could not be resolved" || !NotFound(err) {
		t.Errorf("got %v", err)
	}
}

package enginetest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// predicateAnnotation is where a layer of an attestation says which statement it is.
const predicateAnnotation = "in-toto.io/predicate-type"

// Sweep searches all that the registry keeps, manifests and blobs, for the canaries, and gives how many of each kind it
// looked at: a media type, with the predicate type behind it for an in-toto statement, or "" for what no manifest names.
func (r *Registry) Sweep(t testing.TB, secrets Canaries) map[string]int {
	t.Helper()
	root := filepath.Join(r.backend.Storage, "docker", "registry", "v2", "blobs", "sha256")
	contents := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == root {
			return nil
		}
		if err != nil || entry.Name() != "data" {
			return err
		}
		data, err := os.ReadFile(path)
		contents["sha256:"+filepath.Base(filepath.Dir(path))] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	kinds := kindsOf(contents)
	looked := map[string]int{}
	for digest, data := range contents {
		kind := kinds[digest]
		if strings.HasSuffix(kind, "+zstd") {
			t.Errorf("%s is %s, which the search cannot unpack", digest, kind)
		}
		looked[kind]++
		for _, name := range secrets.Found(data) {
			t.Errorf("%s is in %s, which is %q", name, digest, kind)
		}
	}
	return looked
}

// kindsOf reads what each blob is from the manifests among them.
func kindsOf(contents map[string][]byte) map[string]string {
	type descriptor struct {
		MediaType, Digest string
		Annotations       map[string]string
	}
	kinds := map[string]string{}
	for digest, data := range contents {
		var manifest struct {
			MediaType         string
			Config            descriptor
			Layers, Manifests []descriptor
		}
		if json.Unmarshal(data, &manifest) != nil || manifest.MediaType == "" {
			continue
		}
		kinds[digest] = manifest.MediaType
		for _, listed := range append(append(manifest.Layers, manifest.Manifests...), manifest.Config) {
			if kinds[listed.Digest] == "" {
				kinds[listed.Digest] = strings.TrimSpace(listed.MediaType + " " + listed.Annotations[predicateAnnotation])
			}
		}
	}
	return kinds
}

package e2b

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"
)

// epoch is the time that every file of ours carries: equal content is equal bytes, and so one upload.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// packed is the archive of a folder with these files, by their paths within it. A COPY step takes it by the folder's name.
func packed(folder string, files map[string][]byte) (Archive, error) {
	var compressed bytes.Buffer
	zipped := gzip.NewWriter(&compressed)
	out := tar.NewWriter(zipped)
	made := map[string]bool{}
	mkdir := func(name string) error {
		if made[name] {
			return nil
		}
		made[name] = true
		return out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: epoch, Format: tar.FormatUSTAR})
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full := path.Join(folder, name)
		var parents []string
		for parent := path.Dir(full); parent != "."; parent = path.Dir(parent) {
			parents = append(parents, parent)
		}
		for _, parent := range slices.Backward(parents) {
			if err := mkdir(parent); err != nil {
				return Archive{}, fmt.Errorf("archive of %s: %w", folder, err)
			}
		}
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: full, Mode: 0o644, Size: int64(len(files[name])), ModTime: epoch, Format: tar.FormatUSTAR}); err != nil {
			return Archive{}, fmt.Errorf("archive of %s: %w", folder, err)
		}
		if _, err := out.Write(files[name]); err != nil {
			return Archive{}, fmt.Errorf("archive of %s: %w", folder, err)
		}
	}
	if err := out.Close(); err != nil {
		return Archive{}, fmt.Errorf("archive of %s: %w", folder, err)
	}
	if err := zipped.Close(); err != nil {
		return Archive{}, fmt.Errorf("archive of %s: %w", folder, err)
	}
	return Archive{Hash: HashOf(compressed.Bytes()), Tar: compressed.Bytes()}, nil
}

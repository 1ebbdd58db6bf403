package e2b

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Archive is what a COPY step takes: a gzipped tar, under a hash that E2B never computes itself and only compares.
type Archive struct {
	// Hash is 64 hex digits.
	Hash string
	Tar  []byte
}

// ArchivedFile is one file of an archive.
type ArchivedFile struct {
	// Path is relative, clean and slash-separated: the source of a COPY, or below it.
	Path string
	// Mode are the permission bits. A COPY with a mode of its own overrides them.
	Mode    fs.FileMode
	Content []byte
}

// Pack makes an archive. Its hash is of paths, modes and contents alone: the same files have the same hash whatever
// their order, and whatever release packs them.
func Pack(files ...ArchivedFile) (Archive, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b ArchivedFile) int { return strings.Compare(a.Path, b.Path) })
	var content bytes.Buffer
	packed := gzip.NewWriter(&content)
	archive := tar.NewWriter(packed)
	digest := sha256.New()
	for i, file := range files {
		if !fs.ValidPath(file.Path) || file.Path == "." || i > 0 && files[i-1].Path == file.Path {
			return Archive{}, fmt.Errorf("the archive cannot have a file %q, or not twice", file.Path)
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: file.Path, Mode: int64(file.Mode.Perm()), Size: int64(len(file.Content)), Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return Archive{}, fmt.Errorf("%s: %w", file.Path, err)
		}
		if _, err := archive.Write(file.Content); err != nil {
			return Archive{}, fmt.Errorf("%s: %w", file.Path, err)
		}
		for _, part := range [][]byte{[]byte(file.Path), []byte(file.Mode.Perm().String()), file.Content} {
			digest.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
			digest.Write(part)
		}
	}
	if err := archive.Close(); err != nil {
		return Archive{}, err
	}
	if err := packed.Close(); err != nil {
		return Archive{}, err
	}
	return Archive{Hash: hex.EncodeToString(digest.Sum(nil)), Tar: content.Bytes()}, nil
}

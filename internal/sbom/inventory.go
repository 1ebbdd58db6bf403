// Package sbom lists what is installed in the root file system of an image, every Debian package and every Python
// distribution, and writes the list as an SPDX 2.3 document in the in-toto statement that BuildKit's scanner protocol
// asks for. The command in generator is the scanner.
package sbom

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Package is one installed package at one place: a distribution that is installed at two places is two packages.
type Package struct {
	// Type is the package's type as a purl names it: "deb" or "pypi".
	Type string
	// Name is the name as published.
	Name string
	// Version is the version as published.
	Version string
	// Architecture is Debian's: "amd64", "all"; "" for a Python distribution.
	Architecture string
	// Source is the Debian source package and its version, "glibc 2.41-12"; "" for a Python distribution.
	Source string
	// Location is the absolute path in the image of what says that the package is installed: the database of dpkg, or
	// the distribution's *.dist-info, *.egg-info or EGG-INFO.
	Location string
	// License is the license expression as published, "" where there is none.
	License string
	// PURL is the package URL.
	PURL string
}

// Inventory is what a root file system holds.
type Inventory struct {
	// Packages are sorted by type, name, version, architecture and location.
	Packages []Package
	// Skipped are the things that look like packages and could not be listed, "/path: reason", sorted.
	Skipped []string
}

// Scan lists what is installed in a root file system, which a symlink must not be able to leave: os.Root.FS is one.
// Things that are not what they should be are skipped and reported; what cannot be read is an error.
func Scan(root fs.FS) (*Inventory, error) {
	s := &scan{root: root}
	if err := errors.Join(s.debian(), s.python()); err != nil {
		return nil, err
	}
	slices.SortFunc(s.found.Packages, func(a, b Package) int {
		return cmp.Or(
			cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version),
			cmp.Compare(a.Architecture, b.Architecture), cmp.Compare(a.Location, b.Location),
		)
	})
	s.found.Packages = slices.Compact(s.found.Packages)
	slices.Sort(s.found.Skipped)
	return &s.found, nil
}

type scan struct {
	root  fs.FS
	found Inventory
}

func (s *scan) skip(path string, reason error) {
	s.found.Skipped = append(s.found.Skipped, fmt.Sprintf("/%s: %v", path, reason))
}

// unusable is the reason why a thing cannot be listed, where the file system itself is in order.
type unusable string

func (u unusable) Error() string { return string(u) }

const (
	missing   = unusable("it is missing")
	irregular = unusable("it is not a regular file")
	escaping  = unusable("it is a symlink that leads out of the image or is absolute")
)

// open opens a regular file; nothing else, because a pipe would never end. The error is unusable where there is none.
func (s *scan) open(path string) (io.ReadCloser, error) {
	info, err := fs.Stat(s.root, path)
	switch {
	case err == nil && info.Mode().IsRegular():
		return s.root.Open(path)
	case err == nil:
		return nil, irregular
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing
	case s.isLink(path):
		return nil, escaping
	}
	return nil, err
}

func (s *scan) isLink(path string) bool {
	info, err := fs.Lstat(s.root, path)
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

// header reads the header fields named, in lower case, from the first stanza of the file at path.
func (s *scan) header(path string, names ...string) (map[string]string, error) {
	file, err := s.open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return newStanzas(file).next(names...)
}

// asUnusable tells the reasons to skip from the errors to fail with.
func asUnusable(err error) (reason unusable, ok bool) {
	ok = errors.As(err, &reason)
	return reason, ok
}

func absent(fields map[string]string, names ...string) error {
	var absent []string
	for _, name := range names {
		if fields[strings.ToLower(name)] == "" {
			absent = append(absent, name)
		}
	}
	if absent == nil {
		return nil
	}
	return unusable("it has no " + strings.Join(absent, " and no "))
}

package sbom

import (
	"io/fs"
	"path"
	"strings"
)

// notContent are directories that a running system fills; what an image has there is not installed.
var notContent = map[string]bool{"dev": true, "proc": true, "run": true, "sys": true}

// python lists every distribution, wherever it is: in the system's site-packages, in virtual environments, vendored in
// another distribution, or unpacked in a cache. Directories that are symlinks are not entered, as they lead to a place
// that is visited anyway or that is outside.
func (s *scan) python() error {
	return fs.WalkDir(s.root, ".", func(location string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if notContent[location] {
			return skipDirectory(entry)
		}
		name := entry.Name()
		switch {
		case strings.HasSuffix(name, ".dist-info"):
			return s.distribution(location, "METADATA")
		case strings.HasSuffix(name, ".egg-info"), name == "EGG-INFO":
			return s.distribution(location, "PKG-INFO")
		case strings.HasSuffix(name, ".egg") && entry.Type().IsRegular():
			s.skip(location, unusable("distributions in zipped eggs are not read"))
		}
		return nil
	})
}

func skipDirectory(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// distribution lists the distribution whose metadata is at location, a directory with this file or, as distutils wrote
// them, an *.egg-info that is the file.
func (s *scan) distribution(location, file string) error {
	metadata := path.Join(location, file)
	info, err := fs.Stat(s.root, location)
	switch {
	case err != nil && s.isLink(location):
		s.skip(location, escaping)
		return nil
	case err != nil:
		return err
	case !info.IsDir() && strings.HasSuffix(location, ".egg-info"):
		metadata = location
	case !info.IsDir():
		s.skip(location, unusable("it is not a directory"))
		return nil
	}
	fields, err := s.header(metadata, "name", "version", "license-expression")
	if err == nil {
		err = absent(fields, "Name", "Version")
	}
	if reason, ok := asUnusable(err); ok {
		s.skip(metadata, reason)
		return nil
	}
	if err != nil {
		return err
	}
	s.found.Packages = append(s.found.Packages, Package{
		Type: "pypi", Name: fields["name"], Version: fields["version"], License: fields["license-expression"],
		Location: "/" + location, PURL: pythonPURL(fields["name"], fields["version"]),
	})
	return nil
}

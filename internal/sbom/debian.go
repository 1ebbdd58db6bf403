package sbom

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

const (
	dpkgStatus = "var/lib/dpkg/status"
	// Images without a package manager keep a stanza a file here, most of them without a status.
	dpkgStatusDirectory = "var/lib/dpkg/status.d"
)

// release is what os-release says of the distribution.
type release struct{ id, version string }

func (s *scan) debian() error {
	release, err := s.release()
	if err != nil {
		return err
	}
	databases := 0
	err = s.stanzas(dpkgStatus, release)
	if reason, ok := asUnusable(err); ok {
		if reason != missing {
			s.skip(dpkgStatus, reason)
		}
	} else if err != nil {
		return err
	} else {
		databases++
	}

	entries, err := fs.ReadDir(s.root, dpkgStatusDirectory)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() || strings.HasSuffix(entry.Name(), ".md5sums") {
			continue
		}
		name := path.Join(dpkgStatusDirectory, entry.Name())
		err := s.stanzas(name, release)
		if reason, ok := asUnusable(err); ok {
			s.skip(name, reason)
		} else if err != nil {
			return err
		} else {
			databases++
		}
	}
	if databases == 0 {
		s.skip(path.Dir(dpkgStatus), unusable("there is no database of dpkg, so that no Debian package is listed"))
	}
	return nil
}

// stanzas lists the packages of a file in dpkg's format.
func (s *scan) stanzas(name string, release release) error {
	file, err := s.open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	for stanzas := newStanzas(file); ; {
		fields, err := stanzas.next("package", "status", "version", "architecture", "source")
		if fields == nil || err != nil {
			return err
		}
		installed, err := isInstalled(fields["status"], name != dpkgStatus)
		if err == nil && !installed {
			continue
		}
		if err == nil {
			err = absent(fields, "Package", "Version", "Architecture")
		}
		if err != nil {
			s.skip(name, fmt.Errorf("package %q: %w", fields["package"], err))
			continue
		}
		found := Package{
			Type: "deb", Name: fields["package"], Version: fields["version"], Architecture: fields["architecture"],
			Source: source(fields), Location: "/" + name,
		}
		found.PURL = debianPURL(release, found)
		s.found.Packages = append(s.found.Packages, found)
	}
}

// isInstalled reads a status, "install ok installed". Its first word is a wish (a package on hold is installed too). A
// package whose triggers or configuration are pending has its files in place.
func isInstalled(status string, mayBeAbsent bool) (bool, error) {
	words := strings.Fields(status)
	if len(words) == 0 && mayBeAbsent {
		return true, nil
	}
	if len(words) == 3 {
		switch words[2] {
		case "installed", "triggers-pending", "triggers-awaited", "half-configured", "unpacked":
			return true, nil
		case "not-installed", "config-files", "half-installed":
			return false, nil
		}
	}
	return false, unusable(fmt.Sprintf("its status is %q", status))
}

// source gives the source package and its version. The field names only what differs from the package's own.
func source(fields map[string]string) string {
	name, version, _ := strings.Cut(fields["source"], "(")
	name, version = strings.TrimSpace(name), strings.TrimRight(version, ") ")
	if name == "" {
		name = fields["package"]
	}
	if version == "" {
		version = fields["version"]
	}
	return name + " " + version
}

// release reads os-release. An image need not have one.
func (s *scan) release() (release, error) {
	found := release{id: "debian"}
	for _, name := range []string{"etc/os-release", "usr/lib/os-release"} {
		file, err := s.open(name)
		if reason, ok := asUnusable(err); ok {
			if reason != missing {
				s.skip(name, reason)
			}
			continue
		}
		if err != nil {
			return release{}, err
		}
		defer file.Close()
		values := map[string]string{}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			name, value, _ := strings.Cut(strings.TrimSpace(lines.Text()), "=")
			values[name] = strings.Trim(value, `"'`)
		}
		if values["ID"] != "" {
			found.id = values["ID"]
		}
		found.version = values["VERSION_ID"]
		if found.version == "" {
			found.version = values["VERSION_CODENAME"]
		}
		return found, lines.Err()
	}
	return found, nil
}

package sbom_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/datalayer/terraform-provider-datalayer/internal/sbom"
)

func file(lines ...string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(strings.Join(lines, "\n") + "\n")}
}

func link(to string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink}
}

const packages = "usr/lib/python3/dist-packages/"

// debian is a small Debian with all that Scan has to know.
func debian() fstest.MapFS {
	return fstest.MapFS{
		"etc/os-release":     link("../usr/lib/os-release"),
		"usr/lib/os-release": file(`PRETTY_NAME="Debian GNU/Linux 13 (trixie)"`, `VERSION_ID="13"`, "VERSION_CODENAME=trixie", "ID=debian"),
		"var/lib/dpkg/status": file(
			"Package: libc6", "Status: install ok installed", "Architecture: amd64", "Multi-Arch: same", "Source: glibc",
			"Version: 2.41-12", "Description: GNU C Library", " Version: 0 is a line of the description", "",
			"Package: libstdc++6", "Status: install ok installed", "Architecture: amd64", "Source: gcc-14 (14.2.0-19)", "Version: 1:14.2.0+really~2-19", "",
			"Package: python3-dateutil", "Status: hold ok installed", "Architecture: all", "Source: python-dateutil", "Version: 2.9.0-4", "",
			"Package: removed", "Status: deinstall ok config-files", "Architecture: amd64", "Version: 1", "",
			"Package: triggered", "Status: install ok triggers-pending", "Architecture: amd64", "Version: 1", "",
			"Package: triggered", "Status: install ok triggers-pending", "Architecture: amd64", "Version: 1"),
		packages + "python_dateutil-2.9.0.dist-info/METADATA": file("Metadata-Version: 2.1", "Name: python-dateutil", "Version: 2.9.0", "License: Dual License", "", "Version: 7 is text"),
		packages + "wheel-0.46.1.dist-info/METADATA":          file("Metadata-Version: 2.4\r", "Name: wheel\r", "Version: 0.46.1\r", "License-Expression: MIT\r"),
		packages + "old_style.egg-info":                       file("Metadata-Version: 1.1", "Name: Old.Style", "Version: 1.0"),
		packages + "developed.egg-info/PKG-INFO":              file("\ufeffName: developed", "Version: 1.0.dev0"),
		"opt/eggs/packed-3.egg/EGG-INFO/PKG-INFO":             file("Name: packed", "Version: 3"),
		"opt/venv/lib/python3.13/site-packages/ruamel.yaml-0.18.6.dist-info/METADATA": file(
			"Name: ruamel.yaml", "Version: 0.18.6+cu12", "License-Expression: MIT OR", "  Apache-2.0"),
		"opt/venv/lib64": link("lib"),
		// The same distribution twice is two packages.
		"home/datalayer/wheel-0.46.1.dist-info/METADATA": file("Name: wheel", "Version: 0.46.1", "License-Expression: LicenseRef-Own"),
		"proc/1/root/ghost-1.dist-info/METADATA":         file("Name: ghost", "Version: 1"),
		"run/ghost-1.dist-info/METADATA":                 file("Name: ghost", "Version: 1"),
	}
}

func purls(inventory *sbom.Inventory) []string {
	var purls []string
	for _, p := range inventory.Packages {
		purls = append(purls, p.PURL+" "+p.Location)
	}
	return purls
}

func scan(t *testing.T, root fs.FS) *sbom.Inventory {
	t.Helper()
	inventory, err := sbom.Scan(root)
	if err != nil {
		t.Fatal(err)
	}
	return inventory
}

func TestScanListsWhatIsInstalled(t *testing.T) {
	inventory := scan(t, debian())
	want := []string{
		"pkg:deb/debian/libc6@2.41-12?arch=amd64&distro=debian-13 /var/lib/dpkg/status",
		"pkg:deb/debian/libstdc%2B%2B6@1:14.2.0%2Breally~2-19?arch=amd64&distro=debian-13 /var/lib/dpkg/status",
		"pkg:deb/debian/python3-dateutil@2.9.0-4?arch=all&distro=debian-13 /var/lib/dpkg/status",
		"pkg:deb/debian/triggered@1?arch=amd64&distro=debian-13 /var/lib/dpkg/status",
		"pkg:pypi/old-style@1.0 /usr/lib/python3/dist-packages/old_style.egg-info",
		"pkg:pypi/developed@1.0.dev0 /usr/lib/python3/dist-packages/developed.egg-info",
		"pkg:pypi/packed@3 /opt/eggs/packed-3.egg/EGG-INFO",
		"pkg:pypi/python-dateutil@2.9.0 /usr/lib/python3/dist-packages/python_dateutil-2.9.0.dist-info",
		"pkg:pypi/ruamel-yaml@0.18.6%2Bcu12 /opt/venv/lib/python3.13/site-packages/ruamel.yaml-0.18.6.dist-info",
		"pkg:pypi/wheel@0.46.1 /home/datalayer/wheel-0.46.1.dist-info",
		"pkg:pypi/wheel@0.46.1 /usr/lib/python3/dist-packages/wheel-0.46.1.dist-info",
	}
	if diff := cmp.Diff(want, purls(inventory)); diff != "" {
		t.Error(diff)
	}
	if len(inventory.Skipped) != 0 {
		t.Errorf("skipped %q", inventory.Skipped)
	}
	got := map[string]sbom.Package{}
	for _, p := range inventory.Packages {
		got[p.Name] = p
	}
	for name, source := range map[string]string{"libc6": "glibc 2.41-12", "libstdc++6": "gcc-14 14.2.0-19", "triggered": "triggered 1"} {
		if got[name].Source != source {
			t.Errorf("%s comes from source %q, want %q", name, got[name].Source, source)
		}
	}
	if got["ruamel.yaml"].License != "MIT OR Apache-2.0" || got["Old.Style"].Version != "1.0" {
		t.Errorf("as published: %+v, %+v", got["ruamel.yaml"], got["Old.Style"])
	}
}

func TestScanReadsImagesWithoutPackageManager(t *testing.T) {
	inventory := scan(t, fstest.MapFS{
		"usr/lib/os-release":                        file("ID='debian'", "VERSION_CODENAME=sid"),
		"var/lib/dpkg/status.d/base-files":          file("Package: base-files", "Version: 13.8", "Architecture: arm64"),
		"var/lib/dpkg/status.d/base-files.md5sums":  file("0123  etc/debian_version"),
		"var/lib/dpkg/status.d/dGltZXpvbmUtZGF0YQo": file("Package: tzdata", "Version: 2025b-4", "Architecture: all"),
	})
	want := []string{
		"pkg:deb/debian/base-files@13.8?arch=arm64&distro=debian-sid /var/lib/dpkg/status.d/base-files",
		"pkg:deb/debian/tzdata@2025b-4?arch=all&distro=debian-sid /var/lib/dpkg/status.d/dGltZXpvbmUtZGF0YQo",
	}
	if diff := cmp.Diff(want, purls(inventory)); diff != "" || len(inventory.Skipped) != 0 {
		t.Errorf("%s\nskipped %q", diff, inventory.Skipped)
	}
}

func TestScanReportsWhatItSkips(t *testing.T) {
	const info = "lib/x-1.dist-info"
	status := file("Package: p", "Status: install ok installed", "Architecture: all", "Version: 1")
	tests := map[string]struct {
		root fstest.MapFS
		want string
	}{
		"no METADATA":        {fstest.MapFS{info + "/RECORD": file("")}, "/lib/x-1.dist-info/METADATA: it is missing"},
		"empty METADATA":     {fstest.MapFS{info + "/METADATA": file("")}, "/lib/x-1.dist-info/METADATA: it has no Name and no Version"},
		"no Name":            {fstest.MapFS{info + "/METADATA": file("Version: 1", "", "Name: body")}, "/lib/x-1.dist-info/METADATA: it has no Name"},
		"empty Version":      {fstest.MapFS{info + "/METADATA": file("Name: x", "Version:")}, "/lib/x-1.dist-info/METADATA: it has no Version"},
		"METADATA is a pipe": {fstest.MapFS{info + "/METADATA": {Mode: fs.ModeNamedPipe}}, "/lib/x-1.dist-info/METADATA: it is not a regular file"},
		"dangling METADATA":  {fstest.MapFS{info + "/METADATA": link("gone")}, "/lib/x-1.dist-info/METADATA: it is missing"},
		"dist-info is a file": {
			fstest.MapFS{info: file("Name: x", "Version: 1")}, "/lib/x-1.dist-info: it is not a directory"},
		"no PKG-INFO": {fstest.MapFS{"lib/x.egg-info/SOURCES.txt": file("")}, "/lib/x.egg-info/PKG-INFO: it is missing"},
		"zipped egg":  {fstest.MapFS{"lib/x.egg": file("PK")}, "/lib/x.egg: distributions in zipped eggs are not read"},
		"no dpkg": {
			fstest.MapFS{"var/lib/dpkg/status": nil}, "/var/lib/dpkg: there is no database of dpkg, so that no Debian package is listed"},
		"package without Version": {
			fstest.MapFS{"var/lib/dpkg/status": file("Package: p", "Status: install ok installed", "Architecture: all")},
			`/var/lib/dpkg/status: package "p": it has no Version`},
		"package without Status": {
			fstest.MapFS{"var/lib/dpkg/status": file("Package: p", "Architecture: all", "Version: 1")}, `/var/lib/dpkg/status: package "p": its status is ""`},
		"os-release is a directory": {
			fstest.MapFS{"etc/os-release/x": file("")}, "/etc/os-release: it is not a regular file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if given, ok := test.root["var/lib/dpkg/status"]; !ok {
				test.root["var/lib/dpkg/status"] = status
			} else if given == nil {
				delete(test.root, "var/lib/dpkg/status")
			}
			inventory := scan(t, test.root)
			if diff := cmp.Diff([]string{test.want}, inventory.Skipped); diff != "" {
				t.Error(diff)
			}
			for _, p := range inventory.Packages {
				if p.Type == "pypi" || p.Location == "/var/lib/dpkg/status" && test.root["var/lib/dpkg/status"] != status {
					t.Errorf("listed %+v", p)
				}
			}
			document, err := sbom.NewDocument("sbom", inventory, time.Unix(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			if want := "Not listed (1):\n" + test.want; document.Comment != want {
				t.Errorf("comment %q, want %q", document.Comment, want)
			}
		})
	}
}

// On a real file system, links out of the root lead nowhere, and what cannot be read is an error rather than a gap.
func TestScanStaysInsideTheRoot(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	symlink := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(inside, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outside, "secret-1.dist-info", "METADATA"), "Name: secret\nVersion: 1\n")
	write(filepath.Join(inside, "lib", "real-1.dist-info", "METADATA"), "Name: real\nVersion: 1\n")
	write(filepath.Join(inside, "lib", "linked-1.dist-info", "RECORD"), "")
	write(filepath.Join(inside, "var/lib/dpkg/status"), "")
	symlink(outside, "elsewhere")
	symlink(filepath.Join(outside, "secret-1.dist-info"), "secret-1.dist-info")
	symlink(filepath.Join(outside, "secret-1.dist-info", "METADATA"), "lib/linked-1.dist-info/METADATA")
	symlink("lib", "lib64")
	symlink("real-1.dist-info", "lib/again-1.dist-info")

	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	inventory := scan(t, root.FS())
	const escaping = ": it is a symlink that leads out of the image or is absolute"
	if diff := cmp.Diff([]string{"/lib/linked-1.dist-info/METADATA" + escaping, "/secret-1.dist-info" + escaping}, inventory.Skipped); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"pkg:pypi/real@1 /lib/again-1.dist-info", "pkg:pypi/real@1 /lib/real-1.dist-info"}, purls(inventory)); diff != "" {
		t.Error(diff)
	}
}

// broken cannot list one of its directories.
type broken struct{ fstest.MapFS }

func (b broken) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "opt/venv" {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrPermission}
	}
	return b.MapFS.ReadDir(name)
}

func TestScanFailsOnWhatItCannotRead(t *testing.T) {
	if inventory, err := sbom.Scan(broken{debian()}); err == nil || !strings.Contains(err.Error(), "opt/venv") {
		t.Errorf("scan of an unreadable directory: %v, %v", inventory, err)
	}
}

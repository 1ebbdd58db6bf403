package sbom

import "testing"

func TestPURLs(t *testing.T) {
	trixie := release{id: "debian", version: "13"}
	for want, got := range map[string]string{
		"pkg:deb/debian/libc6@2.41-12?arch=amd64&distro=debian-13":               debianPURL(trixie, Package{Name: "libc6", Version: "2.41-12", Architecture: "amd64"}),
		"pkg:deb/debian/g%2B%2B@4:14.2.0-1?arch=amd64&distro=debian-13":          debianPURL(trixie, Package{Name: "g++", Version: "4:14.2.0-1", Architecture: "amd64"}),
		"pkg:deb/debian/vim@2:9.1~rc1%2Bdfsg-1%2Bb2?arch=arm64&distro=debian-13": debianPURL(trixie, Package{Name: "vim", Version: "2:9.1~rc1+dfsg-1+b2", Architecture: "arm64"}),
		"pkg:deb/ubuntu/tini@0.19.0-1?arch=all&distro=ubuntu-24.04":              debianPURL(release{"ubuntu", "24.04"}, Package{Name: "tini", Version: "0.19.0-1", Architecture: "all"}),
		"pkg:deb/debian/tini@0.19.0-1?arch=all":                                  debianPURL(release{id: "debian"}, Package{Name: "tini", Version: "0.19.0-1", Architecture: "all"}),
		"pkg:deb/my%20debian/tini@1?arch=all&distro=My%20Debian-1%26x%3Dy":       debianPURL(release{"My Debian", "1&x=y"}, Package{Name: "tini", Version: "1", Architecture: "all"}),
		"pkg:pypi/ruamel-yaml@0.18":                                              pythonPURL("ruamel.yaml", "0.18"),
		"pkg:pypi/a-b-c@1":                                                       pythonPURL("A._-B__c", "1"),
		"pkg:pypi/torch@2.8.0%2Bcu128":                                           pythonPURL("torch", "2.8.0+cu128"),
		"pkg:pypi/old@1%211.0rc1":                                                pythonPURL("old", "1!1.0rc1"),
		"pkg:pypi/caf%C3%A9@1%2F2%3F3%234%405%256":                               pythonPURL("Café", "1/2?3#4@5%6"),
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestLicenseExpressions(t *testing.T) {
	for text, want := range map[string]bool{
		"MIT": true, "Apache-2.0 OR MIT": true, "GPL-2.0+": true, "GPL-2.0-only WITH Classpath-exception-2.0": true,
		"(MIT AND (BSD-3-Clause OR 0BSD))": true, "MIT AND (GPL-2.0-only WITH Classpath-exception-2.0)": true,
		"": false, "MIT License": false, "AND": false, "MIT AND": false, "MIT OR OR MIT": false, "(MIT": false, "MIT)": false, "()": false,
		"MIT WITH": false, "(MIT) WITH X": false, "MIT or Apache-2.0": false, "LicenseRef-Own": false, "MIT OR LicenseRef-Own": false,
		"DocumentRef-a:LicenseRef-b": false, "MIT, BSD": false, "NONE": false, "NOASSERTION OR MIT": false,
	} {
		if got := isLicenseExpression(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

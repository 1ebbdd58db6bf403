package sbom

import (
	"fmt"
	"regexp"
	"strings"
)

func debianPURL(release release, p Package) string {
	purl := fmt.Sprintf("pkg:deb/%s/%s@%s?arch=%s",
		escape(strings.ToLower(release.id)), escape(strings.ToLower(p.Name)), escape(p.Version), escape(p.Architecture))
	if release.version != "" {
		purl += "&distro=" + escape(release.id+"-"+release.version)
	}
	return purl
}

var separators = regexp.MustCompile(`[-_.]+`)

// pythonPURL names the distribution as PEP 503 does: scanners look it up by that name.
func pythonPURL(name, version string) string {
	return "pkg:pypi/" + escape(strings.ToLower(separators.ReplaceAllString(name, "-"))) + "@" + escape(version)
}

// escape percent-encodes all but the characters that the purl specification wants as they are, the colon among them.
func escape(text string) string {
	var escaped strings.Builder
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(".-_~:", c) >= 0:
			escaped.WriteByte(c)
		default:
			fmt.Fprintf(&escaped, "%%%02X", c)
		}
	}
	return escaped.String()
}

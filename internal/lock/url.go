package lock

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

// maxURL is what servers and caches commonly take.
const maxURL = 2048

var urlHash = lazyregexp.New(`^(sha256|sha384|sha512)=[0-9A-Fa-f]+$`)

// lockedURL checks the URL of a requirement and gives it without its fragment. No cause shows more of the URL than its
// file name. fragment is "algorithm:hex" for a hash in the URL, which adds nothing and must be among the --hash options.
func lockedURL(raw string) (clean, fragment, cause string) {
	if len(raw) > maxURL {
		return "", "", fmt.Sprintf("the URL has %d characters; at most %d are allowed", len(raw), maxURL)
	}
	for i := range len(raw) {
		if c := raw[i]; c <= ' ' || c > '~' || strings.IndexByte("\"<>\\^`{|};'", c) >= 0 {
			return "", "", fmt.Sprintf("the URL holds the character %U, which must be percent-encoded", c)
		}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", "", "this is not a valid URL; look for a \"%\" that is no percent-encoding"
	}
	switch {
	case !strings.EqualFold(u.Scheme, "https"):
		return "", "", fmt.Sprintf("the scheme is %s; only https is allowed", shown(u.Scheme))
	case u.User != nil:
		return "", "", "the URL holds a user or password; a lock is not secret"
	case u.Hostname() == "":
		return "", "", "the URL has no host"
	case u.RawQuery != "" || u.ForceQuery:
		return "", "", "the URL has a query, which may hold a credential and may change what is served"
	}
	clean, fragment, hasFragment := strings.Cut(raw, "#")
	if !hasFragment {
		return "https" + clean[len("https"):], "", ""
	}
	if !urlHash.MatchString(fragment) {
		return "", "", "the URL has a fragment that is no sha256, sha384 or sha512 hash"
	}
	return "https" + clean[len("https"):], strings.ToLower(strings.Replace(fragment, "=", ":", 1)), ""
}

// versionInURL reads the version from the name of the wheel or source archive that the URL names, which must be one of
// the package's.
func versionInURL(raw, name string) (version, cause string) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", "this is not a valid URL"
	}
	escaped := u.EscapedPath()
	file, err := url.PathUnescape(escaped[strings.LastIndexByte(escaped, '/')+1:])
	if err != nil {
		return "", "the file name in the URL is not percent-encoded correctly"
	}
	return versionInFile(file, name)
}

// versionInFile reads the version from the name of a wheel or source archive, which must be one of the package's.
func versionInFile(file, name string) (version, cause string) {
	if stem, isWheel := strings.CutSuffix(file, ".whl"); isWheel {
		parts := strings.Split(stem, "-")
		if len(parts) != 5 && len(parts) != 6 {
			return "", fmt.Sprintf("%s is not the name of a wheel", shown(file))
		}
		if NormalName(parts[0]) != name {
			return "", fmt.Sprintf("%s is a wheel of %s, not of %s", shown(file), shown(NormalName(parts[0])), name)
		}
		version, ok := normalVersion(strings.ReplaceAll(parts[1], "_", "-"))
		if !ok {
			return "", fmt.Sprintf("%s in %s is not a version", shown(parts[1]), shown(file))
		}
		return version, ""
	}
	stem, isArchive := strings.CutSuffix(file, ".tar.gz")
	if !isArchive {
		stem, isArchive = strings.CutSuffix(file, ".zip")
	}
	if !isArchive {
		return "", fmt.Sprintf("%s is neither a wheel nor a .tar.gz or .zip", shown(file))
	}
	for i := range len(stem) {
		if stem[i] != '-' || NormalName(stem[:i]) != name {
			continue
		}
		if version, ok := normalVersion(stem[i+1:]); ok {
			return version, ""
		}
	}
	return "", fmt.Sprintf("%s does not begin with %s- and a version", shown(file), name)
}

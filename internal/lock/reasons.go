package lock

import (
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

const relock = "Make the lock with `uv pip compile --generate-hashes`"

var (
	orphanHash     = reason{"Hash without a requirement in the lock", "End the line above with a backslash and nothing after it."}
	brokenLine     = reason{"Blank after a backslash in the lock", "Let the backslash be the last character of its line."}
	noHash         = reason{"Requirement without a hash in the lock", relock + ", so that every requirement has its hashes."}
	weakHash       = reason{"Weak hash in the lock", "Give the SHA-256, SHA-384 or SHA-512 of the file: `pip hash <file>` prints it."}
	unknownHash    = reason{"Unknown hash algorithm in the lock", "Write `--hash=sha256:<64 hex digits>`; sha384 and sha512 work too."}
	malformedHash  = reason{"Malformed hash in the lock", "Write `--hash=sha256:<64 hex digits>`, as `uv pip compile --generate-hashes` does."}
	environmentVar = reason{"Environment variable in the lock", "Write the value; a lock that depends on where it is read is none. For a file behind a login write `name==version`: the lock names no index, and pip asks package_index where the resource has it, else the one in the base's pip configuration."}
	nestedFile     = reason{"Nested requirements file in the lock", "Compile the other file into this one: `uv pip compile --generate-hashes` reads both."}
	editable       = reason{"Editable requirement in the lock", "Build a wheel, publish it, and lock it by name and version."}
	indexOption    = reason{"Package index option in the lock", "Remove the line: packages come from package_index where the resource has it, else from the index in the base's pip configuration (`/etc/pip.conf`), else from pip's default."}
	fileOption     = reason{"Option line in the lock", "Remove the line: the lock is always installed with hashes required and exactly as pinned."}
	unknownOption  = reason{"Unknown option in the lock", "Remove the line; `--hash` is the only option of a lock, and it follows a requirement."}
	lineOption     = reason{"Option other than --hash in the lock", "Remove the option; a requirement takes only `--hash`."}
	localPath      = reason{"Local path in the lock", "Build a wheel, publish it, and lock it by name and version; the builder sees no local files."}
	vcsBranch      = reason{"Version-control requirement without a commit in the lock", "Build a wheel of one commit, publish it, and lock it by name and version."}
	vcsCommit      = reason{"Version-control requirement in the lock", "Build a wheel of this commit, publish it, and lock it by name and version or by its https URL."}
	namelessURL    = reason{"URL requirement without a name in the lock", "Write `name @ https://… --hash=sha256:…`."}
	badURL         = reason{"URL requirement that cannot be locked", "Write `name @ https://host/path/name-version-….whl --hash=sha256:…`."}
	urlFile        = reason{"URL requirement of unknown version", "Name a wheel, .tar.gz or .zip whose file name gives the package's name and version; what a lock installs must be known."}
	unpinned       = reason{"Requirement without a version in the lock", "Pin it: `name==version`. " + relock + "."}
	rangeSpecifier = reason{"Version range in the lock", "Pin one version with `==`. " + relock + "."}
	wildcard       = reason{"Version wildcard in the lock", "Pin one full version with `==`. " + relock + "."}
	arbitrary      = reason{"Arbitrary equality in the lock", "Write `==` in place of `===`."}
	twoSpecifiers  = reason{"Two version specifiers in the lock", "Pin one version with `==`. " + relock + "."}
	badVersion     = reason{"Invalid version in the lock", "Write a version by PEP 440, such as `1.26.4` or `2.0+local.1`."}
	badMarker      = reason{"Invalid marker in the lock", "Write a marker by PEP 508, such as `; python_version < '3.13' and sys_platform == 'linux'`."}
	badExtras      = reason{"Invalid extras in the lock", "Write extras as `name[extra1,extra2]==version`."}
	unreadable     = reason{"Unreadable line in the lock", "Write `name==version --hash=sha256:…`, one requirement a line; a backslash too many joins two."}
	afterHashes    = reason{"Text after the hashes of a requirement in the lock", "Remove it, or the backslash at the end of the line before it."}
	duplicate      = reason{"Package twice in the lock", "Keep one of the two, or give both markers that exclude each other."}
)

var (
	shortOptions = map[string]reason{"-r": nestedFile, "-c": nestedFile, "-e": editable, "-i": indexOption, "-f": indexOption}
	longOptions  = map[string]reason{
		"--requirement": nestedFile, "--constraint": nestedFile, "--editable": editable,
		"--index-url": indexOption, "--extra-index-url": indexOption, "--no-index": indexOption, "--find-links": indexOption,
		"--trusted-host": indexOption, "--pypi-url": indexOption,
		"--pre": fileOption, "--prefer-binary": fileOption, "--no-binary": fileOption, "--only-binary": fileOption,
		"--require-hashes": fileOption, "--use-feature": fileOption,
	}

	longName        = lazyregexp.New(`^--[A-Za-z0-9-]*`)
	shortName       = lazyregexp.New(`^-[A-Za-z0-9]?`)
	scheme          = lazyregexp.New(`^(?i)[a-z][a-z0-9+.-]*://`)
	vcsScheme       = lazyregexp.New(`^(?i)((git|hg|svn|bzr)\+|(git|ssh|svn|bzr)://)`)
	commit          = lazyregexp.New(`^(?i)([0-9a-f]{40}|[0-9a-f]{64})$`)
	driveLetter     = lazyregexp.New(`^[A-Za-z]:[\\/]`)
	archiveSuffixes = []string{".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar"}
)

// refusedOption gives the option at the head of a line without its value, which may be a credential, and why it is
// refused.
func refusedOption(token string) (string, reason) {
	if strings.HasPrefix(token, "--") {
		name := longName.FindString(token)
		if why, ok := longOptions[name]; ok {
			return name, why
		}
		return name, unknownOption
	}
	name := shortName.FindString(token)
	if why, ok := shortOptions[name]; ok {
		return name, why
	}
	return name, unknownOption
}

// isPath says whether the head of a line is what pip takes for a file or directory.
func isPath(head string) bool {
	word, _, _ := strings.Cut(strings.ReplaceAll(head, "\t", " "), " ")
	lower := strings.ToLower(word)
	if strings.HasPrefix(lower, "file:") || strings.IndexAny(word, `./~\`) == 0 || driveLetter.MatchString(word) {
		return true
	}
	if strings.ContainsAny(word, "=<>!@;") || scheme.MatchString(word) {
		return false
	}
	word, _, _ = strings.Cut(lower, "[")
	for _, suffix := range archiveSuffixes {
		if strings.HasSuffix(word, suffix) {
			return true
		}
	}
	return strings.Contains(word, "/")
}

// vcsReason tells a checkout of one commit, which still has no hash, from one of a branch or tag.
func vcsReason(url string) (reason, string) {
	url, _, _ = strings.Cut(url, "#")
	path := url
	if _, rest, found := strings.Cut(url, "://"); found {
		_, path, _ = strings.Cut(rest, "/")
	}
	at := strings.LastIndexByte(path, '@')
	if at >= 0 && commit.MatchString(path[at+1:]) {
		return vcsCommit, "a commit fixes the source, but hash-checking mode cannot verify it: a checkout has no hash"
	}
	if at < 0 {
		return vcsBranch, "the default branch is not a fixed commit"
	}
	return vcsBranch, shown(path[at+1:]) + " is not a fixed commit"
}

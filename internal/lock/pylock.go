package lock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

const reexport = "Export the lock anew: `uv export --format pylock.toml --no-emit-project`"

var (
	pylockSyntax     = reason{"pylock.toml that is not TOML", "Correct the line. " + reexport + "."}
	pylockVersion    = reason{"Unknown version of pylock.toml", "Export the lock in version 1.0, or as hashed requirements: `uv export --format requirements.txt`."}
	pylockKey        = reason{"Missing key in pylock.toml", reexport + "; PEP 751 requires the key."}
	pylockType       = reason{"Value of a wrong type in pylock.toml", "Write what PEP 751 gives for the key. " + reexport + "."}
	pylockName       = reason{"Package name that is not normalized in pylock.toml", "Write it in lower case, with single hyphens for runs of \"-\", \"_\" and \".\"."}
	pylockPython     = reason{"Invalid requires-python in pylock.toml", "Write a version specifier by PEP 440, such as `>=3.11,<4`."}
	pylockSource     = reason{"Package without exactly one source in pylock.toml", "Give it either wheels and sdist, or archive. " + reexport + "."}
	pylockDirectory  = reason{"Directory in pylock.toml", "Leave the project itself out: `uv export --no-emit-project`. Build a wheel of any other, publish it, and lock it by name and version."}
	pylockArchive    = reason{"Archive in pylock.toml that cannot be locked", "Give the https URL of a wheel, .tar.gz or .zip without subdirectory, or publish a wheel and lock it by name and version."}
	pylockHashes     = reason{"File without hashes in pylock.toml", reexport + "; PEP 751 requires the hashes of every file."}
	pylockDigest     = reason{"Malformed hash in pylock.toml", "SHA-256 has 64 hex digits, SHA-384 has 96, and SHA-512 has 128: `pip hash <file>` prints them."}
	pylockNoVersion  = reason{"Package without a version in pylock.toml", "Add `version`, or name files that give the package's name and version."}
	pylockDisagrees  = reason{"Files of several versions in pylock.toml", "Keep the files of one version, and write it as `version`."}
	pylockLogin      = reason{"Login in pylock.toml", "Remove it from the address, which nothing is fetched from: packages come from an index, and its login is given where they are installed."}
	pylockUnportable = reason{"Marker in pylock.toml that requirements cannot carry", "Remove the comparison; pip would take its literal for a comment, an option or a variable."}
)

var (
	// beginsPylock matches a key of PEP 751 at the head of a file. A requirement's name is followed by "==" or "@".
	beginsPylock  = lazyregexp.New(`^(\[\[[ \t]*packages[ \t]*\]\]|["']?(lock-version|created-by|environments|requires-python|extras|dependency-groups|default-groups|packages)["']?[ \t]*=([^=]|$))`)
	lockVersion   = lazyregexp.New(`^["']?lock-version["']?[ \t]*=([^=]|$)`)
	knownVersions = lazyregexp.New(`^1\.(0|[1-9][0-9]*)$`)
)

// isPylock says whether the text begins as a pylock.toml, or has a lock-version before its first table. Neither can be
// in a requirements file, nor in the locks of uv, Poetry and PDM.
func isPylock(physical []string) bool {
	first := true
	for _, line := range physical {
		line = strings.Trim(line, " \t")
		switch {
		case line == "" || line[0] == '#':
			continue
		case first && beginsPylock.MatchString(line) || lockVersion.MatchString(line):
			return true
		case line[0] == '[':
			return false
		}
		first = false
	}
	return false
}

// pylock reads a pylock.toml of PEP 751 for what an installer installs by default: no extras, the default groups. Keys
// that are not read here are none of a lock's business (index, dependencies, tool) or come from a later 1.x.
func (p *parser) pylock(text string) conditions {
	var values map[string]any
	if err := toml.Unmarshal([]byte(text), &values); err != nil {
		line := 0
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ = at.Position()
		}
		p.report(line, "", pylockSyntax, "%s", strings.TrimPrefix(err.Error(), "toml: "))
		return conditions{}
	}
	lines := pylockLines(text)
	file := pylockTable{p: p, values: values, lines: lines.keys}
	if !file.versionIsKnown() {
		return conditions{}
	}
	if by, ok := file.text("created-by"); ok && by == "" {
		file.report("created-by", pylockKey, "created-by is missing or empty")
	}

	groups := map[string]bool{}
	for _, group := range file.texts("default-groups") {
		groups[NormalName(group)] = true
	}
	sets := markerSets{"extras": {}, "dependency_groups": groups}
	c := conditions{python: file.requiresPython()}
	for _, text := range file.texts("environments") {
		m, err := parsePylockMarker(text, sets)
		if err != nil {
			file.report("environments", badMarker, "%s", err)
			continue
		}
		c.environments = append(c.environments, declared{text, m})
	}

	for i, values := range file.tables("packages") {
		pkg := pylockTable{p: p, values: values, line: lines.packages[i], where: fmt.Sprintf("packages[%d]", i)}
		p.pylockPackage(pkg, sets)
		if len(p.findings) > maxFindings {
			break
		}
	}
	if len(p.findings) == 0 && len(p.requirements) == 0 {
		p.report(0, "", empty, "pylock.toml has no packages, or none that is installed without extras and groups")
	}
	return c
}

// versionIsKnown refuses other major versions, whose keys may mean anything. A missing version is reported, and read as 1.0.
func (t *pylockTable) versionIsKnown() bool {
	switch version := t.values["lock-version"].(type) {
	case nil:
		t.report("lock-version", pylockKey, "lock-version is missing")
		return true
	case string:
		if knownVersions.MatchString(version) {
			return true
		}
		t.report("lock-version", pylockVersion, "lock-version is %s; 1.0 and later 1.x can be read", shown(version))
	default:
		t.report("lock-version", pylockVersion, "lock-version is %s, not \"1.0\"", kindOf(version))
	}
	return false
}

package lock

import (
	"cmp"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

// indexed reads a wheel or sdist. Only its hashes are kept: it comes from the environment's index, not from its URL.
func (t *pylockTable) indexed(r *Requirement) {
	t.hashes(r)
	remote, _ := t.text("url")
	local, _ := t.text("path")
	if isPath(remote) || remote == "" && local != "" {
		t.report("", localPath, "%s is %s, which only this machine could read", t.where, shown(cmp.Or(remote, local)))
	}
	t.noLogin("url", remote)
}

// noLogin refuses an address with a user or password, read or not: a lock goes to state as it is.
func (t *pylockTable) noLogin(key, address string) {
	if parsed, err := url.Parse(address); err == nil && parsed.User != nil || err != nil && userinfo.MatchString(address) {
		t.report("", pylockLogin, "%s holds a user or password; a lock is not secret", t.in(key))
	}
}

// hashes adds the hashes of a file. Algorithms that hash-checking mode does not accept are left out beside one that it
// does.
func (t *pylockTable) hashes(r *Requirement) {
	before := len(t.p.findings)
	table, _ := t.table("hashes")
	strong := 0
	var weak []string
	for _, key := range slices.Sorted(maps.Keys(table.values)) {
		digest, isText := table.text(key)
		algorithm := strings.ToLower(key)
		if digits[algorithm] == 0 {
			weak = append(weak, shown(key))
			continue
		}
		strong++
		if !isText {
			continue
		}
		hash, _, cause := readHash(algorithm + ":" + digest)
		if cause != "" {
			t.report("", pylockDigest, "%s: %s", table.in(key), cause)
			continue
		}
		r.Hashes = append(r.Hashes, hash)
	}
	switch {
	case strong > 0 || len(t.p.findings) > before:
	case len(weak) > 0:
		t.report("", weakHash, "%s has only %s, not sha256, sha384 or sha512", t.in("hashes"), strings.Join(weak, " and "))
	default:
		t.report("", pylockHashes, "%s is missing or empty", t.in("hashes"))
	}
}

// versionOfFiles takes the version from the names of the files, which must agree.
func (t *pylockTable) versionOfFiles(r *Requirement, files []*pylockTable) {
	for _, file := range files {
		version, cause := file.fileVersion(r.Name)
		switch {
		case cause != "":
			t.report("", pylockNoVersion, "%s is missing, and %s does not tell it: %s", t.in("version"), file.where, cause)
			return
		case r.Version == "":
			r.Version = version
		case !SameVersion(r.Version, version):
			t.report("", pylockDisagrees, "%s is %s, and files before it are %s", file.where, version, r.Version)
			return
		}
	}
}

// agree holds the version against the names of the files: pip would find no file of that version with these hashes. A name
// that tells no version says nothing.
func (t *pylockTable) agree(r *Requirement, files []*pylockTable) {
	for _, file := range files {
		version, cause := file.fileVersion(r.Name)
		if same, _ := compareVersions(version, "==", r.Version); cause == "" && !same {
			t.report("", pylockDisagrees, "%s is %s, and %s is %s", t.in("version"), r.Version, file.where, version)
			return
		}
	}
}

// fileVersion is the version that the file's name gives, or why it gives none.
func (t *pylockTable) fileVersion(pkg string) (version, cause string) {
	name, _ := t.text("name")
	remote, _ := t.text("url")
	local, _ := t.text("path")
	switch {
	case name != "":
		return versionInFile(name, pkg)
	case remote != "":
		return versionInURL(remote, pkg)
	}
	return versionInFile(path.Base(strings.ReplaceAll(local, `\`, "/")), pkg)
}

package lock

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// pylockPackage reads an element of `packages`. One that only an extra or a group asks for is left out unread.
func (p *parser) pylockPackage(t pylockTable, sets markerSets) {
	before := len(p.findings)
	name, isText := t.text("name")
	normal := NormalName(name)
	valid := name != "" && nameHead.FindString(name) == name
	if valid {
		t.name = normal
	}
	r := Requirement{Name: normal, Line: t.line}
	if !t.marker(&r, sets) {
		return
	}
	switch {
	case !isText:
	case name == "":
		t.report("name", pylockKey, "%s is missing or empty", t.in("name"))
	case !valid:
		t.report("name", pylockName, "%s is not the name of a package", shown(name))
	case name != normal:
		t.report("name", pylockName, "%s is written %s in normal form", shown(name), normal)
	}
	r.python = t.requiresPython()
	index, _ := t.text("index")
	t.noLogin("index", index)
	t.source(&r, t.version(&r))
	slices.Sort(r.Hashes)
	r.Hashes = slices.Compact(r.Hashes)
	if valid {
		p.checkDuplicate(r)
	}
	if len(p.findings) == before {
		p.requirements = append(p.requirements, r)
	}
}

// marker reads the marker; installed is false when it does not hold whatever the target.
func (t *pylockTable) marker(r *Requirement, sets markerSets) (installed bool) {
	text, _ := t.text("marker")
	if text == "" {
		return true
	}
	m, err := parsePylockMarker(text, sets)
	if err != nil {
		t.report("marker", badMarker, "%s", err)
		return true
	}
	if m.constant != unknown {
		return m.constant == yes
	}
	r.marker, r.Marker = m, m.String()
	for _, misread := range []string{"${", " #", " -"} {
		if strings.Contains(r.Marker, misread) {
			t.report("marker", pylockUnportable, "a literal in %s holds %q", shown(r.Marker), misread)
		}
	}
	return true
}

// version reads the version; given is true also for a bad one, which is reported.
func (t *pylockTable) version(r *Requirement) (given bool) {
	text, isText := t.text("version")
	if text == "" {
		return !isText
	}
	version, ok := normalVersion(text)
	if !ok {
		t.report("version", badVersion, "%s is not a version", shown(text))
	}
	r.Version = version
	return true
}

// source reads where the package comes from, and its hashes.
func (t *pylockTable) source(r *Requirement, versionGiven bool) {
	before := len(t.p.findings)
	vcs, hasVCS := t.table("vcs")
	directory, hasDirectory := t.table("directory")
	archive, hasArchive := t.table("archive")
	sdist, hasSdist := t.table("sdist")
	var files []*pylockTable
	for i, values := range t.tables("wheels") {
		files = append(files, &pylockTable{p: t.p, values: values, line: t.line, name: t.name, where: t.in("wheels") + "[" + strconv.Itoa(i) + "]"})
	}
	if hasSdist {
		files = append(files, sdist)
	}
	var sources []string
	for _, source := range []struct {
		name string
		has  bool
	}{{"vcs", hasVCS}, {"directory", hasDirectory}, {"archive", hasArchive}, {"wheels or sdist", len(files) > 0}} {
		if source.has {
			sources = append(sources, source.name)
		}
	}
	switch {
	case len(t.p.findings) > before:
	case len(sources) != 1:
		t.report("", pylockSource, "%s has %s", t.where, orNone(sources))
	case hasVCS:
		id, _ := vcs.text("commit-id")
		if id == "" {
			t.report("", vcsBranch, "%s has no commit-id", t.in("vcs"))
			return
		}
		t.report("", vcsCommit, "%s is commit %s of a repository; hash-checking mode cannot verify it: a checkout has no hash", t.in("vcs"), shown(id))
	case hasDirectory:
		where, _ := directory.text("path")
		t.report("", pylockDirectory, "the source is the directory %s, which the builder does not see", shown(where))
	case hasArchive:
		t.archive(r, archive)
	default:
		for _, file := range files {
			file.indexed(r)
		}
		switch {
		case t.name == "":
		case !versionGiven:
			t.versionOfFiles(r, files)
		case r.Version != "":
			t.agree(r, files)
		}
	}
}

// archive reads a file given by its URL, by the rules for a requirement's.
func (t *pylockTable) archive(r *Requirement, file *pylockTable) {
	file.hashes(r)
	url, _ := file.text("url")
	local, _ := file.text("path")
	subdirectory, _ := file.text("subdirectory")
	switch {
	case url == "" && local == "":
		t.report("", pylockArchive, "%s is missing or empty", file.in("url"))
		return
	case local != "" || isPath(url):
		t.report("", localPath, "%s is %s, which only this machine could read", t.in("archive"), shown(cmp.Or(local, url)))
		return
	case subdirectory != "":
		t.report("", pylockArchive, "the project is in the subdirectory %s of the archive", shown(subdirectory))
		return
	}
	clean, fragment, cause := lockedURL(url)
	if cause != "" {
		t.report("", pylockArchive, "%s", cause)
		return
	}
	if fragment != "" && len(r.Hashes) > 0 && !slices.Contains(r.Hashes, fragment) {
		t.report("", pylockArchive, "the hash in the URL is not among those of %s", file.in("hashes"))
	}
	version, cause := versionInURL(clean, r.Name)
	switch {
	case t.name == "":
	case cause != "":
		t.report("", urlFile, "%s", cause)
	case r.Version != "" && !SameVersion(r.Version, version):
		t.report("", pylockDisagrees, "%s is %s, and the URL names %s", t.in("version"), r.Version, version)
	}
	r.URL, r.fileVersion, r.Version = clean, version, ""
}

func orNone(sources []string) string {
	if len(sources) == 0 {
		return "no source"
	}
	return strings.Join(sources, " and ")
}

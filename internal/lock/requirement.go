package lock

import (
	"slices"
	"strings"
)

// head reads a requirement up to its options. fragment is the hash in its URL, if any; hashable is false for what could
// not have a hash, so that its absence is not reported too.
func (p *parser) head(r *Requirement, head string) (fragment string, hashable bool) {
	rest := strings.TrimLeft(head[len(nameHead.FindString(head)):], " \t")
	if inside, found := strings.CutPrefix(rest, "["); found {
		inside, after, closed := strings.Cut(inside, "]")
		extras, ok := readExtras(inside)
		if !closed || !ok {
			p.report(r.Line, r.Name, badExtras, "%s is not a list of extras", shown(rest))
			return "", true
		}
		r.Extras = extras
		rest = strings.TrimLeft(after, " \t")
	}
	if source, isURL := strings.CutPrefix(rest, "@"); isURL {
		return p.urlSource(r, strings.TrimLeft(source, " \t"))
	}
	spec, marker, hasMarker := strings.Cut(rest, ";")
	p.pin(r, strings.TrimRight(spec, " \t"))
	if hasMarker {
		p.marker(r, marker)
	}
	return "", true
}

func readExtras(list string) ([]string, bool) {
	if strings.Trim(list, " \t") == "" {
		return nil, true
	}
	var extras []string
	for one := range strings.SplitSeq(list, ",") {
		one = strings.Trim(one, " \t")
		if one == "" || nameHead.FindString(one) != one {
			return nil, false
		}
		extras = append(extras, NormalName(one))
	}
	slices.Sort(extras)
	return slices.Compact(extras), true
}

// pin reads the version specifier, which must be one `==` with a full version.
func (p *parser) pin(r *Requirement, spec string) {
	if spec == "" {
		p.report(r.Line, r.Name, unpinned, "no version is given")
		return
	}
	parts := specifier.FindStringSubmatch(spec)
	if parts == nil {
		p.report(r.Line, r.Name, unreadable, "%s after the name is not a version specifier", shown(spec))
		return
	}
	op, version := parts[1], parts[2]
	normal, valid := normalVersion(version)
	prefix, wild := strings.CutSuffix(version, ".*")
	switch {
	case strings.Contains(version, ","):
		p.report(r.Line, r.Name, twoSpecifiers, "%s is more than one specifier", shown(spec))
	case op == "===":
		p.report(r.Line, r.Name, arbitrary, "%s compares strings, not versions", shown(spec))
	case op != "==":
		p.report(r.Line, r.Name, rangeSpecifier, "%s allows more than one version", shown(spec))
	case valid:
		r.Version = normal
	case wild && isVersion(prefix):
		p.report(r.Line, r.Name, wildcard, "%s allows more than one version", shown(spec))
	case strings.ContainsAny(version, " \t"):
		p.report(r.Line, r.Name, unreadable, "%s holds text after the version", shown(spec))
	default:
		p.report(r.Line, r.Name, badVersion, "%s is not a version", shown(version))
	}
}

func (p *parser) urlSource(r *Requirement, source string) (fragment string, hashable bool) {
	end := strings.IndexAny(source, " \t")
	if end < 0 {
		end = len(source)
	}
	raw, rest := source[:end], strings.TrimLeft(source[end:], " \t")
	switch {
	case raw == "":
		p.report(r.Line, r.Name, badURL, "no URL follows the @")
		return "", true
	case vcsScheme.MatchString(raw):
		why, cause := vcsReason(raw)
		p.report(r.Line, r.Name, why, "%s", cause)
		return "", false
	case isPath(raw):
		p.report(r.Line, r.Name, localPath, "%s is a path, not an https URL", shown(raw))
		return "", false
	}
	clean, fragment, cause := lockedURL(raw)
	if cause != "" {
		p.report(r.Line, r.Name, badURL, "%s", cause)
	} else {
		version, cause := versionInURL(clean, r.Name)
		if cause != "" {
			p.report(r.Line, r.Name, urlFile, "%s", cause)
		}
		r.URL, r.fileVersion = clean, version
	}
	if marker, found := strings.CutPrefix(rest, ";"); found {
		p.marker(r, marker)
	} else if rest != "" {
		p.report(r.Line, r.Name, unreadable, "%s after the URL is not a marker", shown(rest))
	}
	return fragment, true
}

func (p *parser) marker(r *Requirement, text string) {
	m, err := parseMarker(text)
	if err != nil {
		p.report(r.Line, r.Name, badMarker, "%s", err)
		return
	}
	r.marker, r.Marker = m, m.String()
}

// Package lock reads hash-locked requirements and reduces them to the one canonical form that pip is given. They come
// as the requirements file that `uv pip compile --generate-hashes` and `pip-compile --generate-hashes` write, or as a
// pylock.toml (PEP 751), of which the default installation is taken: no extras, the default groups. An archive there is
// a URL requirement; wheels and sdist are a pinned one with the hashes of all files, which come from the environment's
// own index, never from the URLs in the file.
//
// # Canonical form
//
// Comments, order, line ends, continuations and repeated hashes are gone; what is left is one requirement a line:
//
//	lock        = 1*(requirement LF)                          ; sorted by name, then by the rest of the line
//	requirement = name [extras] ("==" version / " @ " url) [" ; " marker] 1*(" --hash=" hash)
//	name        = PEP 503 normalized name
//	extras      = "[" name *("," name) "]"                    ; sorted, each once
//	version     = PEP 440 normalized version                  ; trailing zeros kept
//	url         = https URL without user, query or fragment
//	marker      = PEP 508 marker over one variable and one literal a comparison; single spaces, single quotes unless
//	              the literal holds one, parentheses only where precedence needs them; the order is the author's
//	hash        = ("sha256:" 64HEX / "sha384:" 96HEX / "sha512:" 128HEX)   ; lower case, sorted, each once
//
// Upper-case hex in a hash is folded to lower case; the name of the algorithm must be in lower case.
package lock

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Requirement is one locked package.
type Requirement struct {
	// Name is normalized by PEP 503: lower case, runs of "-", "_" and "." as one "-".
	Name string
	// Extras are normalized like names, sorted, each once; nil for none.
	Extras []string
	// Version is the pinned version, normalized by PEP 440; "" for a URL requirement.
	Version string
	// URL is where a URL requirement comes from; "" for a pinned one.
	URL string
	// Marker is the canonical spelling of the environment marker; "" for none.
	Marker string
	// Hashes are "algorithm:lower-case hex", sorted, each once; never empty.
	Hashes []string
	// Line is where the requirement begins in the text given, counted from 1.
	Line int

	marker      *marker
	fileVersion string
	python      *pythonRange
}

// Lock is a valid set of hash-locked requirements. Parse makes it.
type Lock struct {
	requirements []Requirement
	conditions   conditions
	canonical    string
	madeFor      Target
}

// Parse reads a requirements file or a pylock.toml by the rules of hash-checking mode and of this package. The error is
// a problem.List with every offending line, in order, each with its line number and, where one can be told, its
// package (in a pylock.toml, the line where the package begins); of more than ten, the first ten and one that says how many more.
func Parse(text string) (*Lock, error) {
	physical, bad := physicalLines(text)
	if bad != nil {
		return nil, bad.problems()
	}
	p := parser{seen: map[string]map[string]int{}}
	var c conditions
	if isPylock(physical) {
		c = p.pylock(strings.Join(physical, "\n"))
	} else {
		p.requirementsFile(physical)
	}
	if len(p.findings) > 0 {
		return nil, p.findings.problems()
	}
	made := newLock(p.requirements, c)
	made.madeFor = madeFor(physical)
	return made, nil
}

func newLock(requirements []Requirement, c conditions) *Lock {
	slices.SortStableFunc(requirements, func(a, b Requirement) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.line(), b.line()))
	})
	var b strings.Builder
	for _, r := range requirements {
		b.WriteString(r.line())
		b.WriteByte('\n')
	}
	return &Lock{requirements: requirements, conditions: c, canonical: b.String()}
}

// line is the requirement as a line of the canonical form, without its end.
func (r Requirement) line() string {
	var b strings.Builder
	b.WriteString(r.Name)
	if len(r.Extras) > 0 {
		b.WriteString("[" + strings.Join(r.Extras, ",") + "]")
	}
	if r.URL != "" {
		b.WriteString(" @ " + r.URL)
	} else {
		b.WriteString("==" + r.Version)
	}
	if r.Marker != "" {
		b.WriteString(" ; " + r.Marker)
	}
	for _, hash := range r.Hashes {
		b.WriteString(" --hash=" + hash)
	}
	return b.String()
}

// Canonical is the text that pip is given; it ends with a newline. Parsed again it gives an equal lock.
func (l *Lock) Canonical() string { return l.canonical }

// Digest is "sha256:<64 hex>" of the canonical form: the lock_digest, and all of the lock that enters the cache key.
func (l *Lock) Digest() string {
	sum := sha256.Sum256([]byte(l.canonical))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Requirements gives the requirements in canonical order. The slices within are copies.
func (l *Lock) Requirements() []Requirement {
	return cloneRequirements(l.requirements)
}

func cloneRequirements(requirements []Requirement) []Requirement {
	out := slices.Clone(requirements)
	for i := range out {
		out[i].Extras = slices.Clone(out[i].Extras)
		out[i].Hashes = slices.Clone(out[i].Hashes)
	}
	return out
}

// Equal says whether two locks have the same canonical form.
func Equal(a, b *Lock) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.canonical == b.canonical
}

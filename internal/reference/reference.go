// Package reference is the one grammar of OCI image references: which strings name a repository, a tag or a digest, and
// what is wrong with those that do not. It is the grammar of github.com/distribution/reference with rules of our own:
// the registry host is always written out, only sha256 digests pin, and nothing is guessed or trimmed. Pure.
//
// Docker Hub's names are normalised as the field does: index.docker.io becomes docker.io, and docker.io/python becomes
// docker.io/library/python. No other name is changed.
package reference

import (
	"strings"

	"github.com/distribution/reference"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

const (
	dockerHub = "docker.io"
	// maxName is the longest host and path together that registries take.
	maxName = 255
)

var (
	tagPattern    = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	digestPattern = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	// digestEnd is what is meant for a digest, of whichever algorithm and length, at the end of a reference.
	digestEnd = lazyregexp.New(`(@|@(?i:sha)[0-9]+:[^@/]*)+$`)
	// namePattern is host and path, with or without a tag, which hold no login.
	namePattern = lazyregexp.New(`^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+(:[A-Za-z0-9_.-]+)?$`)
)

// Repository is where a registry keeps images: "ghcr.io/team/env" is host "ghcr.io", path "team/env". Host keeps its
// port ("localhost:5000").
type Repository struct{ Host, Path string }

// String is host/path; empty for the zero Repository.
func (r Repository) String() string {
	if r == (Repository{}) {
		return ""
	}
	return r.Host + "/" + r.Path
}

// WithDigest gives the reference of one exact content: host/path@sha256:….
func (r Repository) WithDigest(digest string) Reference {
	return Reference{Repository: r, Digest: digest}
}

// WithTag gives the reference host/path:tag.
func (r Repository) WithTag(tag string) Reference { return Reference{Repository: r, Tag: tag} }

// Reference names an image in a repository by tag, by digest ("sha256:<64 lower-case hex>"), by both (the digest
// decides) or by neither.
type Reference struct {
	Repository
	Tag, Digest string
}

// String is host/path[:tag][@digest].
func (r Reference) String() string {
	s := r.Repository.String()
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// ValidTag tells whether s can be a tag: at most 128 letters, digits, "_", "." and "-", not starting with "." or "-".
func ValidTag(s string) bool { return tagPattern.MatchString(s) }

// ValidDigest tells whether s is "sha256:" and 64 lower-case hex digits, the only digests that pin here.
func ValidDigest(s string) bool { return digestPattern.MatchString(s) }

// Parse reads host/path[:tag][@sha256:…]. Errors are *problem.Problem without a Path.
func Parse(s string) (Reference, error) {
	name, tag, digest, err := split(s)
	if err != nil {
		return Reference{}, err
	}
	repository, err := parseName(s, name)
	if err != nil {
		return Reference{}, err
	}
	return Reference{Repository: repository, Tag: tag, Digest: digest}, nil
}

// ParseRepository reads host/path; a tag or a digest is an error that names what to remove.
func ParseRepository(s string) (Repository, error) {
	ref, err := Parse(s)
	if err != nil {
		return Repository{}, err
	}
	extra := strings.TrimPrefix(ref.String(), ref.Repository.String())
	if extra != "" {
		return Repository{}, &problem.Problem{
			Title:  "Repository with a tag or digest",
			Object: s,
			Advice: "A repository is host/path only: remove " + quote(extra) + ".",
		}
	}
	return ref.Repository, nil
}

// ParsePinned reads a reference that must carry a digest; a tag beside it is kept for people to read.
func ParsePinned(s string) (Reference, error) {
	ref, err := Parse(s)
	if err != nil {
		return Reference{}, err
	}
	if ref.Digest == "" {
		named := ref
		if named.Tag == "" {
			named.Tag = "TAG"
		}
		return Reference{}, &problem.Problem{
			Title:  "Image reference without a digest",
			Object: s,
			Advice: "A tag moves; pin by digest: " + ref.Repository.String() + "@sha256:… . " +
				"`docker buildx imagetools inspect " + named.String() + "` or `crane digest " + named.String() + "` prints the digest.",
		}
	}
	return ref, nil
}

// split cuts the tag and the digest off, so that a registry's port is never taken for a tag.
func split(s string) (name, tag, digest string, err error) {
	if err := secretive(s); err != nil { // First: all other errors show the reference.
		return "", "", "", err
	}
	switch {
	case s == "":
		return "", "", "", &problem.Problem{
			Title: "Empty image reference", Advice: "Write host/path, for example registry.example.com/team/env.",
		}
	case strings.ContainsFunc(s, blank):
		return "", "", "", &problem.Problem{
			Title: "White space in an image reference", Object: quote(s), Advice: "Remove the blanks, line ends and control characters.",
		}
	case strings.Contains(s, "://"):
		return "", "", "", &problem.Problem{
			Title: "Image reference with a scheme", Object: s,
			Advice: "Drop the scheme: write " + quote(s[strings.Index(s, "://")+3:]) + ".",
		}
	}
	name, digest, pinned := strings.Cut(s, "@")
	if pinned && !ValidDigest(digest) {
		return "", "", "", digestNotUnderstood(s, digest)
	}
	if strings.Contains(name, ":sha256:") || strings.HasSuffix(name, ":sha256") {
		return "", "", "", &problem.Problem{
			Title: "Mangled image digest", Object: s,
			Advice: "A digest is joined with \"@\", not \":\": host/path@sha256:… .",
		}
	}
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") && strings.Contains(name, "/") {
		name, tag = name[:colon], name[colon+1:]
		if !ValidTag(tag) {
			return "", "", "", &problem.Problem{
				Title: "Image tag not understood", Object: s,
				Advice: "A tag has 1 to 128 letters, digits, \"_\", \".\" and \"-\" and starts with a letter, digit or \"_\"; found " + quote(tag) + ".",
			}
		}
	}
	return name, tag, digest, nil
}

// secretive is the error for what may be a login in a reference, which it does not show: an "@" after which no digest comes, and
// a query or fragment. nil where there is none.
func secretive(s string) error {
	if strings.ContainsAny(s, "?#") {
		return &problem.Problem{Title: "Image reference with a query", Object: quote(problem.Address(s)), Advice: "Remove \"?\" or \"#\" and what comes after it: no image has one in its name."}
	}
	rest := s[:len(s)-len(digestEnd.FindString(s))]
	at := strings.LastIndex(rest, "@")
	if at < 0 {
		return nil
	}
	_, before := problem.CutScheme(rest[:at])
	unread := digestNotUnderstood(quote(problem.Address(rest)), rest[at+1:])
	if !strings.Contains(rest[at:], "/") && (strings.Contains(before, "/") || !strings.Contains(before, ":")) {
		if namePattern.MatchString(rest[:at]) {
			unread.Object = quote(rest)
		}
		return unread
	}
	p := &problem.Problem{Title: "Image reference with a user name", Object: unread.Object, Advice: "Remove what stands before \"@\": user name and password go into the arguments for a login."}
	if !strings.Contains(rest[at:], "/") {
		p.Advice += " " + unread.Advice
	}
	return p
}

func digestNotUnderstood(object, found string) *problem.Problem {
	return &problem.Problem{
		Title: "Image digest not understood", Object: object,
		Advice: "After \"@\" comes \"sha256:\" and 64 lower-case hexadecimal digits; found " + quote(found) + ".",
	}
}

// parseName reads host/path of the reference s.
func parseName(s, name string) (Repository, error) {
	host, path, found := strings.Cut(name, "/")
	if !found || !explicitHost(host) {
		return Repository{}, missingHost(s, host, found)
	}
	if first, _, _ := strings.Cut(path, "/"); sameHost(host, first) {
		return Repository{}, doubledHost(s, first)
	}
	if lower := strings.ToLower(name); lower != name {
		return Repository{}, &problem.Problem{
			Title: "Upper-case letters in a repository name", Object: s,
			Advice: "Registries take lower-case names only: " + quote(name) + " has " + quote(upperCase(name)) + ".",
		}
	}
	if len(name) > maxName {
		return Repository{}, tooLong(s)
	}
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return Repository{}, &problem.Problem{
			Title: "Image reference not understood", Object: s, Cause: err,
			Advice: "A path is made of components between \"/\", each of lower-case letters and digits, joined by \".\", \"_\", \"__\" or dashes.",
		}
	}
	r := Repository{Host: reference.Domain(named), Path: reference.Path(named)}
	if r.Host == "" {
		// An underscore makes a name with dots a path to the library.
		return Repository{}, &problem.Problem{
			Title: "Registry host not understood", Object: s, Advice: "A host is made of letters, digits, dashes and dots: " + quote(host) + " is none.",
		}
	}
	if first, _, _ := strings.Cut(r.Path, "/"); sameHost(r.Host, first) {
		return Repository{}, doubledHost(s, first)
	}
	if len(r.String()) > maxName {
		return Repository{}, tooLong(s)
	}
	if !validPort(r.Host) {
		return Repository{}, &problem.Problem{
			Title: "Registry port out of range", Object: s, Advice: "A port is a number from 1 to 65535; found " + quote(r.Host) + ".",
		}
	}
	return r, nil
}

func missingHost(s, first string, hasPath bool) *problem.Problem {
	p := &problem.Problem{Title: "Image reference without a registry host", Object: s}
	switch {
	case hasPath:
		p.Advice = "The host is never guessed, and " + quote(first) + " is not one (no \".\", no \":\"): write " + quote(dockerHub+"/"+s) +
			" if Docker Hub is meant."
	case explicitHost(hostName(first)):
		p.Advice = "If " + quote(first) + " is the registry, add the path of the repository: " + quote(first+"/team/env") + "."
	default:
		p.Advice = "The host is never guessed: write " + quote(dockerHub+"/library/"+s) + " if an official image of Docker Hub is meant, and one of your own with its registry and namespace, as in " + quote("registry.example.com/team/"+s) + "."
	}
	return p
}

func doubledHost(s, host string) *problem.Problem {
	return &problem.Problem{
		Title: "Registry host given twice", Object: s,
		Advice: "The path begins with the host " + quote(host) + " again: remove one of the two.",
	}
}

func tooLong(s string) *problem.Problem {
	return &problem.Problem{
		Title: "Repository name too long", Object: s, Advice: "Host and path together have at most 255 characters.",
	}
}

package lock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// Wanted is one requirement before it is locked: what a person writes into requirements.in (PEP 508).
type Wanted struct {
	// Name is normalized by PEP 503.
	Name string
	// Text is the canonical spelling: extras and specifiers sorted, each once, versions normalized by PEP 440, single
	// spaces in the marker. Equal texts mean the same.
	Text string
}

// maxWanted is above any real requirement.
const maxWanted = 4096

// ParseWanted reads one requirement. A comment after it is dropped; of a text that is blank or a comment alone, it gives
// nil and no error. The error is a *problem.Problem that shows no part of a URL that may be a credential.
func ParseWanted(text string) (*Wanted, error) {
	fail := func(why reason, format string, args ...any) (*Wanted, error) {
		return nil, &problem.Problem{Title: why.title, Cause: fmt.Errorf(format, args...), Advice: why.advice}
	}
	// What is left of a file's byte order mark and CRLF where it was split at its line feeds.
	text = strings.TrimSuffix(strings.TrimPrefix(text, "\ufeff"), "\r")
	if !utf8.ValidString(text) || len(text) > maxWanted || strings.IndexFunc(text, forbidden) >= 0 {
		return fail(wantedLine, "the requirement has a line break or another control character, is not UTF-8, or is longer than %d bytes", maxWanted)
	}
	code, _ := cutComment(text)
	code = strings.Trim(code, " \t")
	if code == "" {
		return nil, nil //nolint:nilnil // A comment is neither a requirement nor wrong.
	}
	head := strings.Fields(code)[0]
	name := nameHead.FindString(code)
	switch {
	case strings.HasPrefix(code, "-"):
		option, _ := refusedOption(head)
		return fail(wantedOption, "%s is an option", option)
	case strings.Contains(code, "${"), strings.Contains(code, `\`):
		return fail(wantedUnread, "environment variables and backslashes are not expanded")
	case isPath(code):
		return fail(wantedPath, "%s is a path, which only this machine could read", shown(head))
	case vcsScheme.MatchString(code), scheme.MatchString(code):
		return fail(wantedURL, "the requirement begins with a URL")
	case name == "":
		return fail(wantedUnread, "%s does not begin with the name of a package", shown(code))
	}
	w := &Wanted{Name: NormalName(name)}
	w.Text = w.Name
	rest := strings.TrimLeft(code[len(name):], " \t")
	if inside, found := strings.CutPrefix(rest, "["); found {
		inside, after, closed := strings.Cut(inside, "]")
		extras, ok := readExtras(inside)
		if !closed || !ok {
			return fail(wantedUnread, "%s is not a list of extras", shown(rest))
		}
		if len(extras) > 0 {
			w.Text += "[" + strings.Join(extras, ",") + "]"
		}
		rest = strings.TrimLeft(after, " \t")
	}
	var marker string
	var hasMarker bool
	if source, isURL := strings.CutPrefix(rest, "@"); isURL {
		source, after, _ := strings.Cut(strings.TrimLeft(source, " \t"), " ")
		clean, cause := wantedSource(source, w.Name)
		if cause != nil {
			return fail(wantedURL, "%w", cause)
		}
		w.Text += " @ " + clean
		after = strings.TrimLeft(after, " \t")
		if marker, hasMarker = strings.CutPrefix(after, ";"); !hasMarker && after != "" {
			return fail(wantedUnread, "%s after the URL is not a marker", shown(after))
		}
	} else {
		var list string
		list, marker, hasMarker = strings.Cut(rest, ";")
		specifiers, cause := readSpecifiers(list)
		if other := anotherName(list); cause != nil && other != "" {
			return fail(wantedOne, "%s looks like another requirement", shown(other))
		}
		if cause != nil {
			return fail(wantedUnread, "%w", cause)
		}
		w.Text += strings.Join(specifiers, ",")
	}
	if hasMarker {
		m, err := parseMarker(marker)
		if err != nil {
			return fail(wantedUnread, "%w", err)
		}
		w.Text += " ; " + m.String()
	}
	return w, nil
}

func wantedSource(source, name string) (clean string, cause error) {
	if vcsScheme.MatchString(source) {
		_, why := vcsReason(source)
		return "", errors.New(why)
	}
	clean, fragment, why := lockedURL(source)
	if why == "" {
		_, why = versionInURL(clean, name)
	}
	if why != "" {
		return "", errors.New(why)
	}
	if fragment != "" {
		clean += "#" + strings.Replace(fragment, ":", "=", 1)
	}
	return clean, nil
}

// anotherName is what among the specifiers begins with a name: "pandas" of "numpy, pandas", of "numpy pandas" and of "numpy>=2 pandas"; "" for none.
func anotherName(list string) string {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); beginsWithLetter.MatchString(one) {
			return one
		}
		before, after, _ := strings.Cut(one, " ")
		after = strings.TrimSpace(after)
		if parts := specifier.FindStringSubmatch(before); parts != nil && parts[2] != "" && beginsWithLetter.MatchString(after) {
			return after
		}
	}
	return ""
}

var beginsWithLetter = lazyregexp.New(`^[A-Za-z]`)

// withoutComma drops a comma at the end of version specifiers, as pip and uv do.
func withoutComma(list string) string {
	return strings.TrimSuffix(strings.Trim(list, " \t"), ",")
}

// readSpecifiers reads `>=1.0, <2`, which PEP 508 allows in parentheses too.
func readSpecifiers(list string) ([]string, error) {
	list = strings.Trim(list, " \t")
	if inside, found := strings.CutPrefix(list, "("); found {
		inside, closed := strings.CutSuffix(inside, ")")
		if !closed {
			return nil, fmt.Errorf("the parenthesis of %s is not closed", shown(list))
		}
		list = strings.Trim(inside, " \t")
	}
	if list == "" {
		return nil, nil
	}
	var specifiers []string
	for one := range strings.SplitSeq(withoutComma(list), ",") {
		parts := specifier.FindStringSubmatch(strings.Trim(one, " \t"))
		switch {
		case strings.Trim(one, " \t") == "":
			return nil, fmt.Errorf("between the commas of %s a version specifier is missing", shown(list))
		case parts == nil:
			return nil, fmt.Errorf("%s is not a version specifier", shown(one))
		}
		op, version := parts[1], parts[2]
		normal, valid := normalVersion(version)
		if prefix, wild := strings.CutSuffix(version, ".*"); wild && (op == "==" || op == "!=") {
			normal, valid = normalVersion(prefix)
			normal += ".*"
		}
		if !valid {
			return nil, fmt.Errorf("%s is not a version", shown(version))
		}
		specifiers = append(specifiers, op+normal)
	}
	slices.Sort(specifiers)
	return slices.Compact(specifiers), nil
}

var (
	wantedLine   = reason{"Requirement that is not one line", "Write one requirement an entry; `split(\"\\n\", file(\"requirements.in\"))` makes a list of a file."}
	wantedOne    = reason{"More than one requirement in an entry", "Write one requirement an entry, as in [\"numpy\", \"pandas>=2\"]; `split(\",\", …)` makes a list of such a text."}
	wantedOption = reason{"Option among the requirements", "Write requirements only. The index, constraints and what may be built have arguments of their own."}
	wantedPath   = reason{"Path among the requirements", "Publish a wheel on the index, and require it by name: a build sees no file of this machine."}
	wantedURL    = reason{"URL requirement that cannot be resolved to a lock", "Require it by name from an index, or write `name @ https://host/path/name-version-….whl` without a login."}
	wantedUnread = reason{"Unreadable requirement", "Write a requirement by PEP 508, such as `numpy`, `pandas[excel]>=2,<4` or `tzdata; python_version >= '3.9'`."}
)

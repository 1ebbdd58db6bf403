package e2b

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// DefaultTag is the tag that a bare template name means. E2B lets it be moved, never removed.
const DefaultTag = "default"

// maxName is the longest name and tag, in bytes.
const maxName = 128

var (
	nameRule = lazyregexp.New(`^[a-z0-9_-]+$`)
	tagRule  = lazyregexp.New(`^[a-z0-9_.-]+$`)
	// uuidRule is what E2B's parser takes for a UUID among the strings that tagRule lets through.
	uuidRule = lazyregexp.New(`^([0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$`)
)

// CheckName says what is wrong with a template's name, or nil. E2B trims and lower-cases names before it looks at them;
// a name is taken only as E2B will keep it, so that what is configured is what is read back.
func CheckName(name string) *problem.Problem {
	const title = "E2B would not take this template name"
	p := &problem.Problem{Title: title, Object: fmt.Sprintf("%q", name), Advice: "A name has 1 to 128 characters of a-z, 0-9, \"-\" and \"_\"."}
	kept := strings.ToLower(strings.TrimSpace(name))
	switch {
	case name == "":
		p.Cause = fmt.Errorf("it is empty")
	case len(name) > maxName:
		p.Cause = fmt.Errorf("it has %d characters", utf8.RuneCountInString(name))
		p.Object = fmt.Sprintf("%q…", strings.ToValidUTF8(name[:40], ""))
	case strings.Contains(name, "/"):
		p.Cause = fmt.Errorf("it holds a \"/\"")
		p.Advice += " The team is that of the API key and is not part of the name."
	case strings.Contains(name, ":"):
		p.Cause = fmt.Errorf("it holds a \":\", after which E2B reads a tag")
		p.Advice += " Give tags in tags."
	case kept != name && nameRule.MatchString(kept):
		p.Cause = fmt.Errorf("E2B would keep it as %q", kept)
		p.Advice += fmt.Sprintf(" Write %q.", kept)
	case !nameRule.MatchString(name):
		p.Cause = fmt.Errorf("it holds %q", strings.TrimFunc(name, func(r rune) bool { return nameRule.MatchString(string(r)) }))
	default:
		return nil
	}
	return p
}

// CheckTag says what is wrong with a tag of a build, or nil, by the rule of CheckName.
func CheckTag(tag string) *problem.Problem {
	const title = "E2B would not take this tag"
	p := &problem.Problem{Title: title, Object: fmt.Sprintf("%q", tag),
		Advice: "A tag has 1 to 128 characters of a-z, 0-9, \"-\", \"_\" and \".\", and is not a UUID."}
	kept := strings.ToLower(strings.TrimSpace(tag))
	switch {
	case tag == "":
		p.Cause = fmt.Errorf("it is empty")
	case len(tag) > maxName:
		p.Cause = fmt.Errorf("it has %d characters", utf8.RuneCountInString(tag))
		p.Object = fmt.Sprintf("%q…", strings.ToValidUTF8(tag[:40], ""))
	case uuidRule.MatchString(kept):
		p.Cause = fmt.Errorf("it reads as a UUID, which E2B takes for a build id")
	case kept != tag && tagRule.MatchString(kept):
		p.Cause = fmt.Errorf("E2B would keep it as %q", kept)
		p.Advice += fmt.Sprintf(" Write %q.", kept)
	case !tagRule.MatchString(tag):
		p.Cause = fmt.Errorf("it holds %q", strings.TrimFunc(tag, func(r rune) bool { return tagRule.MatchString(string(r)) }))
	default:
		return nil
	}
	return p
}

// IsBuildID tells whether a text is the id of a build, as E2B writes it or in capitals.
func IsBuildID(text string) bool { return uuidRule.MatchString(strings.ToLower(text)) }

// Reference is what launches exactly one build: "<team>/<template>:<build id>", by the name that E2B gave.
func Reference(name, buildID string) string { return name + ":" + buildID }

// TeamOf is the team's slug in a name that E2B gave: "acme" of "acme/agent". It is "" if the name has none.
func TeamOf(name string) string {
	team, _, found := strings.Cut(name, "/")
	if !found {
		return ""
	}
	return team
}

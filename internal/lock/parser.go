package lock

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

var (
	nameHead  = lazyregexp.New(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?`)
	nameRuns  = lazyregexp.New(`[-_.]+`)
	specifier = lazyregexp.New(`^(===|==|~=|!=|<=|>=|<|>)[ \t]*(.*)$`)
	options   = lazyregexp.New(`(^|[ \t]+)-`)
)

// NormalName is the one spelling of a distribution's name (PEP 503).
func NormalName(s string) string {
	return strings.ToLower(nameRuns.ReplaceAllString(s, "-"))
}

// parser collects requirements and findings from logical lines.
type parser struct {
	requirements []Requirement
	findings     findings
	// seen has the line of each marker of each name.
	seen map[string]map[string]int

	// aboveLine and aboveName are the requirement that a stray hash most likely belongs to.
	aboveLine int
	aboveName string
	// unhashed is held back until the next line: if that is a stray hash, one finding about it says all.
	unhashed *finding
	// broken says that the line above ended in a backslash and a blank, which explains a stray hash.
	broken bool
}

func (p *parser) report(line int, name string, why reason, format string, args ...any) {
	p.findings = append(p.findings, finding{line, name, why, fmt.Sprintf(format, args...)})
}

func (p *parser) requirementsFile(physical []string) {
	lines, bad := joinLines(physical)
	p.findings = append(p.findings, bad...)
	for _, line := range lines {
		p.line(line)
		if len(p.findings) > maxFindings {
			break
		}
	}
	p.finish()
}

func (p *parser) finish() {
	if p.unhashed != nil {
		p.findings = append(p.findings, *p.unhashed)
		p.unhashed = nil
	}
}

func (p *parser) line(l logicalLine) {
	text := strings.TrimRight(l.text, " \t")
	indent := len(text) - len(strings.TrimLeft(text, " \t"))
	text = text[indent:]
	line := l.at(indent)

	if strings.HasPrefix(text, "--hash") {
		p.stray(line)
		return
	}
	p.finish()
	p.broken = false

	p.aboveLine, p.aboveName = line, ""
	name := NormalName(nameHead.FindString(text))
	switch {
	case strings.HasPrefix(text, "-"):
		option, why := refusedOption(strings.Fields(text)[0])
		p.report(line, "", why, "%s is not allowed in a lock", option)
	case isPath(text):
		p.report(line, "", localPath, "%s is a path, which only this machine could read", shown(strings.Fields(text)[0]))
	case vcsScheme.MatchString(text):
		why, cause := vcsReason(strings.Fields(text)[0])
		p.report(line, "", why, "%s", cause)
	case scheme.MatchString(text):
		p.report(line, "", namelessURL, "the line begins with a URL")
	case name == "":
		p.report(line, "", unreadable, "%s does not begin with the name of a package", shown(text))
	default:
		p.aboveName = name
		if l.broken != 0 {
			p.broken = true
			p.report(l.broken, name, brokenLine, "the backslash is not the last character of its line, so the line ends there: below it a hash has no requirement")
			return
		}
		p.requirement(&l, indent, text, name)
	}
}

// stray reports a line of hashes that no requirement precedes.
func (p *parser) stray(line int) {
	switch {
	case p.broken:
	case p.aboveLine == 0:
		p.report(line, "", orphanHash, "the hash has no requirement: no package is named above it")
	default:
		p.report(line, p.aboveName, orphanHash, "the hash has no requirement: %s ends before it", place(p.aboveLine, p.aboveName))
	}
	p.broken = false
	p.unhashed = nil
}

// requirement reads `name[extras]==version ; marker --hash=…` or `name @ url ; marker --hash=…`; text begins at offset
// within the logical line. As in pip the options begin at the first word that begins with a hyphen.
func (p *parser) requirement(l *logicalLine, offset int, text, name string) {
	r := Requirement{Name: name, Line: l.at(offset)}
	if at := strings.Index(text, "${"); at >= 0 {
		p.report(l.at(offset+at), name, environmentVar, "environment variables are not expanded")
		return
	}
	head, tail := text, ""
	if at := options.FindStringIndex(text); at != nil {
		head, tail = text[:at[0]], text[at[1]-1:]
	}
	before := len(p.findings)
	fragment, hashable := p.head(&r, head)
	if !hashable {
		return
	}
	tokens := p.hashes(&r, l, offset+len(text)-len(tail), tail)
	if tokens == 0 {
		p.unhashed = &finding{r.Line, name, noHash, "no --hash follows " + shown(head)}
	}
	if fragment != "" && len(p.findings) == before && tokens > 0 && !slices.Contains(r.Hashes, fragment) {
		p.report(r.Line, name, badURL, "the hash in the URL is not among those given by --hash")
	}
	p.checkDuplicate(r)
	if len(p.findings) == before && p.unhashed == nil {
		p.requirements = append(p.requirements, r)
	}
}

func (p *parser) checkDuplicate(r Requirement) {
	markers := p.seen[r.Name]
	if markers == nil {
		p.seen[r.Name] = map[string]int{r.Marker: r.Line}
		return
	}
	other, found := markers[r.Marker]
	if !found {
		other, found = markers[""]
	}
	if !found && r.Marker == "" {
		other, found = slices.Min(slices.Collect(maps.Values(markers))), true
	}
	if found {
		p.report(r.Line, r.Name, duplicate, "line %d names it too, and the markers do not exclude each other", other)
		return
	}
	markers[r.Marker] = r.Line
}

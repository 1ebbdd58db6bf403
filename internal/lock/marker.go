package lock

import (
	"errors"
	"fmt"
	"strings"
)

// marker is a PEP 508 environment marker: either a comparison, or "and"/"or" over two or more markers.
type marker struct {
	// constant is the value of a marker that is the same everywhere; only a pylock.toml has such.
	constant truth

	join  string
	terms []*marker

	// variable is the environment's side of a comparison, literal the other; reversed means that the literal stands left.
	variable string
	op       string
	literal  string
	reversed bool
}

// variables maps every spelling of a marker variable, those from before PEP 508 included, to its name today.
var variables = map[string]string{
	"os_name":                        "os_name",
	"sys_platform":                   "sys_platform",
	"platform_machine":               "platform_machine",
	"platform_python_implementation": "platform_python_implementation",
	"platform_release":               "platform_release",
	"platform_system":                "platform_system",
	"platform_version":               "platform_version",
	"python_version":                 "python_version",
	"python_full_version":            "python_full_version",
	"implementation_name":            "implementation_name",
	"implementation_version":         "implementation_version",
	"os.name":                        "os_name",
	"sys.platform":                   "sys_platform",
	"platform.machine":               "platform_machine",
	"platform.version":               "platform_version",
	"platform.python_implementation": "platform_python_implementation",
	"python_implementation":          "platform_python_implementation",
}

func isVersionVariable(name string) bool {
	return name == "python_version" || name == "python_full_version" || name == "implementation_version"
}

// maxDepth bounds the nesting of parentheses, which Python's own parser bounds too.
const maxDepth = 50

// parseMarker reads a marker. Each comparison must have a variable on one side and a literal on the other.
func parseMarker(text string) (*marker, error) { return parsePylockMarker(text, nil) }

// markerTokens splits a marker; a literal keeps its opening quote as a mark of what it is.
func markerTokens(text string) ([]string, error) {
	var tokens []string
	for i := 0; i < len(text); {
		c := text[i]
		start := i
		switch {
		case c == ' ' || c == '\t':
			i++
			continue
		case c == '(' || c == ')':
			i++
		case c == '\'' || c == '"':
			length := strings.IndexByte(text[i+1:], c)
			if length < 0 {
				return nil, fmt.Errorf("the quote before %s is not closed", shown(text[i+1:]))
			}
			i += length + 2
			literal := text[start : i-1]
			if bad := strings.IndexFunc(literal, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' }); bad >= 0 {
				return nil, fmt.Errorf("%s holds a character that a marker's literal may not have", shown(literal[1:]))
			}
			tokens = append(tokens, literal)
			continue
		case strings.IndexByte("<>=!~", c) >= 0:
			for i < len(text) && strings.IndexByte("<>=!~", text[i]) >= 0 {
				i++
			}
		case isWord(c):
			for i < len(text) && isWord(text[i]) {
				i++
			}
		default:
			return nil, fmt.Errorf("%s is out of place", shown(text[i:]))
		}
		tokens = append(tokens, text[start:i])
	}
	return tokens, nil
}

func isWord(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

type markerParser struct {
	tokens []string
	next   int
	sets   markerSets
}

func (p *markerParser) peek() string {
	if p.next == len(p.tokens) {
		return ""
	}
	return p.tokens[p.next]
}

func (p *markerParser) take() string {
	token := p.peek()
	if token != "" {
		p.next++
	}
	return token
}

func (p *markerParser) or(depth int) (*marker, error) {
	return p.joined("or", func() (*marker, error) {
		return p.joined("and", func() (*marker, error) { return p.atom(depth) })
	})
}

func (p *markerParser) joined(word string, term func() (*marker, error)) (*marker, error) {
	decides, otherwise := deciding(word)
	decided := false
	var terms []*marker
	for {
		one, err := term()
		switch {
		case err != nil:
			return nil, err
		case one.constant == decides:
			decided = true
		case one.constant == otherwise:
		case one.join == word:
			terms = append(terms, one.terms...)
		default:
			terms = append(terms, one)
		}
		if p.peek() != word {
			break
		}
		p.next++
	}
	switch {
	case decided:
		return &marker{constant: decides}, nil
	case len(terms) == 0:
		return &marker{constant: otherwise}, nil
	case len(terms) == 1:
		return terms[0], nil
	}
	return &marker{join: word, terms: terms}, nil
}

func (p *markerParser) atom(depth int) (*marker, error) {
	if p.peek() != "(" {
		return p.comparison()
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("parentheses are nested more than %d deep", maxDepth)
	}
	p.next++
	m, err := p.or(depth + 1)
	if err != nil {
		return nil, err
	}
	if p.take() != ")" {
		return nil, errors.New("a closing parenthesis is missing")
	}
	return m, nil
}

func (p *markerParser) comparison() (*marker, error) {
	left := p.take()
	op := p.take()
	if op == "not" && p.peek() == "in" {
		p.next++
		op = "not in"
	}
	right := p.take()
	switch {
	case left == "":
		return nil, errors.New("a comparison is missing")
	case right == "":
		return nil, fmt.Errorf("the comparison that begins with %s is not complete", shown(unquoted(left)))
	}
	switch op {
	case "==", "!=", "<", "<=", ">", ">=", "~=", "===", "in", "not in":
	default:
		return nil, fmt.Errorf("%q is not an operator of markers", op)
	}
	if m, err := p.sets.membership(left, op, right); m != nil || err != nil {
		return m, err
	}
	m := &marker{op: op, reversed: isLiteral(left)}
	variable, literal := left, right
	if m.reversed {
		variable, literal = right, left
	}
	if isLiteral(variable) || !isLiteral(literal) {
		return nil, fmt.Errorf("%s %s %s does not compare a variable with a quoted literal", unquoted(left), op, unquoted(right))
	}
	m.literal = unquoted(literal)
	if variable == "extra" {
		return nil, errors.New("`extra` has no value in a lock")
	}
	m.variable = variables[variable]
	if m.variable == "" {
		return nil, fmt.Errorf("%q is not a variable of markers", variable)
	}
	return m, m.check()
}

// check refuses comparisons on which the releases of pip differ, or which none of them can make.
func (m *marker) check() error {
	if m.op == "in" || m.op == "not in" || m.op == "===" {
		return nil
	}
	if isVersionVariable(m.variable) {
		left, right := "3.13.0", m.literal
		if m.reversed {
			left, right = right, left
		}
		if _, ok := compareVersions(left, m.op, right); !ok {
			return fmt.Errorf("%s cannot be compared with the version %s by %s", m.variable, shown(m.literal), m.op)
		}
		return nil
	}
	if m.op == "~=" {
		return fmt.Errorf("%s is not a version, which ~= compares", m.variable)
	}
	return nil
}

func isLiteral(token string) bool { return token != "" && (token[0] == '\'' || token[0] == '"') }

func unquoted(token string) string {
	if isLiteral(token) {
		return token[1:]
	}
	return token
}

// String is the canonical spelling.
func (m *marker) String() string {
	if m.join == "" {
		quote := "'"
		if strings.Contains(m.literal, quote) {
			quote = `"`
		}
		literal := quote + m.literal + quote
		if m.reversed {
			return literal + " " + m.op + " " + m.variable
		}
		return m.variable + " " + m.op + " " + literal
	}
	parts := make([]string, len(m.terms))
	for i, term := range m.terms {
		parts[i] = term.String()
		if m.join == "and" && term.join == "or" {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return strings.Join(parts, " "+m.join+" ")
}

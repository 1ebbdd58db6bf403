package lock

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

// maxSize is above any real lock: seven hundred packages with sixty hashes each.
const maxSize = 4 << 20

var (
	tooLarge = reason{"Lock too large", "Pass a requirements file made by `uv pip compile --generate-hashes`."}
	notUTF8  = reason{"Lock that is not UTF-8", "Save the file as UTF-8; a shell's `>` may have written UTF-16."}
	control  = reason{"Control character in the lock", "Remove the character; a lock is plain text."}
	empty    = reason{"Lock without requirements", "Name at least one package, or leave the argument out."}
	notAList = reason{"Lock in another format", "Export it: `uv export --format requirements.txt` or `--format pylock.toml`, or `uv pip compile --generate-hashes`."}

	otherFormat = lazyregexp.New(`^(\{|\[\[?[A-Za-z_-]+\]|version\s*=\s*\d)`)
)

// logicalLine is one or more physical lines joined by backslashes, comments cut off.
type logicalLine struct {
	text string
	// broken is the physical line whose backslash is followed by a blank or a comment; 0 for none.
	broken int

	starts []int
	lines  []int
}

// at gives the physical line that the byte at offset comes from.
func (l *logicalLine) at(offset int) int {
	next, _ := slices.BinarySearch(l.starts, offset+1)
	return l.lines[next-1]
}

// physicalLines folds a byte order mark and CRLF, also one whose LF a shell has cut off the end, and checks the text as a whole.
func physicalLines(text string) ([]string, findings) {
	if len(text) > maxSize {
		return nil, findings{{reason: tooLarge, cause: fmt.Sprintf("the lock has %d bytes; at most %d are allowed", len(text), maxSize)}}
	}
	text = strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\r")
	physical := strings.Split(text, "\n")
	if bad := checkCharacters(physical); bad != nil {
		return nil, bad
	}
	return physical, nil
}

// joinLines joins continued lines as pip does: a line that ends in a backslash goes on, a comment never does. Blank
// lines are left out.
func joinLines(physical []string) ([]logicalLine, findings) {
	var all []logicalLine
	var current logicalLine
	var joined strings.Builder
	for i, raw := range physical {
		code, comment := cutComment(raw)
		goesOn := !comment && strings.HasSuffix(code, `\`)
		if goesOn {
			code = strings.TrimSuffix(code, `\`)
		} else if trimmed := strings.TrimRight(code, " \t"); strings.HasSuffix(trimmed, `\`) {
			code = strings.TrimSuffix(trimmed, `\`)
			current.broken = i + 1
		}
		current.starts = append(current.starts, joined.Len())
		current.lines = append(current.lines, i+1)
		joined.WriteString(code)
		if goesOn && i < len(physical)-1 {
			continue
		}
		current.text = joined.String()
		if strings.TrimSpace(current.text) != "" {
			all = append(all, current)
		}
		current = logicalLine{}
		joined.Reset()
	}
	if len(all) == 0 {
		return nil, findings{{reason: empty, cause: "the lock holds nothing but comments and blank lines"}}
	}
	if otherFormat.MatchString(strings.TrimSpace(all[0].text)) {
		return nil, findings{{line: all[0].lines[0], reason: notAList, cause: "this looks like uv.lock, another TOML file or JSON, not like a requirements file or pylock.toml"}}
	}
	return all, nil
}

// cutComment cuts a comment off: from a "#" at the start of the line or after white space to the end.
func cutComment(line string) (code string, comment bool) {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return strings.TrimRight(line[:i], " \t"), true
		}
	}
	return line, false
}

func checkCharacters(physical []string) findings {
	var bad findings
	for i, line := range physical {
		if len(bad) > maxFindings {
			break
		}
		if !utf8.ValidString(line) {
			bad = append(bad, finding{line: i + 1, reason: notUTF8, cause: "the line is not valid UTF-8"})
			continue
		}
		if at := strings.IndexFunc(line, forbidden); at >= 0 {
			r, _ := utf8.DecodeRuneInString(line[at:])
			bad = append(bad, finding{line: i + 1, reason: control, cause: fmt.Sprintf("the character %U is not allowed", r)})
		}
	}
	return bad
}

// forbidden are control characters other than the tab, and what Python takes for a line end or a byte order mark.
func forbidden(r rune) bool {
	return r != '\t' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

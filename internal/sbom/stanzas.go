package sbom

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
)

// stanzas reads the "Name: value" format that dpkg and Python's metadata share: stanzas end at an empty line, a line that
// starts with white space goes on with the value before. Lines that are neither are passed over, as Python does.
type stanzas struct{ lines *bufio.Reader }

func newStanzas(r io.Reader) *stanzas { return &stanzas{bufio.NewReader(r)} }

// next gives the first value of each field named, in lower case, of the next stanza; nil after the last one.
func (s *stanzas) next(names ...string) (map[string]string, error) {
	var fields map[string]string
	current := ""
	for {
		line, err := s.lines.ReadString('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, err
		}
		text := strings.TrimPrefix(strings.TrimRight(line, "\r\n"), "\ufeff")
		switch {
		case strings.TrimSpace(text) == "":
			if fields != nil {
				return fields, nil
			}
		case fields == nil:
			fields = map[string]string{}
		}
		if name, value, ok := strings.Cut(text, ":"); ok && !startsWithSpace(text) {
			current = ""
			name = strings.ToLower(name)
			if _, known := fields[name]; !known && slices.Contains(names, name) {
				current = name
				fields[name] = strings.TrimSpace(value)
			}
		} else if startsWithSpace(text) && current != "" {
			fields[current] = strings.TrimSpace(fields[current] + " " + strings.TrimSpace(text))
		}
		if last {
			return fields, nil
		}
	}
}

func startsWithSpace(text string) bool {
	return strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\t")
}

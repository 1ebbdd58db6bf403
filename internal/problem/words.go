package problem

import (
	"context"
	"errors"
	"strings"
)

// Words is what an error says, with a context's end in words for a person: "it was interrupted", "the time ran out". What
// a service writes of contexts of its own stays as it is.
func Words(err error) string {
	text := err.Error()
	for ended, words := range map[error]string{context.Canceled: "it was interrupted", context.DeadlineExceeded: "the time ran out"} {
		if errors.Is(err, ended) {
			text = endings(text, ended.Error(), words)
		}
	}
	return text
}

// endings puts words in the place of old where a line is that, or ends with it after a colon.
func endings(text, old, words string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if before, is := strings.CutSuffix(line, old); is && (before == "" || strings.HasSuffix(before, ": ")) {
			lines[i] = before + words
		}
	}
	return strings.Join(lines, "\n")
}

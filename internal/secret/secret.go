// Package secret holds values that must never be shown: a string type that redacts itself, and the mask that takes
// known secrets out of a service's words before a person or a log sees them.
package secret

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sort"
	"strings"
	"unique"
)

const redacted = "[redacted]"

// Value is a secret. Every way of printing it gives "[redacted]", or an address where fmt meets it in an unexported
// field and so calls no method of it; Reveal gives the value to the one who must send it. Equal secrets are ==.
type Value struct{ value unique.Handle[string] }

// New wraps a secret.
func New(value string) Value {
	if value == "" {
		return Value{}
	}
	return Value{value: unique.Make(value)}
}

// Reveal gives the secret itself.
func (v Value) Reveal() string {
	if v.Empty() {
		return ""
	}
	return v.value.Value()
}

// Empty tells whether there is nothing to hide.
func (v Value) Empty() bool { return v == Value{} }

// String never gives the value.
func (v Value) String() string { return redacted }

// Format answers every verb with "[redacted]", %x and %#v included.
func (v Value) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// MarshalText keeps the value out of JSON and of slog's handlers.
func (v Value) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Masker replaces known secrets in text: each as it is, base64 (standard and URL alphabet, padded or not, wrapped as mail
// and PEM wrap it), URL-encoded, and escaped as within a string of JSON or Go, or as text of HTML or XML. One of eight bytes or more it also knows within the base64 of a longer text,
// "user:secret" for one. Of a secret with white space around it or with several lines, as files have them, it knows what
// is inside and each line, since logs are masked line by line. What is shorter than four bytes is not masked: it would
// blank out ordinary words.
type Masker struct{ replacer *strings.Replacer }

// NewMasker builds the mask for these secrets. The zero Masker masks nothing.
func NewMasker(values ...Value) Masker {
	spellings := map[string]bool{}
	for _, v := range values {
		for _, text := range parts(v.Reveal()) {
			spell(text, spellings)
		}
	}
	ordered := make([]string, 0, len(spellings))
	for spelling := range spellings {
		ordered = append(ordered, spelling)
	}
	// strings.Replacer takes the first pair that fits, so a longer spelling must come before its own prefix.
	sort.Slice(ordered, func(i, j int) bool {
		if len(ordered[i]) != len(ordered[j]) {
			return len(ordered[i]) > len(ordered[j])
		}
		return ordered[i] < ordered[j]
	})
	pairs := make([]string, 0, 2*len(ordered))
	for _, spelling := range ordered {
		pairs = append(pairs, spelling, redacted)
	}
	return Masker{replacer: strings.NewReplacer(pairs...)}
}

// parts are the secret itself, what white space surrounds in it, and each of its lines.
func parts(s string) []string {
	texts := []string{s, strings.TrimSpace(s)}
	for line := range strings.SplitSeq(s, "\n") {
		texts = append(texts, strings.TrimSpace(line))
	}
	return texts
}

// spell adds every spelling of a text that is to be masked.
func spell(s string, spellings map[string]bool) {
	if len(s) < least {
		return
	}
	raw := []byte(s)
	for _, spelling := range []string{
		s, url.QueryEscape(s), url.PathEscape(s), strings.ReplaceAll(url.QueryEscape(s), "+", "%20"),
		base64.StdEncoding.EncodeToString(raw), base64.RawStdEncoding.EncodeToString(raw),
		base64.URLEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw),
	} {
		spellings[spelling] = true
	}
	for _, spelling := range append(quotations(s), markup(s)...) {
		spellings[spelling] = true
	}
	if len(s) < leastWithin {
		return
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			spellings[within(encoding, before, raw)] = true
		}
	}
	// `echo` ends what it is given with a line break.
	for _, text := range []string{s, s + "\n"} {
		encoded := base64.StdEncoding.EncodeToString([]byte(text))
		for _, width := range wrappedAt {
			for line := range slices.Chunk([]byte(encoded), width) {
				if len(line) >= leastWithin && len(encoded) > width {
					spellings[string(line)] = true
				}
			}
		}
	}
}

// least is the length in bytes from which a text is masked.
const least = 4

// wrappedAt are the columns at which base64 is wrapped: by MIME and the base64 program, and by PEM.
var wrappedAt = []int{76, 64}

// leastWithin is the length in bytes from which the base64 of a secret is looked for within other base64.
const leastWithin = 8

// within is what the base64 of a longer text has of a secret alone, where so many bytes more than a multiple of three stand
// before it. The characters that it shares with its neighbours are not in it.
func within(encoding *base64.Encoding, before int, raw []byte) string {
	encoded := encoding.EncodeToString(append(make([]byte, before), raw...))
	return encoded[(before*8+5)/6 : (before+len(raw))*8/6]
}

// Mask gives the text without the secrets.
func (m Masker) Mask(text string) string {
	if m.replacer == nil {
		return text
	}
	return m.replacer.Replace(text)
}

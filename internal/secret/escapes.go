package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// quotations are a text within a string of JSON or Go, without the quotes: as encoders write it that escape what means
// something in HTML or not, slashes or not, and what is not ASCII or not.
func quotations(s string) []string {
	forms := []string{inner(strconv.Quote(s)), inner(strconv.QuoteToASCII(s))}
	for _, html := range []bool{false, true} {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(html)
		_ = encoder.Encode(s) // A string is always JSON.
		plain := inner(strings.TrimSpace(text.String()))
		for _, form := range []string{plain, inASCII(plain)} {
			forms = append(forms, form, strings.ReplaceAll(form, "/", `\/`))
		}
	}
	return forms
}

// inner takes the quotes off.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// inASCII writes what is not ASCII as JSON may.
func inASCII(s string) string {
	var text strings.Builder
	for _, r := range s {
		if r < 0x80 {
			text.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&text, `\u%04x`, unit)
		}
	}
	return text.String()
}

// markup is a text in HTML or XML, whose encoders agree on all but the quotes.
func markup(s string) (forms []string) {
	for _, double := range []string{`"`, "&#34;", "&quot;"} {
		for _, single := range []string{"'", "&#39;", "&#x27;", "&apos;"} {
			forms = append(forms, strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, double, "'", single).Replace(s))
		}
	}
	return forms
}

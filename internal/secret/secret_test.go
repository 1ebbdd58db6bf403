package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

const canary = "p@ss w/rd+canary=1"

func TestValueIsNeverPrinted(t *testing.T) {
	v := secret.New(canary)
	type holder struct {
		User     string
		Password secret.Value
	}
	type hidden struct{ inner holder }
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "v", v, "h", holder{"u", v})
	encoded, err := json.Marshal(holder{"u", v})
	if err != nil {
		t.Fatal(err)
	}
	printed := []string{logged.String(), string(encoded)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		printed = append(printed, fmt.Sprintf(verb, v), fmt.Sprintf(verb, &v), fmt.Sprintf(verb, holder{"u", v}), fmt.Sprintf(verb, map[string]secret.Value{"k": v}), fmt.Sprintf(verb, hidden{holder{"u", v}}))
	}
	for _, text := range printed {
		if strings.Contains(text, "canary") || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("the secret shows in %s", text)
		}
	}
	if v.Reveal() != canary || v.Empty() || !secret.New("").Empty() {
		t.Error("Reveal or Empty is wrong")
	}
}

func TestMaskerKnowsEverySpelling(t *testing.T) {
	masker := secret.NewMasker(secret.New(canary), secret.New("abc"), secret.New(""))
	for name, spelling := range map[string]string{
		"raw": canary, "base64": base64.StdEncoding.EncodeToString([]byte(canary)), "base64 without padding": base64.RawURLEncoding.EncodeToString([]byte(canary)),
		"query": url.QueryEscape(canary), "path": url.PathEscape(canary),
	} {
		if got, want := masker.Mask("before "+spelling+" after"), "before [redacted] after"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, before := range []string{"", "u", "us", "use", "user"} {
		for _, after := range []string{"", "\n", "@host"} {
			text := base64.StdEncoding.EncodeToString([]byte(before + ":" + canary + after))
			got := masker.Mask(text)
			// What stands on both sides is left, and of the secret no more than the bits that share a character with it.
			if start, _, found := strings.Cut(got, "[redacted]"); !found || len(got) > len(text)-len(canary)*8/6+len("[redacted]")+2 || !strings.HasPrefix(text, start) {
				t.Errorf("after %q and before %q: %s of %s", before, after, got, text)
			}
		}
	}
	if got := masker.Mask("abc"); got != "abc" {
		t.Errorf("a secret of three bytes is masked: %q", got)
	}
	if got := (secret.Masker{}).Mask("x"); got != "x" {
		t.Errorf("the zero masker changes text: %q", got)
	}
}

// Services repeat what they were sent in the form of their answer.
func TestMaskerKnowsASecretThatIsEscaped(t *testing.T) {
	for _, text := range []string{`Tr0ub&"our<dor9`, `back\slash/and 'quotes'`, "grün>blau&rot-\U0001F511", "two parts\u2028of it"} {
		masker := secret.NewMasker(secret.New(text))
		printed := map[string]string{}
		for name, escapes := range map[string]bool{"JSON": false, "JSON for HTML": true} {
			var encoded bytes.Buffer
			encoder := json.NewEncoder(&encoded)
			encoder.SetEscapeHTML(escapes)
			if err := encoder.Encode(text); err != nil {
				t.Fatal(err)
			}
			printed[name] = strings.TrimSpace(encoded.String())
			printed[name+" with slashes escaped"] = strings.ReplaceAll(printed[name], "/", `\/`)
		}
		var element bytes.Buffer
		if err := xml.EscapeText(&element, []byte(text)); err != nil {
			t.Fatal(err)
		}
		printed["XML"], printed["Go"], printed["Go in ASCII"] = element.String(), fmt.Sprintf("%q", text), fmt.Sprintf("%+q", text)
		printed["HTML"] = html.EscapeString(text)
		printed["HTML of others"] = strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#x27;").Replace(printed["HTML"])
		for name, form := range printed {
			if got := strings.Trim(masker.Mask(`{"detail":"ci:`+strings.Trim(form, `"`)+`"}`), `"`); got != `{"detail":"ci:[redacted]"}` {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	// As Python writes it.
	masker := secret.NewMasker(secret.New("grün-\U0001F511"))
	if got := masker.Mask(`{"detail": "gr\u00fcn-\ud83d\udd11"}`); got != `{"detail": "[redacted]"}` {
		t.Errorf("got %s", got)
	}
}

func TestMaskerTakesTheLongerSecretFirst(t *testing.T) {
	masker := secret.NewMasker(secret.New("token"), secret.New("token-long"))
	if got := masker.Mask("token-long token"); got != "[redacted] [redacted]" {
		t.Errorf("got %q", got)
	}
}

// A file mostly ends with a line break, and logs come line by line.
func TestMaskerKnowsASecretThatCameFromAFile(t *testing.T) {
	const key = "-----BEGIN KEY-----\r\nfirst-line-of-canary\r\n  second line of canary\nx\n-----END KEY-----\n"
	long := strings.Repeat("canary-", 20)
	masker := secret.NewMasker(secret.New(canary+"\n"), secret.New(key), secret.New(long))
	wrapped := func(text string, width int) []string {
		var lines []string
		encoded := base64.StdEncoding.EncodeToString([]byte(text))
		for len(encoded) > width {
			lines, encoded = append(lines, encoded[:width]), encoded[width:]
		}
		return append(lines, encoded)
	}
	printed := append(strings.Split(key, "\n"), canary, url.QueryEscape(canary), base64.StdEncoding.EncodeToString([]byte(canary)))
	for _, text := range []string{key, long, long + "\n"} {
		printed = append(printed, append(wrapped(text, 76), wrapped(text, 64)...)...)
	}
	for _, line := range printed {
		if line = strings.TrimSpace(line); len(line) < 8 {
			continue
		}
		if got := masker.Mask("> " + line); got != "> [redacted]" {
			t.Errorf("%q is masked as %q", line, got)
		}
	}
	if got := masker.Mask("x is one letter"); got != "x is one letter" {
		t.Errorf("a line of one letter is masked: %q", got)
	}
}

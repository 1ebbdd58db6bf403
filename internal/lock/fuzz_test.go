package lock

import (
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		canonical := l.Canonical()
		again, err := Parse(canonical)
		if err != nil {
			t.Fatalf("the canonical form %q does not parse: %v", canonical, err)
		}
		if again.Canonical() != canonical {
			t.Fatalf("the canonical form is not stable:\n%q\n%q", canonical, again.Canonical())
		}
		if !Equal(l, again) || l.Digest() != again.Digest() {
			t.Fatalf("the canonical form is another lock: %q", canonical)
		}
		if strings.ContainsAny(canonical, "\\\t\r") || strings.Contains(canonical, "${") {
			t.Fatalf("pip could misread %q", canonical)
		}
		for _, r := range l.Requirements() {
			if len(r.Hashes) == 0 || r.InstalledVersion() == "" || NormalName(r.Name) != r.Name {
				t.Fatalf("incomplete requirement %+v", r)
			}
		}
		_, _, _ = l.Packages([]Target{amd64, arm64})
	})
}

func FuzzMarker(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseMarker(text)
		if err != nil {
			return
		}
		printed := m.String()
		again, err := parseMarker(printed)
		if err != nil {
			t.Fatalf("%q prints %q, which does not parse: %v", text, printed, err)
		}
		if again.String() != printed {
			t.Fatalf("%q prints %q, then %q", text, printed, again)
		}
		loose, _ := Target{}.surroundings()
		minor, _ := amd64.surroundings()
		full, _ := Target{Python: "3.13.5", Platform: amd64.Platform}.surroundings()
		known := m.evaluate(full)
		if got := again.evaluate(full); got != known {
			t.Fatalf("%q is %d, as printed %d", text, known, got)
		}
		for _, env := range []surroundings{loose, minor} {
			if got := m.evaluate(env); got != unknown && got != known {
				t.Fatalf("%q is %d while less is known, then %d", text, got, known)
			}
		}
	})
}

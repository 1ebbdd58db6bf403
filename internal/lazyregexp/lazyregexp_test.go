package lazyregexp

import (
	"regexp"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMethodsAreThoseOfRegexp(t *testing.T) {
	const pattern, text = `(a+)(b?)`, "xaabyaz"
	lazy, eager := New(pattern), regexp.MustCompile(pattern)
	for _, c := range []struct {
		method     string
		have, want any
	}{
		{"MatchString", lazy.MatchString(text), eager.MatchString(text)},
		{"MatchString of another text", lazy.MatchString("x"), eager.MatchString("x")},
		{"FindString", lazy.FindString(text), eager.FindString(text)},
		{"FindStringIndex", lazy.FindStringIndex(text), eager.FindStringIndex(text)},
		{"FindStringSubmatch", lazy.FindStringSubmatch(text), eager.FindStringSubmatch(text)},
		{"FindAllString", lazy.FindAllString(text, -1), eager.FindAllString(text, -1)},
		{"FindAllString, one", lazy.FindAllString(text, 1), eager.FindAllString(text, 1)},
		{"FindAllStringIndex", lazy.FindAllStringIndex(text, -1), eager.FindAllStringIndex(text, -1)},
		{"FindAllStringSubmatch", lazy.FindAllStringSubmatch(text, -1), eager.FindAllStringSubmatch(text, -1)},
		{"ReplaceAllString", lazy.ReplaceAllString(text, "<$1>"), eager.ReplaceAllString(text, "<$1>")},
		{"Split", lazy.Split(text, -1), eager.Split(text, -1)},
	} {
		if diff := cmp.Diff(c.want, c.have); diff != "" {
			t.Errorf("%s differs from regexp's:\n%s", c.method, diff)
		}
	}
}

func TestIsCompiledOnceAtFirstUse(t *testing.T) {
	lazy := New(`^a$`)
	if lazy.regexp != nil {
		t.Error("New compiled the pattern")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if !lazy.MatchString("a") {
				t.Error("a does not match")
			}
		})
	}
	all.Wait()
	compiled := lazy.regexp
	if lazy.MatchString("b") || lazy.regexp != compiled {
		t.Error("the second use compiled again or matched b")
	}
}

func TestMalformedPatternPanicsAtFirstUse(t *testing.T) {
	lazy := New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	lazy.MatchString("")
}

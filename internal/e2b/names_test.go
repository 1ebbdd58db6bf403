package e2b_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// TestNames is case C15. A name that is taken is kept by E2B as it is; one that is refused, E2B refuses or changes.
func TestNames(t *testing.T) {
	long := strings.Repeat("a", 128)
	for name, tt := range map[string]struct {
		words []string
		// kept is what E2B would make of it; "" if it refuses.
		kept string
	}{
		"agent-env":                            {nil, "agent-env"},
		"a":                                    {nil, "a"},
		"_x-9":                                 {nil, "_x-9"},
		long:                                   {nil, long},
		"Agent-Env":                            {[]string{`E2B would keep it as "agent-env"`, `Write "agent-env".`}, "agent-env"},
		" agent-env ":                          {[]string{`E2B would keep it as "agent-env"`}, "agent-env"},
		"env:20260101":                         {[]string{`":"`, "Give tags in tags"}, "env"},
		"env:prod":                             {[]string{`"env:prod"`, `":"`, "Give tags in tags"}, "env"},
		"acme-team/env":                        {[]string{`"/"`, "not part of the name"}, "env"},
		"other-team/env":                       {[]string{`"/"`, "not part of the name"}, ""},
		"env.1":                                {[]string{`it holds "."`, "a-z, 0-9"}, ""},
		"ümlaut":                               {[]string{`it holds "ü"`}, ""},
		"a b":                                  {[]string{`it holds " "`}, ""},
		long + "a":                             {[]string{"it has 129 characters", "1 to 128 characters"}, ""},
		"":                                     {[]string{"it is empty"}, ""},
		"3f6c0000-0000-4000-8000-000000000000": {nil, "3f6c0000-0000-4000-8000-000000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			p := e2b.CheckName(name)
			judged(t, p, tt.words)
			w := newWorld(t, e2btest.Options{})
			got, err := w.client.RequestBuild(t.Context(), e2b.BuildRequest{Name: name, Tags: []string{"dl-1"}})
			if (err == nil) != (tt.kept != "") || err == nil && got.Names[0] != "acme-team/"+tt.kept {
				t.Errorf("E2B makes %q of it, %v", got.Names, err)
			}
			if p == nil && (err != nil || got.Names[0] != "acme-team/"+name) {
				t.Errorf("it is taken, but E2B makes %q of it, %v", got.Names, err)
			}
		})
	}
}

func TestTags(t *testing.T) {
	for tag, words := range map[string][]string{
		"prod": nil, "v1.2.3": nil, "dl-" + strings.Repeat("0", 64) + "-01234567": nil, "default": nil,
		"Prod": {`E2B would keep it as "prod"`}, "a/b": {`it holds "/"`}, "a:b": {`it holds ":"`}, "": {"it is empty"}, strings.Repeat("a", 129): {"it has 129 characters"},
		"3f6c0000-0000-4000-8000-000000000000": {"it reads as a UUID"}, "3F6C0000-0000-4000-8000-00000000000A": {"it reads as a UUID"}, strings.Repeat("0", 32): {"it reads as a UUID"},
	} {
		t.Run(tag, func(t *testing.T) {
			p := e2b.CheckTag(tag)
			judged(t, p, words)
			w := newWorld(t, e2btest.Options{})
			got, err := w.client.RequestBuild(t.Context(), e2b.BuildRequest{Name: "agent", Tags: []string{tag}})
			if p == nil && (err != nil || got.Tags[0] != tag) {
				t.Errorf("it is taken, but E2B makes %q of it, %v", got.Tags, err)
			}
		})
	}
}

func judged(t *testing.T, p *problem.Problem, words []string) {
	t.Helper()
	if (p == nil) != (words == nil) {
		t.Fatalf("got %v", p)
	}
	for _, word := range words {
		if !strings.Contains(p.Detail(), word) {
			t.Errorf("%q is missing in %s", word, p.Detail())
		}
	}
}

func TestAnotherTemplatesIdIsNoName(t *testing.T) {
	w := newWorld(t, e2btest.Options{})
	id, _ := w.AddTemplate(e2btest.Key, "agent", "default")
	_, err := w.client.RequestBuild(t.Context(), e2b.BuildRequest{Name: id, Tags: []string{"dl-1"}})
	says(t, err, id, "409 Conflict", "is already used")
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"agent", "Agent", " a", "a:b", "a/b", "ü", "", "\x00", strings.Repeat("a", 129), "3f6c0000-0000-4000-8000-000000000000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range []*problem.Problem{e2b.CheckName(text), e2b.CheckTag(text)} {
			if p == nil {
				if len(text) == 0 || len(text) > 128 || strings.ToLower(strings.TrimSpace(text)) != text || strings.ContainsAny(text, "/: \t\n") {
					t.Errorf("%q is taken", text)
				}
				continue
			}
			if p.Cause == nil || p.Object == "" || strings.ContainsFunc(p.Detail(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
				t.Errorf("%q is refused as %q", text, p.Detail())
			}
		}
	})
}

// A name that E2B does not take says what to do: it may have changed hands in the middle of the request.
func TestNamesThatAreRefused(t *testing.T) {
	w := newWorld(t, e2btest.Options{})
	id, _ := w.AddTemplate(e2btest.Key, "agent", "default")
	for name, tt := range map[string]struct {
		name      string
		meanwhile func()
		words     []string
	}{
		"an id":             {id, nil, []string{"409 Conflict: Alias '" + id + "' is already used", "the id of a template"}},
		"another team's":    {"other/agent", nil, []string{"must match your team 'acme-team'", "Leave the team out"}},
		"taken meanwhile":   {"fresh", func() { w.AddTemplate(e2btest.Key, "fresh", "default") }, []string{"403 Forbidden: Alias 'fresh' already used", "at the same time", "No build was made"}},
		"deleted meanwhile": {"agent", func() { w.Vanish("acme-team/agent") }, []string{"404 Not Found", "has been deleted and cannot be rebuilt", "Plan with refresh"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.Meanwhile(tt.meanwhile)
			_, err := w.client.RequestBuild(t.Context(), e2b.BuildRequest{Name: tt.name, Tags: []string{"dl-1"}})
			says(t, err, append(tt.words, "E2B did not take the template build")...)
		})
	}
	_, err := w.client.Alias(t.Context(), "other/agent")
	says(t, err, "E2B template name could not be looked up", "must match your team 'acme-team'", "Leave the team out")
}

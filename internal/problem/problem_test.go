package problem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

func TestDetailHasAParagraphForEachPart(t *testing.T) {
	p := &problem.Problem{Title: "It failed", Object: "the object", Cause: errors.New("its words"), Logs: []string{"one", "two"}, Advice: "Do this."}
	if got, want := p.Detail(), "the object\n\nits words\n\nLast 2 log lines:\n  one\n  two\n\nDo this."; got != want {
		t.Errorf("detail is %q, want %q", got, want)
	}
	if got, want := p.Error(), "It failed: the object: its words"; got != want {
		t.Errorf("error is %q, want %q", got, want)
	}
}

func TestMovedChangesTheArgumentAlone(t *testing.T) {
	plain := errors.New("words")
	if got := problem.Moved(plain, "lock", "kernel_lock"); got != plain { //nolint:errorlint // It is the same error.
		t.Errorf("an error without a place became %v", got)
	}
	list := problem.List{{Title: "one", Path: []any{"lock", 3}}, {Title: "two", Path: []any{"files"}}, {Title: "three"}}
	moved := problem.From(problem.Moved(fmt.Errorf("outside: %w", list), "lock", "kernel_lock"), "")
	if got, want := fmt.Sprint(moved[0].Path, moved[1].Path, moved[2].Path), "[kernel_lock 3] [files] []"; got != want {
		t.Errorf("the places are %s, want %s", got, want)
	}
	if list[0].Path[0] != "lock" {
		t.Error("the problem that was given changed")
	}
}

func TestFromFindsProblemsHoweverWrapped(t *testing.T) {
	one := &problem.Problem{Title: "one", Cause: context.Canceled}
	list := problem.List{one, {Title: "two"}}
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"nothing":           {nil, nil},
		"an empty list":     {problem.List{}.Err(), nil},
		"a wrapped problem": {fmt.Errorf("outside: %w", one), []string{"one"}},
		"a wrapped list":    {fmt.Errorf("outside: %w", list.Err()), []string{"one", "two"}},
		"a plain error":     {errors.New("words"), []string{"the title"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := problem.From(c.err, "the title")
			if len(found) != len(c.want) {
				t.Fatalf("found %v, want %v", found, c.want)
			}
			for i, p := range found {
				if p.Title != c.want[i] {
					t.Errorf("title %d is %q, want %q", i, p.Title, c.want[i])
				}
			}
		})
	}
	if !errors.Is(list.Err(), context.Canceled) {
		t.Error("the cause of a problem in a list cannot be found")
	}
}

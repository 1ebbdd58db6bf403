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

package lock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// A file that is not a lock at all is not read on after maxFindings, and no more than maxShown of them drown its reader.
const (
	maxFindings = 200
	maxShown    = 10
)

// reason is one way in which a lock can be wrong: what failed, and what to do.
type reason struct{ title, advice string }

// finding is a reason met on a line.
type finding struct {
	line   int
	name   string
	reason reason
	cause  string
}

type findings []finding

func (f findings) problems() error {
	slices.SortStableFunc(f, func(a, b finding) int { return cmp.Compare(a.line, b.line) })
	var list problem.List
	for i, one := range f {
		if i == maxShown {
			more := fmt.Errorf("the first %d problems are shown, and %d more are not", maxShown, len(f)-maxShown)
			if len(f) > maxFindings {
				more = fmt.Errorf("the first %d problems are shown, and %d more are not; the rest of the text was not read", maxShown, maxFindings-maxShown)
			}
			list = append(list, &problem.Problem{
				Title:  "More offending lines in the lock",
				Path:   []any{"lock"},
				Object: fmt.Sprintf("line %d and below", one.line),
				Cause:  more,
				Advice: "Correct those shown first. So many usually mean that the text is not a lock.",
			})
			break
		}
		list = append(list, &problem.Problem{
			Title:  one.reason.title,
			Path:   []any{"lock"},
			Object: place(one.line, one.name),
			Cause:  errors.New(one.cause),
			Advice: one.reason.advice,
		})
	}
	return list.Err()
}

// place is "line 7 (numpy)", "line 7" or, for the lock as a whole, "".
func place(line int, name string) string {
	switch {
	case line == 0:
		return ""
	case name == "":
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("line %d (%s)", line, name)
}

var (
	userinfo = lazyregexp.New(`//\S*@`)
	query    = lazyregexp.New(`\?\S*`)
)

// shown quotes a part of the lock for an error: short, and without what in a URL may be a credential.
func shown(s string) string {
	s = userinfo.ReplaceAllString(s, "//…@")
	s = query.ReplaceAllString(s, "?…")
	if runes := []rune(s); len(runes) > 100 {
		s = string(runes[:100]) + "…"
	}
	return strconv.Quote(s)
}

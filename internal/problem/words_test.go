package problem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

func TestWordsSayHowAContextEnded(t *testing.T) {
	for want, err := range map[string]error{
		"it was interrupted":                        context.Canceled,
		"the time ran out":                          context.DeadlineExceeded,
		"GET /x: it was interrupted":                fmt.Errorf("GET /x: %w", context.Canceled),
		"503: busy\nthe time ran out":               errors.Join(errors.New("503: busy"), context.DeadlineExceeded),
		"it was interrupted\n503: busy":             errors.Join(context.Canceled, errors.New("503: busy")),
		"context canceled":                          errors.New("context canceled"), //nolint:err113 // A service's own words.
		"start: context canceled, see the log":      fmt.Errorf("start: %w, see the log", context.Canceled),
		"start: context canceled\nthe time ran out": errors.Join(errors.New("start: context canceled"), context.DeadlineExceeded),
	} {
		if got := problem.Words(err); got != want {
			t.Errorf("%q is said of %q, want %q", got, err, want)
		}
	}
	p := &problem.Problem{Title: "It failed", Cause: fmt.Errorf("GET /x: %w", context.Canceled)}
	if p.Error() != "It failed: GET /x: it was interrupted" || p.Detail() != "GET /x: it was interrupted" || !errors.Is(p, context.Canceled) {
		t.Errorf("the problem says %q and %q", p.Error(), p.Detail())
	}
}

package retry_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
)

func TestAfterReadsEverySpelling(t *testing.T) {
	const date = "Wed, 02 Jan 2030 03:04:05 GMT"
	for name, c := range map[string]struct {
		header http.Header
		names  []string
		want   time.Duration
	}{
		"none":                {http.Header{}, nil, 0},
		"seconds":             {http.Header{"Retry-After": {"7"}}, nil, 7 * time.Second},
		"spaces":              {http.Header{"Retry-After": {" 7 "}}, nil, 7 * time.Second},
		"parts of a second":   {http.Header{"Retry-After": {"1.5"}}, nil, 1500 * time.Millisecond},
		"date":                {http.Header{"Date": {date}, "Retry-After": {"Wed, 02 Jan 2030 03:04:14 GMT"}}, nil, 9 * time.Second},
		"date of RFC 850":     {http.Header{"Date": {date}, "Retry-After": {"Wednesday, 02-Jan-30 03:04:14 GMT"}}, nil, 9 * time.Second},
		"date of asctime":     {http.Header{"Date": {date}, "Retry-After": {"Wed Jan  2 03:04:14 2030"}}, nil, 9 * time.Second},
		"date gone by":        {http.Header{"Date": {date}, "Retry-After": {"Wed, 02 Jan 2030 03:04:00 GMT"}}, nil, 0},
		"twice":               {http.Header{"Retry-After": {"3", "7"}}, nil, 7 * time.Second},
		"negative":            {http.Header{"Retry-After": {"-1"}}, nil, 0},
		"not a number":        {http.Header{"Retry-After": {"NaN"}}, nil, 0},
		"endless":             {http.Header{"Retry-After": {"Inf"}}, nil, 0},
		"words":               {http.Header{"Retry-After": {"soon"}}, nil, 0},
		"a name of its own":   {http.Header{"Retry-After-Authenticated": {"8"}}, []string{"Retry-After", "Retry-After-Authenticated"}, 8 * time.Second},
		"a name not asked of": {http.Header{"Retry-After-Authenticated": {"8"}}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := retry.After(c.header, c.names...); got != c.want {
				t.Errorf("wait %s, want %s", got, c.want)
			}
		})
	}
}

func TestPauseGrowsAndEnds(t *testing.T) {
	p := retry.Policy{}.WithDefaults()
	for attempt, base := range map[int]time.Duration{1: p.Base, 2: 2 * p.Base, 3: 4 * p.Base} {
		wait, again := p.Pause(t.Context(), attempt, 0)
		if !again || wait < base/2 || wait > base*3/2 {
			t.Errorf("attempt %d: %s, %v", attempt, wait, again)
		}
	}
	if _, again := p.Pause(t.Context(), 4, 0); again {
		t.Error("a fifth attempt is made")
	}
	if wait, again := p.Pause(t.Context(), 1, 7*time.Second); !again || wait != 7*time.Second {
		t.Errorf("waits %s when asked for 7 s", wait)
	}
	if _, again := p.Pause(t.Context(), 1, time.Hour); again {
		t.Error("waits an hour")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, again := p.Pause(ctx, 1, 100*time.Second); again {
		t.Error("begins a pause that outlasts the context")
	}
	cancel()
	if _, again := p.Pause(ctx, 1, time.Second); again {
		t.Error("goes on after the context ended")
	}
	if err := retry.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("Sleep in an ended context gives %v", err)
	}
}

// Package retry decides when a request to a service is made again, and reads what the service asks for. The clients of
// the rooms above say which failures may be repeated; how often and how long apart is the same for all of them.
package retry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longest is the longest pause where no deadline says how long may be waited.
const longest = 2 * time.Minute

// spread is the most that is added to a pause that a service asks for.
const spread = 10 * time.Second

// wondering is the pause after which a person wonders what is waited for.
const wondering = 30 * time.Second

// Policy says how often a request is made that fails in passing, and how long to wait in between: Base doubled at each
// attempt, with jitter, or what the service asks for.
type Policy struct {
	// Attempts counts the first one too; 4 if zero.
	Attempts int
	// Base is the first pause; 500 ms if zero.
	Base time.Duration
	// Sleep waits d or until ctx ends, then giving its error.
	Sleep func(ctx context.Context, d time.Duration) error
}

// WithDefaults fills in what is zero.
func (p Policy) WithDefaults() Policy {
	if p.Attempts == 0 {
		p.Attempts = 4
	}
	if p.Base == 0 {
		p.Base = 500 * time.Millisecond
	}
	if p.Sleep == nil {
		p.Sleep = Sleep
	}
	return p
}

// ErrEnough says that a request was made often enough, or that no time is left for another.
var ErrEnough = errors.New("no further attempt is made")

// TooLong says that a service asks for a longer pause than there is time for.
type TooLong struct {
	// Asked is what the service asks for, Left what remains until the deadline; zero where there is none.
	Asked, Left time.Duration
}

// Error gives both times.
func (e *TooLong) Error() string {
	if e.Left == 0 {
		return fmt.Sprintf("it asks to wait %s, and no more than %s is waited here", e.Asked, longest)
	}
	return fmt.Sprintf("it asks to wait %s, and %s is left of the time that this may take", e.Asked, e.Left.Round(time.Second))
}

// Pause tells how long to wait before a request is made again whose attempt (counted from 1) failed: a time that grows,
// or as long as the service asks and a little more. No pause is begun that outlasts ctx or, where ctx has no deadline,
// two minutes. An error says why the request is not made again: ErrEnough, that of ctx, or a *TooLong.
func (p Policy) Pause(ctx context.Context, attempt int, asked time.Duration) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if attempt >= p.Attempts {
		return 0, ErrEnough
	}
	left, most := time.Duration(0), longest
	if deadline, ok := ctx.Deadline(); ok {
		left = max(time.Until(deadline), 1)
		most = left
	}
	switch wait := Jitter(p.Base << (attempt - 1)); {
	case asked > most:
		return 0, &TooLong{asked, left}
	case asked > 0:
		// Never earlier than asked, not all at the same moment, and not so late that no time is left for the request.
		return asked + rand.N(min(asked/2, (most-asked)/2, spread)+1), nil
	case wait > most:
		return 0, ErrEnough
	default:
		return wait, nil
	}
}

// Tell logs a pause that a service asked for where it is so long that somebody may wonder: Terraform itself says no more
// than that it is still at work.
func Tell(ctx context.Context, logger *slog.Logger, host string, asked, wait time.Duration) {
	if asked > 0 && wait > wondering {
		logger.WarnContext(ctx, "the service asks to wait before it is asked again", "host", host, "wait", wait.Round(time.Second), "until", time.Now().Add(wait).UTC().Format(time.RFC3339))
	}
}

// Jitter spreads a pause between half and one and a half of it, so that clients that failed together do not return
// together.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// Sleep waits d or until ctx ends, then giving its error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// After reads how long an answer asks to wait, from Retry-After or the headers named: seconds, whole or not, or a date,
// which is compared with the answer's own Date so that the two clocks need not agree. The longest counts; 0 is none.
func After(header http.Header, names ...string) time.Duration {
	if len(names) == 0 {
		names = []string{"Retry-After"}
	}
	var found time.Duration
	for _, name := range names {
		for _, value := range header.Values(name) {
			found = max(found, after(header, strings.TrimSpace(value)))
		}
	}
	return found
}

func after(header http.Header, value string) time.Duration {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if !(seconds > 0) || seconds > math.MaxInt32 {
			return 0
		}
		return time.Duration(math.Ceil(seconds*1000)) * time.Millisecond
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}

// Clock tells the time and waits. Tests put one in that runs as they say.
type Clock interface {
	Now() time.Time
	// Sleep waits d or until ctx ends, then giving its error.
	Sleep(ctx context.Context, d time.Duration) error
}

// System is the machine's clock.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time                                   { return time.Now() }
func (system) Sleep(ctx context.Context, d time.Duration) error { return Sleep(ctx, d) }

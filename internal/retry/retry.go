// Package retry decides when a request to a service is made again, and reads what the service asks for. The clients of
// the rooms above say which failures may be repeated; how often and how long apart is the same for all of them.
package retry

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longest is the longest pause before a request is repeated. A service that asks for more is not waited for.
const longest = 2 * time.Minute

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

// Pause tells whether to make a request again after its attempt (counted from 1) failed, and how long to wait first:
// asked, if the service asks for a time, else a time that grows. No pause is begun that is longer than two minutes or
// that outlasts ctx.
func (p Policy) Pause(ctx context.Context, attempt int, asked time.Duration) (time.Duration, bool) {
	if attempt >= p.Attempts || ctx.Err() != nil {
		return 0, false
	}
	wait := asked
	if wait <= 0 {
		wait = Jitter(p.Base << (attempt - 1))
	}
	if wait > longest {
		return 0, false
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return 0, false
	}
	return wait, true
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

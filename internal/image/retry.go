package image

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// maxWait is the longest pause before a request is repeated. A registry that asks for more is not waited for.
const maxWait = 2 * time.Minute

// RetryPolicy says how often a request is made that fails in passing (429, 5xx, a broken connection, an answer cut
// short), and how long to wait in between: Base doubled at each attempt, with jitter, or what Retry-After asks for.
// Requests that start an upload are repeated on 429 only; 401 and 403 never are.
type RetryPolicy struct {
	// Attempts counts the first one too; 4 if zero.
	Attempts int
	// Base is the first pause; 500 ms if zero.
	Base time.Duration
	// Sleep waits d or until ctx ends, then giving its error.
	Sleep func(ctx context.Context, d time.Duration) error
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.Attempts == 0 {
		p.Attempts = 4
	}
	if p.Base == 0 {
		p.Base = 500 * time.Millisecond
	}
	if p.Sleep == nil {
		p.Sleep = sleep
	}
	return p
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// next tells whether to repeat a request after its attempt (counted from 1) failed, and how long to wait first.
func (p RetryPolicy) next(ctx context.Context, attempt int, method string, failed *Error) (time.Duration, bool) {
	if attempt >= p.Attempts || ctx.Err() != nil || !Transient(failed) {
		return 0, false
	}
	if method == http.MethodPost && failed.Status != http.StatusTooManyRequests {
		return 0, false
	}
	wait := p.Base << (attempt - 1)
	wait = wait/2 + rand.N(wait)
	if failed.retryAfter > 0 {
		wait = failed.retryAfter
	}
	if wait > maxWait {
		return 0, false
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return 0, false
	}
	return wait, true
}

// retryAfter reads the Retry-After header: seconds, or a date, which is compared with the answer's own Date so that
// the two clocks need not agree.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
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

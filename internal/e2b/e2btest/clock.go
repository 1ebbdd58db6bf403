package e2btest

import (
	"context"
	"sync"
	"time"
)

// Clock runs only as tests say: by Advance, and by every Sleep, which returns at once and moves it on.
type Clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

// NewClock makes a clock that stands at a time in 2030.
func NewClock() *Clock { return &Clock{now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)} }

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Sleep moves the clock on by d, unless ctx has ended, and keeps d for Slept. It ends early where a Deadline does.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	c.slept = append(c.slept, d)
	wakes := c.now.Add(d)
	if end, ok := ctx.Value(clockEnd{}).(time.Time); ok && end.Before(wakes) {
		wakes = end
	}
	c.now = wakes
	c.mu.Unlock()
	return ctx.Err()
}

// Slept gives the pauses made so far.
func (c *Clock) Slept() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.slept...)
}

// Deadline gives a context that ends, with context.DeadlineExceeded, when the clock has moved on by d.
func (c *Clock) Deadline(ctx context.Context, d time.Duration) context.Context {
	return clockContext{ctx, c, c.Now().Add(d)}
}

// clockContext says its end by Err, and to Sleep by a value: nothing waits on it, since Sleep never blocks.
type clockContext struct {
	context.Context
	clock *Clock
	end   time.Time
}

func (c clockContext) Err() error {
	if !c.clock.Now().Before(c.end) {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

type clockEnd struct{}

// Value gives the end to Sleep.
func (c clockContext) Value(key any) any {
	if key == (clockEnd{}) {
		return c.end
	}
	return c.Context.Value(key)
}

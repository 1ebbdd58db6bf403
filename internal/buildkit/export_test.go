package buildkit

import (
	"log/slog"
	"time"
)

// SetClock replaces the clock between two attempts of a push.
func (d *Daemon) SetClock(after func(time.Duration) <-chan time.Time) { d.after = after }

// SetLogger replaces the daemon's logger.
func (d *Daemon) SetLogger(logger *slog.Logger) { d.logger = logger }

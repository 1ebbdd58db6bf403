package main

import (
	"fmt"
	"math"
	"time"
)

// phases shows what the demo does and how long each part took, and keeps the seconds for the report.
type phases struct {
	seconds map[string]float64
}

// run does one phase.
func (p *phases) run(name, what string, do func() error) error {
	fmt.Printf("\n== %s: %s\n", name, what)
	start := time.Now()
	err := do()
	seconds := time.Since(start).Seconds()
	if err != nil {
		return fmt.Errorf("%s failed after %.1f s: %w", name, seconds, err)
	}
	fmt.Printf("   %s took %.1f s\n", name, seconds)
	p.seconds[name] = math.Round(seconds*10) / 10
	return nil
}

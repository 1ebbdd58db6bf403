// Package sweep removes what a killed run left at the services, and lists what else there is of ours. What it may remove
// is decided here alone, by the name that each thing carries: only credentials and sandboxes with our marker and an expiry
// in the past. Artifacts are listed, and one is removed only when its id is given.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Service is one that may keep something of ours. Its room retries what may be retried.
type Service interface {
	// Name is its name for people: "Daytona".
	Name() string
	// Missing says which settings it takes to look there, "set DAYTONA_API_KEY"; "" if it has them.
	Missing() string
	// Leftovers gives all credentials and sandboxes that the service keeps for us, ours or not; beside an error, those that
	// were listed before it.
	Leftovers(ctx context.Context) ([]Leftover, error)
	// Artifacts gives those that carry our mark, as Leftovers does.
	Artifacts(ctx context.Context) ([]Artifact, error)
}

// Leftover is a credential or a sandbox at a service.
type Leftover struct {
	// What it is: "credential" or "sandbox".
	What     string
	ID, Name string
	// Remove returns when it is gone; one that is not there is success. ByHand says how a person removes it.
	Remove func(context.Context) error
	ByHand string
}

// Artifact is what a resource made, which may be in somebody's state.
type Artifact struct {
	// ID is what Import and --delete-artifact take.
	ID string
	// Untagged tells of an image that no tag points to.
	Untagged bool
	// Name is its name for people; it may be empty.
	Name string
	// BuiltAt is zero where the service does not tell. CacheKey may be empty.
	BuiltAt  time.Time
	CacheKey string
	// Import is the command that takes it into a state.
	Import string
	// Check gives the *Kept with which Remove would refuse it whoever uses it; nil where nothing of its service is refused.
	Check func(context.Context) error
	// Used gives the *Kept of what uses it; nil where its service keeps nothing for that.
	Used func(context.Context) error
	// Remove returns when it is gone, or with a *Kept.
	Remove func(context.Context) error
}

// Kept is why an artifact stays although nothing failed.
type Kept struct {
	// InUse says that it can go later; one that is not may never be removed by its id here.
	InUse bool
	// Why says it: who made it, or what uses it. Advice, what to do, may be empty.
	Why, Advice string
}

func (k *Kept) Error() string { return k.Why }

// named is the id, with the name where there is one.
func (a Artifact) named() string {
	if a.Name == "" {
		return a.ID
	}
	return fmt.Sprintf("%s (%s)", a.ID, a.Name)
}

// Options of a sweep.
type Options struct {
	// OlderThan leaves alone what expired less than this ago, and does not list artifacts that are younger.
	OlderThan time.Duration
	// DryRun removes nothing.
	DryRun bool
	// DeleteArtifacts are the ids of artifacts to remove.
	DeleteArtifacts []string
	// Command is how this sweep was called, without its options that remove; for the commands that it prints.
	Command string
	Now     func() time.Time
	// RemoveWithin bounds the removal of one credential or sandbox, LookWithin a listing and the removal of an artifact,
	// which take many requests; 30 seconds and 10 minutes if zero.
	RemoveWithin, LookWithin time.Duration
}

const removeWithin, lookWithin = 30 * time.Second, 10 * time.Minute

// Run looks at each service and writes what it found and did to out, a line each. It tells whether all is gone that
// should be: something expired that is still there, a service that did not answer, and an artifact that was to be removed
// and was not, are not. Other artifacts and what is still in use do not count.
func Run(ctx context.Context, o Options, services []Service, out io.Writer) (clean bool) {
	if o.RemoveWithin == 0 {
		o.RemoveWithin = removeWithin
	}
	if o.LookWithin == 0 {
		o.LookWithin = lookWithin
	}
	s := &run{Options: o, out: out, wanted: slices.Clone(o.DeleteArtifacts)}
	for _, service := range services {
		if missing := service.Missing(); missing != "" {
			s.say("%s: not checked (%s)", service.Name(), missing)
			continue
		}
		s.say("%s:", service.Name())
		before := s.lines
		s.leftovers(ctx, service)
		s.artifacts(ctx, service)
		if s.lines == before {
			s.say("  nothing of ours")
		}
	}
	for _, id := range s.wanted {
		s.failures++
		s.say("No artifact %s was found. %s", id, s.elsewhere(id))
	}
	removed := "Removed"
	if o.DryRun {
		removed = "Would be removed"
	}
	s.say("%s: %d. Left to remove: %d. In use: %d. Artifacts: %d. Failed: %d.", removed, s.removed, s.remains, s.used, s.listed, s.failures)
	return s.remains == 0 && s.failures == 0
}

// elsewhere says why an id may not have been found.
func (s *run) elsewhere(id string) string {
	if pinned, err := reference.ParsePinned(id); err == nil && !slices.Contains(strings.Fields(s.Command), quoted(pinned.Repository.String())) {
		return "An image is looked for in the repositories given alone: give --repository " + quoted(pinned.Repository.String()) + " too."
	}
	return "An id is one of those listed, and what is gone is listed no more."
}

type run struct {
	Options
	out    io.Writer
	wanted []string
	lines  int
	// What failed is in failures, and in remains too where it is known to be there still.
	removed, remains, used, listed, failures int
}

func (s *run) say(format string, values ...any) {
	s.lines++
	_, _ = fmt.Fprintf(s.out, format+"\n", values...)
}

func (s *run) failed(what string, err error) {
	s.failures++
	s.say("  failed    %s: %s", what, oneLine(err))
	var said *problem.Problem
	if errors.As(err, &said) && said.Advice != "" {
		s.say("            %s", said.Advice)
	}
}

// bounded does something within a time of its own, so that one service, or one thing at it, keeps nothing from its turn.
func bounded(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(within)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("it did not end within %s: %w", limit, err)
	}
	return err
}

func (s *run) leftovers(ctx context.Context, service Service) {
	var all []Leftover
	err := bounded(ctx, s.LookWithin, func(ctx context.Context) (err error) {
		all, err = service.Leftovers(ctx)
		return err
	})
	if err != nil {
		s.failed("credentials and sandboxes could not be listed", err)
	}
	for _, l := range all {
		marker, ours := credential.ParseMarker(l.Name)
		if !ours {
			continue
		}
		what := fmt.Sprintf("%s %s (%s)", l.What, l.ID, l.Name)
		age := s.Now().Sub(marker.ExpiresAt)
		switch {
		case age <= 0:
			s.used++
			s.say("  in use    %s, until %s", what, marker.ExpiresAt.Format(time.RFC3339))
		case age < s.OlderThan:
			s.used++
			s.say("  left      %s, expired %s ago, less than %s", what, rounded(age), rounded(s.OlderThan))
		case s.DryRun:
			s.removed++
			s.remains++
			s.say("  expired   %s, %s ago", what, rounded(age))
		default:
			if err := bounded(ctx, s.RemoveWithin, l.Remove); err != nil {
				s.remains++
				s.failed(what+" expired and could not be removed", err)
				if l.ByHand != "" {
					s.say("            by hand: %s", l.ByHand)
				}
				continue
			}
			s.removed++
			s.say("  removed   %s, expired %s ago", what, rounded(age))
		}
	}
}

func (s *run) artifacts(ctx context.Context, service Service) {
	var all []Artifact
	err := bounded(ctx, s.LookWithin, func(ctx context.Context) (err error) {
		all, err = service.Artifacts(ctx)
		return err
	})
	if err != nil {
		s.failed("artifacts could not be listed", err)
	}
	for _, a := range all {
		if at := slices.Index(s.wanted, a.ID); at >= 0 {
			s.wanted = slices.Delete(s.wanted, at, at+1)
			s.removeArtifact(ctx, a)
			continue
		}
		age, old := "of unknown age", true
		if !a.BuiltAt.IsZero() {
			since := s.Now().Sub(a.BuiltAt)
			age, old = rounded(since)+" old", since >= s.OlderThan
		}
		if !old {
			continue
		}
		s.listed++
		if a.CacheKey != "" {
			age += ", cache key " + a.CacheKey
		}
		if a.Untagged {
			age = "without a tag, " + age
		}
		s.say("  artifact  %s, %s", a.named(), age)
		s.say("            import: %s", a.Import)
		s.removal(ctx, a)
	}
}

// removal says how a listed artifact is removed, or why not here.
func (s *run) removal(ctx context.Context, a Artifact) {
	var kept *Kept
	switch err := s.ask(ctx, a.Check); {
	case errors.As(err, &kept):
		s.say("            kept:   %s", oneLine(kept))
	case err != nil:
		s.failed("whether artifact "+a.named()+" may be removed could not be asked", err)
	default:
		s.say("            remove: %s --delete-artifact %s", s.Command, quoted(a.ID))
	}
}

// ask is a look at an artifact; without one there is nothing to say.
func (s *run) ask(ctx context.Context, look func(context.Context) error) error {
	if look == nil {
		return nil
	}
	return bounded(ctx, s.LookWithin, look)
}

func (s *run) removeArtifact(ctx context.Context, a Artifact) {
	var err error
	if s.DryRun {
		if err = s.ask(ctx, a.Check); err == nil {
			err = s.ask(ctx, a.Used)
		}
	} else {
		err = bounded(ctx, s.LookWithin, a.Remove)
	}
	if err != nil || s.DryRun {
		s.remains++
	}
	var kept *Kept
	switch {
	case errors.As(err, &kept) && kept.InUse:
		s.used++
		s.say("  in use    artifact %s: %s", a.named(), oneLine(kept))
		s.say("            %s", kept.Advice)
	case err != nil:
		s.failed("artifact "+a.named()+" could not be removed", err)
	case s.DryRun:
		s.removed++
		s.say("  artifact  %s is to be removed", a.named())
	default:
		s.removed++
		s.say("  removed   artifact %s", a.named())
	}
}

// rounded is a duration for people: "3d4h", "2h5m", "40s".
func rounded(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return d.String()
	case d < 24*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	const day = 24 * time.Hour
	return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
}

// oneLine keeps an error on the line that it belongs to.
func oneLine(err error) string { return strings.Join(strings.Fields(problem.Words(err)), " ") }

// quoted is a text as a POSIX shell takes it.
func quoted(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("@%+=:,./-_", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

package credential

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
)

// releaseLimit bounds what is done after the operation that it belongs to: a release, and the look for what a lost
// answer left.
const releaseLimit = 30 * time.Second

// landing is how long a credential may take to be listed whose Create was given up on: the service may be storing it still.
// landingPause is the first pause between two looks.
const landing, landingPause = 5 * time.Second, 500 * time.Millisecond

// clockSkew is added to a marker's expiry, so that a machine whose clock is ahead removes nothing that is in use.
const clockSkew = 5 * time.Minute

// Store is a service that keeps credentials of ours while it builds. Its room retries what may be retried within ctx.
type Store interface {
	// Service is its name for people, "Daytona". It is kept in private state, so it never changes.
	Service() string
	// List gives all that the service keeps for us, ours or not.
	List(ctx context.Context) ([]Stored, error)
	// Delete returns when the credential is gone. One that is not there is success.
	Delete(ctx context.Context, id string) error
	// Removal says how a person removes it: a command, or where to click.
	Removal(s Stored) string
}

// Stored is a credential at a service: the id that the service gave it, and its name there.
type Stored struct{ ID, Name string }

// Deposit is what a service is to keep for one build.
type Deposit struct {
	// Purpose is that of the Marker: 1 to 16 lower-case letters and digits.
	Purpose string
	// Until is the end of the operation that needs it: its deadline. Whoever finds it later may remove it.
	Until time.Time
	// Create has the service keep the lease's credential under this name, and gives the service's id. It is called once.
	// An error whose Unclear() is false, as that of a [retry.Failure] with the service's own refusal, says that nothing
	// was stored; after any other the credential is looked for.
	Create func(ctx context.Context, name string) (id string, err error)
}

// Keeper has a service keep credentials, each for one build, and takes them back. Safe for concurrent use.
type Keeper struct {
	Store Store
	// Now is time.Now if nil; Limit is 30 seconds if zero; Sleep waits d or until ctx ends, retry.Sleep if nil; Logger logs
	// nothing if nil.
	Now    func() time.Time
	Limit  time.Duration
	Sleep  func(ctx context.Context, d time.Duration) error
	Logger *slog.Logger
}

// Keep removes our own expired credentials at the service, then has it keep this lease's, under a Marker that becomes the
// lease's ID. From then on releasing the lease takes it back, on a context of its own: it works after a cancel, and ends
// within the limit. An answer that was lost is looked for by the name. Warnings are about expired credentials that could
// not be removed; they stop nothing. Errors are *problem.Problem; errors.As finds an *Unreleased within where something
// may be left.
func (k *Keeper) Keep(ctx context.Context, lease *Lease, d Deposit) (id string, warnings problem.List, err error) {
	if warnings = k.purge(ctx); ctx.Err() != nil {
		return "", nil, &problem.Problem{Title: "Credential was not stored for the build", Object: k.Store.Service(), Cause: ctx.Err()}
	}
	marker := NewMarker(d.Purpose, d.Until.Add(clockSkew))
	stored := Stored{Name: marker.String()}
	stored.ID, err = d.Create(ctx, stored.Name)
	if err != nil {
		if stored, err = k.recover(ctx, stored, lease.ExpiresAt, err); err != nil {
			return "", warnings, err
		}
	}
	k.logger().InfoContext(ctx, "credential is stored for a build", "service", k.Store.Service(), "id", stored.ID, "name", stored.Name)
	lease.ID = stored.Name
	lease.OnRelease(func(ctx context.Context) error {
		return k.remove(ctx, Pending{Service: k.Store.Service(), ID: stored.ID, Name: stored.Name, WorksUntil: lease.ExpiresAt})
	})
	return stored.ID, warnings, nil
}

// recover finds out whether a failed Create has stored something. What it stored is adopted, or, after a cancel, removed.
func (k *Keeper) recover(ctx context.Context, stored Stored, worksUntil time.Time, failure error) (Stored, error) {
	bounded, cancel := k.detach(ctx)
	defer cancel()
	pending := Pending{Service: k.Store.Service(), Name: stored.Name, WorksUntil: worksUntil}
	failed := &problem.Problem{Title: "Credential could not be stored for the build", Object: pending.object(), Cause: failure}
	found, err := k.landed(bounded, stored.Name, failure)
	switch {
	case err != nil:
		failed.Advice = sentence(fmt.Sprintf("Whether %s keeps it is not known, because it could not be looked for: %s.", k.Store.Service(), err), pending.until(), pending.sweeping())
		return Stored{}, &Unreleased{Pending: pending, problem: failed}
	case found == Stored{} && unclear(failure):
		failed.Advice = sentence(fmt.Sprintf("Whether %s keeps it is not known: it did not say so, and does not list it yet.", k.Store.Service()), pending.until(), pending.sweeping())
		return Stored{}, &Unreleased{Pending: pending, problem: failed}
	case found == Stored{}:
		return Stored{}, failed
	case ctx.Err() == nil:
		k.logger().WarnContext(ctx, "answer was lost, and the credential is stored", "service", k.Store.Service(), "id", found.ID, "name", found.Name, "error", failure.Error())
		return found, nil
	}
	pending.ID = found.ID
	var unreleased *Unreleased
	if errors.As(k.remove(ctx, pending), &unreleased) {
		failed.Object = pending.object()
		failed.Advice = fmt.Sprintf("It is stored all the same, and was not removed: %s. %s", unreleased.problem.Cause, unreleased.problem.Advice)
		return Stored{}, &Unreleased{Pending: pending, problem: failed}
	}
	return Stored{}, failed
}

// landed looks for what a failed Create has stored; zero if there is nothing. Where it is unclear what the service did, it
// may be at it still, so that one look is not enough.
func (k *Keeper) landed(ctx context.Context, name string, failure error) (Stored, error) {
	for pause, waited := landingPause, time.Duration(0); ; pause *= 2 {
		found, err := k.find(ctx, name)
		if err != nil && waited > 0 && ctx.Err() != nil {
			return Stored{}, nil //nolint:nilerr // The looks before had an answer.
		}
		if err != nil || found != (Stored{}) || !unclear(failure) || waited >= landing {
			return found, err
		}
		pause = min(pause, landing-waited)
		_ = k.sleep(ctx, pause) // The next look tells whether ctx has ended.
		waited += pause
	}
}

// unclear tells whether a credential may be stored though its Create failed.
func unclear(failure error) bool {
	var said interface{ Unclear() bool }
	if errors.As(failure, &said) {
		return said.Unclear()
	}
	return retry.Failure{Cause: failure}.Unclear()
}

// find gives what the service keeps under a name; zero if there is none.
func (k *Keeper) find(ctx context.Context, name string) (Stored, error) {
	all, err := k.Store.List(ctx)
	if err != nil {
		return Stored{}, err
	}
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
	}
	return Stored{}, nil
}

// Expired gives our own credentials at the service that nobody needs any more, and those that are still in use.
func (k *Keeper) Expired(ctx context.Context) (expired, inUse []Stored, err error) {
	all, err := k.Store.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		switch marker, ours := ParseMarker(s.Name); {
		case !ours:
		case marker.ExpiresAt.Before(k.now()):
			expired = append(expired, s)
		default:
			inUse = append(inUse, s)
		}
	}
	return expired, inUse, nil
}

func (k *Keeper) purge(ctx context.Context) problem.List {
	bounded, cancel := context.WithTimeout(ctx, k.limit())
	defer cancel()
	expired, _, err := k.Expired(bounded)
	if err != nil {
		return problem.List{{
			Title: "Expired credentials were not looked for", Object: k.Store.Service(), Cause: err,
			Advice: "Builds go on. What earlier runs left there stays until a later one, or `sweep` of the provider's program, can list it.",
		}}
	}
	var warnings problem.List
	for _, s := range expired {
		if err := k.Store.Delete(bounded, s.ID); err != nil {
			warnings = append(warnings, &problem.Problem{
				Title: fmt.Sprintf("Expired credential %s was not removed from %s", s.ID, k.Store.Service()), Object: fmt.Sprintf("%s %s (%s)", k.Store.Service(), s.ID, s.Name), Cause: err,
				Advice: "It is tried again at the next build there. By hand: " + k.Store.Removal(s),
			})
			continue
		}
		k.logger().InfoContext(ctx, "expired credential was removed", "service", k.Store.Service(), "id", s.ID, "name", s.Name)
	}
	return warnings
}

// detach gives a context that a cancel of ctx does not end, and the limit does.
func (k *Keeper) detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), k.limit())
}

func (k *Keeper) limit() time.Duration {
	if k.Limit == 0 {
		return releaseLimit
	}
	return k.Limit
}

func (k *Keeper) now() time.Time {
	if k.Now == nil {
		return time.Now()
	}
	return k.Now()
}

func (k *Keeper) sleep(ctx context.Context, d time.Duration) error {
	if k.Sleep == nil {
		return retry.Sleep(ctx, d)
	}
	return k.Sleep(ctx, d)
}

func (k *Keeper) logger() *slog.Logger {
	if k.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return k.Logger
}

// sentence joins what is not empty.
func sentence(parts ...string) string {
	return strings.TrimSpace(strings.Join(parts, " "))
}

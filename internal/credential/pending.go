package credential

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// Pending is a release that is still to be done. It holds no secret, so that it can be kept in private state.
type Pending struct {
	// Service is Store.Service.
	Service string `json:"service"`
	// ID is the service's; empty where its answer was lost, so that only the name is known.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// WorksUntil is the credential's own end; zero: none is known.
	WorksUntil time.Time `json:"works_until,omitzero"`
}

// spoken tells it from others in a title: Terraform shows only the first of several warnings with one title.
func (p Pending) spoken() string {
	if p.ID == "" {
		return p.Name
	}
	return p.ID
}

func (p Pending) object() string {
	if p.ID == "" {
		return fmt.Sprintf("%s %s", p.Service, p.Name)
	}
	return fmt.Sprintf("%s %s (%s)", p.Service, p.ID, p.Name)
}

// until says how long the credential opens something.
func (p Pending) until() string {
	if p.WorksUntil.IsZero() {
		return "It works until it is removed or changed."
	}
	return fmt.Sprintf("It works until %s.", p.WorksUntil.UTC().Format(time.RFC3339))
}

// sweeping says when others may remove it.
func (p Pending) sweeping() string {
	marker, ours := ParseMarker(p.Name)
	if !ours {
		return ""
	}
	return fmt.Sprintf("From %s on the next build there, or `sweep` of the provider's program, removes it.", marker.ExpiresAt.UTC().Format(time.RFC3339))
}

// Unreleased is the error of a credential that is, or may be, still at a service.
type Unreleased struct {
	Pending Pending
	problem *problem.Problem
}

func (u *Unreleased) Error() string { return u.problem.Error() }

// Unwrap gives the problem: which credential, until when it works, how to remove it.
func (u *Unreleased) Unwrap() error { return u.problem }

// Settle tries pending releases of this keeper's service again, and gives those that are still pending, with the problem
// of each. Those of other services stay as they are.
func (k *Keeper) Settle(ctx context.Context, pending []Pending) (left []Pending, problems problem.List) {
	for _, p := range pending {
		if p.Service != k.Store.Service() {
			left = append(left, p)
			continue
		}
		if err := k.remove(ctx, p); err != nil {
			var unreleased *Unreleased
			if errors.As(err, &unreleased) {
				p = unreleased.Pending // Its id may be known by now.
			}
			left = append(left, p)
			problems = append(problems, problem.From(err, "Credential could not be removed")...)
		}
	}
	return left, problems
}

// remove takes a credential back, on a context of its own. Its error is an *Unreleased.
func (k *Keeper) remove(ctx context.Context, p Pending) error {
	bounded, cancel := k.detach(ctx)
	defer cancel()
	var err error
	if p.ID == "" {
		var found Stored
		found, err = k.find(bounded, p.Name)
		p.ID = found.ID
	}
	if err == nil && p.ID != "" {
		err = k.Store.Delete(bounded, p.ID)
	}
	if err == nil {
		k.logger().InfoContext(ctx, "credential was removed", "service", p.Service, "id", p.ID, "name", p.Name)
		return nil
	}
	if bounded.Err() != nil {
		err = fmt.Errorf("%s did not do it within %s: %w", p.Service, k.limit(), err)
	}
	return &Unreleased{Pending: p, problem: &problem.Problem{
		Title: fmt.Sprintf("Credential %s was not removed from %s", p.spoken(), p.Service), Object: p.object(), Cause: err,
		Advice: sentence(p.until(), p.sweeping(), "To remove it now: "+k.Store.Removal(Stored{ID: p.ID, Name: p.Name})),
	}}
}

package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// pendingKey is the private-state key of the releases that are still to be done, as a JSON list of credential.Pending.
const pendingKey = "pending_releases"

// PrivateState is what the framework's requests and responses offer of a resource's private state.
type PrivateState interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// Borrow runs build while the keeper's service keeps the lease's credential, gives build the service's id of it, and takes
// the credential back however build ends. A release that failed is a warning after a good build and part of the error
// after a bad one; private state remembers it for SettleReleases. private is the response's, and the error is build's own.
func Borrow(ctx context.Context, keeper *credential.Keeper, lease *credential.Lease, deposit credential.Deposit, private PrivateState, diagnostics *diag.Diagnostics, build func(ctx context.Context, id string) error) error {
	id, warnings, err := keeper.Keep(ctx, lease, deposit)
	warn(diagnostics, warnings)
	if err != nil {
		remember(ctx, private, diagnostics, err)
		return err
	}
	failure := build(ctx, id)
	err = lease.Release(ctx)
	if err == nil {
		return failure
	}
	remember(ctx, private, diagnostics, err)
	unreleased := problem.From(err, "Credential could not be taken back")
	if failure == nil {
		warn(diagnostics, unreleased)
		return nil
	}
	// Copies, since whoever made the problem may hold it still.
	var all problem.List
	for i, p := range problem.From(failure, "Build failed under a lease") {
		said := *p
		if i == 0 {
			for _, u := range unreleased {
				said.Advice = strings.TrimSpace(fmt.Sprintf("%s\n\n%s: %s: %s. %s", said.Advice, u.Title, u.Object, u.Cause, u.Advice))
			}
		}
		all = append(all, &said)
	}
	return all
}

// SettleReleases tries again what an earlier operation of this resource could not take back at the keeper's service. Each
// operation calls it first, with its response's private state. What still fails is a warning: it never stops an operation
// and never plans a change.
func SettleReleases(ctx context.Context, keeper *credential.Keeper, private PrivateState, diagnostics *diag.Diagnostics) {
	pending := pendingReleases(ctx, private, diagnostics)
	if len(pending) == 0 {
		return
	}
	left, problems := keeper.Settle(ctx, pending)
	warn(diagnostics, problems)
	setPending(ctx, private, diagnostics, left)
}

// remember keeps the release that an error speaks of, beside those that are pending already.
func remember(ctx context.Context, private PrivateState, diagnostics *diag.Diagnostics, err error) {
	var unreleased *credential.Unreleased
	if errors.As(err, &unreleased) {
		setPending(ctx, private, diagnostics, append(pendingReleases(ctx, private, diagnostics), unreleased.Pending))
	}
}

func pendingReleases(ctx context.Context, private PrivateState, diagnostics *diag.Diagnostics) []credential.Pending {
	text, found := private.GetKey(ctx, pendingKey)
	diagnostics.Append(found...)
	if len(text) == 0 {
		return nil
	}
	var pending []credential.Pending
	if err := json.Unmarshal(text, &pending); err != nil {
		diagnostics.AddWarning("Pending releases cannot be read", fmt.Sprintf("The private state of this resource does not tell which credentials are still to be removed: %s. Run `sweep` of the provider's program.", err))
	}
	return pending
}

func setPending(ctx context.Context, private PrivateState, diagnostics *diag.Diagnostics, pending []credential.Pending) {
	if pending == nil {
		pending = []credential.Pending{}
	}
	text, err := json.Marshal(pending)
	if err != nil {
		diagnostics.AddError("Pending releases cannot be written", err.Error())
		return
	}
	diagnostics.Append(private.SetKey(ctx, pendingKey, text)...)
}

func warn(diagnostics *diag.Diagnostics, problems problem.List) {
	for _, p := range problems {
		diagnostics.AddWarning(p.Title, p.Detail())
	}
}

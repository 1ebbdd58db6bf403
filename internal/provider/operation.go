package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// operation is one run of Create, Read, Update or Delete on one object, bounded by its timeout.
type operation struct {
	// what is the kind of object, for messages: "environment".
	what string
	// engineTells: what ran out of time is told by the engine, with the phase.
	engineTells bool
	// kind is the argument of timeouts that bounds it: "create", "read", "update" or "delete".
	kind string
	// name is the object's name, for messages; an imported one has none yet.
	name        string
	began       time.Time
	ctx         context.Context
	end         context.CancelFunc
	diagnostics *diag.Diagnostics
}

// cleanupTime bounds what is finished or tidied up after an operation was cancelled or its time was over.
const cleanupTime = 30 * time.Second

// lingering gives a context that ends cleanupTime after ctx does: for what is to be finished once it has begun.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(cleanupTime, cancel) })
	return later, func() {
		stop()
		cancel()
	}
}

// begin starts an operation; its context ends with the configured timeout, or the one given for where none is.
func begin(ctx context.Context, what, kind string, name types.String, configured func(context.Context, time.Duration) (time.Duration, diag.Diagnostics), otherwise time.Duration, diagnostics *diag.Diagnostics) (context.Context, operation) {
	limit, found := configured(ctx, otherwise)
	diagnostics.Append(found...)
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, operation{what: what, engineTells: kind == "create", kind: kind, name: name.ValueString(), began: time.Now(), ctx: ctx, end: cancel, diagnostics: diagnostics}
}

// failed reports an error: with the artifact's name, and where time ran out with what it was doing and for how long.
func (o operation) failed(err error, title string) {
	for _, p := range problem.From(err, title) {
		said := *p
		if p.Object == o.name {
			said.Object = ""
		}
		if o.name != "" {
			said.Object = strings.TrimSuffix(fmt.Sprintf("%s %q: %s", o.what, o.name, said.Object), ": ")
		}
		if errors.Is(o.ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded) && !o.engineTells {
			if !strings.Contains(p.Object, ", after ") { // Some engines tell that themselves.
				said.Object += fmt.Sprintf(", after %s", time.Since(o.began).Round(time.Second))
			}
			said.Advice = fmt.Sprintf("The time of timeouts.%s ran out. Raise it if the service is slow. %s", o.kind, p.Advice)
		}
		appendProblems(o.diagnostics, &said, title)
	}
}

// all reports each problem; none is no failure.
func (o operation) all(problems problem.List) {
	for _, p := range problems {
		o.failed(p, "Change in place failed")
	}
}

// settled reports what failed of a change in place, and warns of what was left as it was.
func (o operation) settled(failed, left problem.List) {
	o.all(failed)
	for _, p := range left {
		o.diagnostics.AddWarning(p.Title, p.Detail())
	}
}

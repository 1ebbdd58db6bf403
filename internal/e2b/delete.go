package e2b

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
)

const (
	// deletePause is the first pause before a template is asked to go again, and deletePauseMax the longest.
	deletePause, deletePauseMax = 5 * time.Second, time.Minute
	// lastLook bounds what is asked after the caller's own time is over.
	lastLook = 30 * time.Second
)

// DeleteTemplate removes a template with all its builds, once. One that is not there is no error.
func (c *Client) DeleteTemplate(ctx context.Context, id string) error {
	_, err := c.deleteTemplate(ctx, id)
	return err
}

// deleteTemplate tells too whether the template was there.
func (c *Client) deleteTemplate(ctx context.Context, id string) (there bool, err error) {
	_, err = c.send(ctx, call{method: http.MethodDelete, path: "/templates/" + url.PathEscape(id)})
	if NotFound(err) {
		return false, nil
	}
	return true, report("E2B template could not be deleted", id, err)
}

// InUse tells whether E2B refused to delete a template because sandboxes of it run or are paused.
func InUse(err error) bool {
	e := requestError(err)
	return e != nil && e.Status == http.StatusBadRequest && strings.Contains(e.Message, "sandboxes")
}

// DeleteUnused removes a template, and waits while sandboxes of it keep it, until ctx ends. It never ends a sandbox.
// there is false, without an error, where E2B answered that it has no such template.
func (c *Client) DeleteUnused(ctx context.Context, id string) (there bool, err error) {
	began := c.clock.Now()
	var refused error
	for pause := deletePause; ; pause = min(2*pause, deletePauseMax) {
		there, err := c.deleteTemplate(ctx, id)
		if ended := ctx.Err(); err != nil && ended != nil && refused != nil && !InUse(err) {
			return true, c.stillUsed(ctx, id, refused, ended, c.clock.Now().Sub(began))
		}
		if !InUse(err) {
			return there, err
		}
		refused = err
		c.logger.InfoContext(ctx, "E2B keeps the template while sandboxes use it", "template", id, "answer", requestError(err).Message, "wait", pause)
		if slept := c.clock.Sleep(ctx, retry.Jitter(pause)); slept != nil {
			return true, c.stillUsed(ctx, id, err, slept, c.clock.Now().Sub(began))
		}
	}
}

func (c *Client) stillUsed(ctx context.Context, id string, refused, ended error, waited time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	p := &problem.Problem{Title: "E2B template is still used by sandboxes", Object: fmt.Sprintf("template %s, after %s", id, waited.Round(time.Second)),
		Cause:  errors.Join(requestError(refused), ended),
		Advice: "The provider never ends sandboxes. End or wait for those of this template, paused ones included, then destroy again"}
	if !errors.Is(ended, context.Canceled) {
		p.Advice += ", or raise timeouts.delete to wait for them longer"
	}
	p.Advice += "."
	used, err := c.Usage(ctx, id)
	if err != nil {
		p.Advice += " They could not be counted: " + problem.Words(err) + "."
		return p
	}
	p.Object += ": " + used.String()
	return p
}

// Usage are the sandboxes of a template, which keep it from being deleted.
type Usage struct {
	Running, Paused int
	// IDs are those of all of them.
	IDs []string
}

// Usage asks which sandboxes of a template run or are paused.
func (c *Client) Usage(ctx context.Context, id string) (u Usage, err error) {
	used, err := c.Sandboxes(ctx, SandboxFilter{Template: id, States: []SandboxState{SandboxRunning, SandboxPaused}})
	for _, sandbox := range used {
		switch sandbox.State {
		case SandboxRunning:
			u.Running++
		case SandboxPaused:
			u.Paused++
		}
		u.IDs = append(u.IDs, sandbox.SandboxID)
	}
	return u, err
}

// String counts them and names the first ten: "1 running and 0 paused sandboxes (i1a2b3)".
func (u Usage) String() string {
	const named = 10
	text := fmt.Sprintf("%d running and %d paused sandboxes", u.Running, u.Paused)
	switch {
	case len(u.IDs) == 0:
		return text
	case len(u.IDs) > named:
		return text + " (" + strings.Join(u.IDs[:named], ", ") + ", …)"
	}
	return text + " (" + strings.Join(u.IDs, ", ") + ")"
}

package e2b

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

const (
	// pollFirst is the first pause between looks at a build, and pollMost the longest.
	pollFirst, pollMost = time.Second, 5 * time.Second
	// grace is how long looks may fail in passing, one after the other, before the wait is given up: the build goes on meanwhile.
	grace = 5 * time.Minute
	// newborn is how long E2B may say that it does not know a build just made.
	newborn = time.Minute
	// shownLines is how many log lines an error shows.
	shownLines = 40
)

// wait looks at a build until it is ready. It gives the number of log lines read and, if they are not all, why.
func (b *Builder) wait(ctx context.Context, requested RequestedBuild, mask secret.Masker, observe func(LogEntry)) (int, error, error) {
	w := waiting{Builder: b, requested: requested, log: buildLog{mask: mask, observe: observe}, began: b.clock.Now(), pause: pollFirst}
	for {
		var asked time.Duration
		info, err := b.client.BuildStatus(ctx, requested.TemplateID, requested.BuildID, w.log.count)
		if err != nil {
			if err := w.failed(ctx, err); err != nil {
				return w.log.count, nil, err
			}
			asked = retryAfter(err)
		} else {
			fresh := w.log.take(info.LogEntries)
			for _, line := range fresh {
				b.logger.InfoContext(ctx, "E2B build", "build", requested.BuildID, "step", line.Step, "line", line.Message)
			}
			w.saw(ctx, info.Status)
			switch info.Status {
			case StatusReady:
				lost := w.drain(ctx, len(info.LogEntries))
				return w.log.count, lost, nil
			case StatusError:
				if lost := w.drain(ctx, len(info.LogEntries)); lost != nil {
					b.logger.WarnContext(ctx, "the end of the E2B build's log could not be read", "error", lost.Error())
				}
				return w.log.count, nil, failure(requested, info.Reason, &w.log, mask)
			}
			if len(info.LogEntries) >= logPage {
				continue
			}
		}
		pause := max(asked, retry.Jitter(w.pause))
		retry.Tell(ctx, b.logger, b.client.api.Host, asked, pause)
		if err := b.clock.Sleep(ctx, pause); err != nil {
			return w.log.count, nil, w.ended(err)
		}
		w.pause = min(w.pause*3/2, pollMost)
	}
}

// waiting is a build that is waited for.
type waiting struct {
	*Builder
	requested RequestedBuild
	log       buildLog
	began     time.Time
	pause     time.Duration
	// status is the last that was seen, and refused the last look's failure; nil if it did not fail.
	status  Status
	refused *Error
	// failing is since when looks fail although E2B named no time to look again; zero if they do not.
	failing time.Time
}

func (w *waiting) elapsed() time.Duration { return w.clock.Now().Sub(w.began).Round(time.Second) }

func (w *waiting) object() string {
	status := w.status
	if status == "" {
		status = "not seen yet"
	}
	return fmt.Sprintf("%s, last status %q, after %s", named(w.requested.TemplateID, w.requested.BuildID), status, w.elapsed())
}

// saw keeps a status. A word that this release does not know is said once, and waited out.
func (w *waiting) saw(ctx context.Context, status Status) {
	if status != w.status {
		switch status {
		case StatusWaiting, StatusBuilding, StatusReady, StatusError:
			w.logger.InfoContext(ctx, "E2B build is "+string(status), "template", w.requested.TemplateID, "build", w.requested.BuildID)
		default:
			w.logger.WarnContext(ctx, "E2B build has a status that this release does not know; waiting on", "status", string(status), "build", w.requested.BuildID)
		}
	}
	w.status, w.refused, w.failing = status, nil, time.Time{}
}

// failed judges a look that failed: nil is to look again.
func (w *waiting) failed(ctx context.Context, err error) error {
	const title = "E2B template build was lost sight of"
	goesOn := "E2B cannot be told to stop, so the build may still become ready. "
	if e := requestError(err); ctx.Err() == nil || e != nil && e.Status != 0 {
		w.refused = e
	}
	if ctx.Err() != nil {
		return w.ended(ctx.Err())
	}
	now := w.clock.Now()
	switch {
	case retryAfter(err) > 0:
		w.failing = time.Time{}
	case w.failing.IsZero():
		w.failing = now
	}
	switch {
	case Denied(err):
		return &problem.Problem{Title: "E2B no longer takes the API key", Object: w.object(), Cause: requestError(err), Advice: goesOn + advice(err)}
	case missing(err) && now.Sub(w.began) < newborn:
		return nil
	case BuildNotFound(err):
		return &problem.Problem{Title: "E2B template build vanished", Object: w.object(), Cause: requestError(err),
			Advice: "The template may have been deleted meanwhile. Apply again."}
	case !Transient(err) && !errors.Is(err, context.DeadlineExceeded):
		return &problem.Problem{Title: title, Object: w.object(), Cause: requestError(err), Advice: goesOn + advice(err)}
	case !w.failing.IsZero() && now.Sub(w.failing) >= grace:
		return &problem.Problem{Title: title, Object: w.object(), Cause: fmt.Errorf("for %s each look failed, at last: %w", now.Sub(w.failing).Round(time.Second), requestError(err)),
			Advice: goesOn + advice(err)}
	}
	w.logger.WarnContext(ctx, "a look at the E2B build failed, looking again", "build", w.requested.BuildID, "error", err.Error())
	return nil
}

// missing tells whether an answer says that the build is not there, even if it is not E2B that says so.
func missing(err error) bool {
	e := requestError(err)
	return BuildNotFound(err) || e != nil && e.Status == http.StatusNotFound
}

// ended is a wait that the context ended.
func (w *waiting) ended(err error) error {
	if w.refused != nil {
		err = errors.Join(err, w.refused)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &problem.Problem{Title: "E2B template build took too long", Object: w.object(), Cause: err, Logs: w.log.last(""),
			Advice: "E2B cannot be told to stop: it ends a build after one hour at the latest, or after 40 minutes that it waits to be started. Give timeouts more time, and apply again."}
	}
	return &problem.Problem{Title: "Wait for the E2B template build was cancelled", Object: w.object(), Cause: err,
		Advice: "E2B cannot be told to stop, so the build goes on and may still become ready."}
}

// drain reads what is left of the log of a build that ended, of which the last page had so many lines.
func (w *waiting) drain(ctx context.Context, page int) error {
	for page > 0 {
		info, err := w.client.BuildStatus(ctx, w.requested.TemplateID, w.requested.BuildID, w.log.count)
		if err != nil {
			return err
		}
		for _, line := range w.log.take(info.LogEntries) {
			w.logger.InfoContext(ctx, "E2B build", "build", w.requested.BuildID, "step", line.Step, "line", line.Message)
		}
		page = len(info.LogEntries)
	}
	return nil
}

// buildLog keeps the last lines of each step of a build.
type buildLog struct {
	mask  secret.Masker
	count int
	steps map[string][]string
	all   []string
	// observe is told each line; it may be nil.
	observe func(LogEntry)
}

// colours are the terminal's escape sequences, which tools print even where nobody looks at them.
var colours = lazyregexp.New("\x1b\\[[0-9;?]*[a-zA-Z]")

// take keeps a page of the log, and gives it back as it may be shown.
func (l *buildLog) take(entries []LogEntry) []LogEntry {
	if l.steps == nil {
		l.steps = map[string][]string{}
	}
	shown := make([]LogEntry, 0, len(entries))
	for _, entry := range entries {
		entry.Message = l.mask.Mask(colours.ReplaceAllString(entry.Message, ""))
		shown = append(shown, entry)
		if l.observe != nil {
			l.observe(entry)
		}
		l.steps[entry.Step] = lastOf(append(l.steps[entry.Step], entry.Message))
		l.all = lastOf(append(l.all, entry.Message))
	}
	l.count += len(entries)
	return shown
}

// last are the last lines of a step, or of the whole build where the step is not known or wrote nothing.
func (l *buildLog) last(step string) []string {
	if lines := l.steps[step]; step != "" && len(lines) > 0 {
		return lines
	}
	return l.all
}

func lastOf(lines []string) []string {
	if len(lines) <= shownLines {
		return lines
	}
	return append(lines[:0:0], lines[len(lines)-shownLines:]...)
}

package e2b_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

const (
	askBuild    = "POST /v3/templates"
	startBuild  = "POST /v2/templates/{templateID}/builds/{buildID}"
	buildStatus = "GET /templates/{templateID}/builds/{buildID}/status"
)

// html is what a gateway answers.
var html = map[string]string{"Content-Type": "text/html"}

// TestALostBuildRequestIsFoundAgain is case C06: E2B makes the build, and the answer is lost.
func TestALostBuildRequestIsFoundAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		faults []e2btest.Fault
		words  []string
		asked  int
	}{
		"answer lost":        {[]e2btest.Fault{{Route: askBuild, Lose: true}}, nil, 1},
		"answer cut short":   {[]e2btest.Fault{{Route: askBuild, Truncate: true}}, nil, 1},
		"look fails once":    {[]e2btest.Fault{{Route: askBuild, Lose: true}, {Route: "GET /templates/aliases/{alias}", Times: 4, Status: 503}}, nil, 1},
		"never arrived":      {[]e2btest.Fault{{Route: askBuild, Reset: true}}, []string{"agent, tag dl-2", "No build with this tag was found", "apply again"}, 1},
		"gateway":            {[]e2btest.Fault{{Route: askBuild, Status: 502, Body: "<html>", Header: html}}, []string{"502 Bad Gateway", "Nothing was asked twice"}, 1},
		"a refusal is clear": {[]e2btest.Fault{{Route: askBuild, Status: 400, Message: "Name is required"}}, []string{"400 Bad Request: Name is required"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, e2btest.Options{})
			older := w.ready(t, order())
			w.Forget()
			w.Inject(tt.faults...)
			second := order()
			second.Request.Tags = []string{"dl-2"}
			accepted := ""
			second.Accept = func(requested e2b.RequestedBuild) error {
				accepted = requested.BuildID
				return nil
			}
			built, err := w.client.NewBuilder().Build(t.Context(), second)
			w.asked(t, askBuild, tt.asked)
			if tt.words != nil {
				says(t, err, tt.words...)
				if accepted != "" || len(w.Builds()) != 1 {
					t.Errorf("accepted %q, builds %+v", accepted, w.Builds())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			builds := w.Builds()
			if len(builds) != 2 || builds[1].Status != "ready" || builds[1].BuildID != built.BuildID || accepted != built.BuildID || built.TemplateID != older.TemplateID || !slices.Equal(built.Names, older.Names) {
				t.Errorf("built %+v, accepted %s, of %+v", built, accepted, builds)
			}
			w.nothingLeft(t, built.TemplateID)
		})
	}
}

// Where no look is answered either, nothing is claimed of what E2B has.
func TestALostBuildRequestThatCannotBeLookedUp(t *testing.T) {
	unseen := e2btest.Fault{Times: 2, Status: 404, Message: "template 'acme-team/agent' not found"}
	for name, faults := range map[string][]e2btest.Fault{
		"unavailable":  {{Times: -1, Status: 503, Message: "unavailable"}},
		"unauthorized": {{Times: -1, Status: 401, Message: "authorization header is malformed"}},
		"at last":      {unseen, {Times: -1, Status: 401, Message: "authorization header is malformed"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, e2btest.Options{})
			w.Inject(e2btest.Fault{Route: askBuild, Lose: true})
			for _, fault := range faults {
				fault.Route = "GET /templates/aliases/{alias}"
				w.Inject(fault)
			}
			_, err := w.client.NewBuilder().Build(t.Context(), order())
			p := asProblem(t, err, "agent, tag dl-1", "could not be looked up either", "template agent may be there", "Nothing was asked twice", "how to import it", fmt.Sprint(faults[len(faults)-1].Status))
			if strings.Contains(p.Detail(), "No build with this tag was found") {
				t.Errorf("it claims that nothing is there:\n%s", p.Detail())
			}
			w.asked(t, askBuild, 1)
			if len(w.Builds()) != 1 {
				t.Errorf("builds %+v", w.Builds())
			}
		})
	}
}

func TestALostBuildRequestOfAnotherIsNotAdopted(t *testing.T) {
	w := newWorld(t, e2btest.Options{})
	w.AddTemplate(e2btest.Key, "agent", "default", "dl-somebody")
	w.Inject(e2btest.Fault{Route: askBuild, Reset: true})
	_, err := w.client.NewBuilder().Build(t.Context(), order())
	says(t, err, "E2B did not answer whether it took the template build")
}

func TestCancelWhileTheRequestIsUnanswered(t *testing.T) {
	w := newWorld(t, e2btest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	w.Inject(e2btest.Fault{Route: askBuild, Lose: true, After: cancel})
	accepted := false
	order := order()
	order.Accept = func(e2b.RequestedBuild) error {
		accepted = true
		return nil
	}
	_, err := w.client.NewBuilder().Build(ctx, order)
	if !accepted || !errors.Is(err, context.Canceled) {
		t.Errorf("accepted %v, %v", accepted, err)
	}
	if builds := w.Builds(); len(builds) != 1 {
		t.Errorf("builds %+v", builds)
	}
	w.asked(t, startBuild, 0)
}

func TestWhatIsNotAcceptedIsNotStarted(t *testing.T) {
	w := newWorld(t, e2btest.Options{})
	order := order()
	order.Accept = func(e2b.RequestedBuild) error { return errors.New("not ours") }
	built, err := w.client.NewBuilder().Build(t.Context(), order)
	if err == nil || err.Error() != "not ours" || built.BuildID == "" {
		t.Errorf("got %+v, %v", built, err)
	}
	w.asked(t, startBuild, 0)
	order.Request.Tags = []string{"a", "b"}
	_, err = w.client.NewBuilder().Build(t.Context(), order)
	says(t, err, "E2B build without a tag of its own")
}

func TestALostStartIsLookedAt(t *testing.T) {
	for name, tt := range map[string]struct {
		fault  e2btest.Fault
		starts int
		words  []string
	}{
		"answer lost":    {e2btest.Fault{Lose: true}, 1, nil},
		"never arrived":  {e2btest.Fault{Reset: true}, 2, nil},
		"gateway":        {e2btest.Fault{Status: 502, Body: "<html>", Header: html}, 2, nil},
		"limited":        {e2btest.Fault{Status: 429, Header: map[string]string{"Retry-After": "1"}, Message: "Rate limit exceeded"}, 2, nil},
		"started before": {e2btest.Fault{Status: 400, Message: "build is not in waiting state"}, 1, nil},
		"never":          {e2btest.Fault{Times: -1, Status: 503, Message: "Error when getting available build client"}, 3, []string{"503", "Error when getting available build client"}},
		"refused":        {e2btest.Fault{Status: 400, Message: "Invalid build ID"}, 1, []string{"400 Bad Request: Invalid build ID"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, e2btest.Options{Pace: time.Second})
			tt.fault.Route = startBuild
			w.Inject(tt.fault)
			ctx := w.clock.Deadline(t.Context(), 10*time.Minute)
			built, err := w.client.NewBuilder().Build(ctx, order())
			w.asked(t, startBuild, tt.starts)
			w.spaced(t, startBuild)
			switch {
			case tt.words != nil:
				says(t, err, append(tt.words, built.TemplateID, built.BuildID)...)
			case name == "started before":
				// Nobody did start it, so it waits until the deadline.
				says(t, err, "E2B template build took too long", `last status "waiting"`)
			case err != nil:
				t.Error(err)
			}
		})
	}
}

// spaced wants some time between the requests of a route.
func (w world) spaced(t *testing.T, route string) {
	t.Helper()
	var last time.Time
	for _, request := range w.Requests() {
		if request.Name() != route {
			continue
		}
		if !last.IsZero() && request.At.Sub(last) < 500*time.Millisecond {
			t.Errorf("%s was asked again after %s", route, request.At.Sub(last))
		}
		last = request.At
	}
}

// TestBadLooksDoNotKillABuild is case C13.
func TestBadLooksDoNotKillABuild(t *testing.T) {
	w := newWorld(t, e2btest.Options{Pace: time.Second})
	status := func(skip int, fault e2btest.Fault) e2btest.Fault {
		fault.Route, fault.Skip = buildStatus, skip
		return fault
	}
	w.Inject(status(1, e2btest.Fault{Reset: true}), status(0, e2btest.Fault{Status: 502, Body: "<html>", Header: html}),
		status(0, e2btest.Fault{Status: 429, Header: map[string]string{"Retry-After": "1"}, Message: "Rate limit exceeded"}), status(0, e2btest.Fault{Status: 500, Message: "x"}),
		status(0, e2btest.Fault{Times: 9, Reset: true}))
	built := w.ready(t, order())
	w.asked(t, askBuild, 1)
	w.asked(t, startBuild, 1)
	w.nothingLeft(t, built.TemplateID)
}

func TestLooksThatFailForGood(t *testing.T) {
	for name, tt := range map[string]struct {
		faults []e2btest.Fault
		title  string
		words  []string
		// within is how long the wait may go on after the fault began.
		within time.Duration
	}{
		"ten minutes of a gateway": {[]e2btest.Fault{{Skip: 2, Times: -1, Status: 502, Body: "<html>", Header: html}}, "E2B template build was lost sight of", []string{`last status "building"`, "for 5m", "may still become ready"}, 6 * time.Minute},
		"unauthorized":             {[]e2btest.Fault{{Skip: 1, Status: 401, Message: "authorization header is malformed"}}, "E2B no longer takes the API key", []string{"E2B_API_KEY", "may still become ready"}, 10 * time.Second},
		"forbidden":                {[]e2btest.Fault{{Skip: 1, Status: 403, Message: "team is banned"}}, "E2B no longer takes the API key", []string{"team is banned"}, 10 * time.Second},
		"unknown at once":          {[]e2btest.Fault{{Times: -1, Status: 404, Message: "Build not found"}}, "E2B template build vanished", []string{`last status "not seen yet"`}, 80 * time.Second},
		"unknown later":            {[]e2btest.Fault{{Skip: 40, Times: -1, Status: 400, Message: "Build '9c0c6a1e-2a53-4a35-8f0b-0b1f8b5d6c11' not found"}}, "E2B template build vanished", []string{`last status "building"`}, 5 * time.Minute},
		"refused":                  {[]e2btest.Fault{{Status: 400, Message: "validation error: limit"}}, "E2B template build was lost sight of", []string{"validation error: limit"}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, e2btest.Options{})
			w.BuildsTake("agent", 50*time.Minute)
			for i := range tt.faults {
				tt.faults[i].Route = buildStatus
			}
			w.Inject(tt.faults...)
			began := w.clock.Now()
			built, err := w.client.NewBuilder().Build(t.Context(), order())
			p := asProblem(t, err, append(tt.words, built.TemplateID, built.BuildID, "after ")...)
			if p.Title != tt.title {
				t.Errorf("title %q", p.Title)
			}
			if took := w.clock.Now().Sub(began); took > tt.within {
				t.Errorf("gave up after %s", took)
			}
		})
	}
}

func TestOneMissOfANewBuildIsWaitedOut(t *testing.T) {
	w := newWorld(t, e2btest.Options{Pace: time.Second})
	w.Inject(e2btest.Fault{Route: buildStatus, Times: 3, Status: 404, Message: "Build not found"})
	w.ready(t, order())
}

func TestUnknownStatusIsWaitedOut(t *testing.T) {
	w := newWorld(t, e2btest.Options{Pace: time.Second})
	w.Inject(e2btest.Fault{Route: buildStatus, Times: 3, Status: 200, Body: `{"templateID":"t","buildID":"b","status":"queued","logs":[],"logEntries":[]}`})
	w.ready(t, order())
}

// numbered gives lines that tell their place.
func numbered(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d", i)
	}
	return lines
}

// TestLogsAndTheirEnd is case C14.
func TestLogsAndTheirEnd(t *testing.T) {
	t.Run("230 lines unread when ready", func(t *testing.T) {
		w := newWorld(t, e2btest.Options{})
		w.OnStep(e2btest.StepAnswer{Holds: "pip install", Stdout: numbered(230)})
		built := w.ready(t, order())
		if built.Lines < 240 || built.Warning != nil {
			t.Errorf("%d lines, %v", built.Lines, built.Warning)
		}
		offsets := []string{}
		for _, request := range w.Requests() {
			if request.Name() == buildStatus {
				offsets = append(offsets, request.Query.Get("logsOffset"))
			}
		}
		if want := []string{"0", "100", "200", fmt.Sprint(built.Lines)}; !slices.Equal(offsets, want) {
			t.Errorf("asked from %q, want %q", offsets, want)
		}
	})
	t.Run("read while the build runs", func(t *testing.T) {
		w := newWorld(t, e2btest.Options{Pace: time.Second})
		w.OnStep(e2btest.StepAnswer{Holds: "pip install", Stdout: numbered(230)})
		w.Inject(e2btest.Fault{Route: buildStatus, Skip: 20, Times: 8, Status: 500, Message: "x"})
		built, lines := w.watched(t)
		if want := w.Log(built.BuildID); len(want) < 240 || !slices.Equal(lines, want) || built.Lines != len(want) {
			t.Errorf("read %d lines, %d were told, of %d:\n%s", built.Lines, len(lines), len(want), strings.Join(lines, "\n"))
		}
		if looks := w.Count(buildStatus); looks < 50 {
			t.Errorf("the build was ready after %d looks, so nothing was tested", looks)
		}
	})
	t.Run("more than a page between two looks", func(t *testing.T) {
		w := newWorld(t, e2btest.Options{Pace: time.Second})
		w.OnStep(e2btest.StepAnswer{Holds: "pip install", Stdout: numbered(630)})
		w.Inject(e2btest.Fault{Route: buildStatus, Skip: 3, Pass: true, Before: func(e2btest.Request) { w.clock.Advance(250 * time.Second) }})
		built, lines := w.watched(t)
		if want := w.Log(built.BuildID); !slices.Equal(lines, want) || built.Lines != len(want) {
			t.Errorf("read %d lines, %d were told, of %d", built.Lines, len(lines), len(want))
		}
	})
	t.Run("ready, and the log is gone", func(t *testing.T) {
		w := newWorld(t, e2btest.Options{})
		w.OnStep(e2btest.StepAnswer{Holds: "pip install", Stdout: numbered(230)})
		w.Inject(e2btest.Fault{Route: buildStatus, Skip: 1, Times: -1, Status: 500, Message: "no logs"})
		built := w.ready(t, order())
		if built.Warning == nil || built.Lines != 100 {
			t.Errorf("%d lines, %v", built.Lines, built.Warning)
		}
	})
	t.Run("waiting for ever", func(t *testing.T) {
		w := newWorld(t, e2btest.Options{})
		w.BuildsTake("agent", 50*time.Minute)
		_, err := w.client.NewBuilder().Build(w.clock.Deadline(t.Context(), 10*time.Minute), order())
		p := asProblem(t, err, "E2B template build took too long", `last status "building"`, "after 10m0s", "timeouts")
		if !errors.Is(err, context.DeadlineExceeded) || len(p.Logs) == 0 {
			t.Errorf("ended by %v with %d lines", err, len(p.Logs))
		}
	})
	t.Run("E2B's own limit", func(t *testing.T) {
		w := newWorld(t, e2btest.Options{})
		w.BuildsTake("agent", 3*time.Hour)
		_, err := w.client.NewBuilder().Build(t.Context(), order())
		says(t, err, "build status polling timed out. Maximum build time is 1h0m0s.")
	})
	t.Run("failed for no reason", func(t *testing.T) {
		w := newWorld(t, e2btest.Options{})
		w.OnStep(e2btest.StepAnswer{Holds: "pip install", Silent: true})
		built, err := w.client.NewBuilder().Build(t.Context(), order())
		says(t, err, "E2B template build failed", "E2B gave no reason", built.BuildID, "https://e2b.dev/dashboard")
	})
	t.Run("cancelled", func(t *testing.T) {
		w := newWorld(t, e2btest.Options{Pace: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		w.Inject(e2btest.Fault{Route: buildStatus, Skip: 1, Hold: true, Before: func(e2btest.Request) { cancel() }})
		built, err := w.client.NewBuilder().Build(ctx, order())
		says(t, err, "Wait for the E2B template build was cancelled", built.BuildID, "the build goes on")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ended by %v", err)
		}
	})
}

func TestAFailedStepIsNamed(t *testing.T) {
	w := newWorld(t, e2btest.Options{Pace: time.Second})
	stderr := append(numbered(60), "\x1b[31mthe token is registry-password\x1b[0m")
	w.OnStep(e2btest.StepAnswer{Holds: "pip install", Stderr: stderr, Exit: 1})
	failing := order()
	failing.Secrets = []secret.Value{secret.New("registry-password")}
	built, err := w.client.NewBuilder().Build(t.Context(), failing)
	p := asProblem(t, err, "E2B template build failed", built.TemplateID, built.BuildID, "step 2: failed to run command 'pip install x': exit status 1", "the token is [redacted]", "Last 40 log lines")
	if len(p.Logs) != 40 || strings.Contains(p.Detail(), "registry-password") || strings.Contains(p.Detail(), "\x1b") || !strings.HasSuffix(p.Logs[0], "line 21") {
		t.Errorf("%d lines:\n%s", len(p.Logs), p.Detail())
	}
	var failed *e2b.BuildFailure
	if !errors.As(err, &failed) {
		t.Fatal("no BuildFailure")
	}
	if index, ok := failed.StepIndex(); !ok || index != 1 {
		t.Errorf("step %d, %v", index, ok)
	}
	for step, want := range map[string]bool{"base": false, "finalize": false, "": false, "0": false, "12": true} {
		if _, ok := (&e2b.BuildFailure{Step: step}).StepIndex(); ok != want {
			t.Errorf("step %q is one of the order's: %v", step, ok)
		}
	}
}

func TestFailuresSayWhatToDo(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*e2b.Order)
		answer e2btest.StepAnswer
		words  []string
	}{
		"no login":       {func(o *e2b.Order) { o.Start.Registry = nil }, e2btest.StepAnswer{Holds: "none"}, []string{"step base: access denied to 'localhost:5000/env@sha256:aa'", "E2B had no login for the registry", "base_registry"}},
		"wrong password": {func(o *e2b.Order) { o.Start.Registry.Password = secret.New("wrong-password") }, e2btest.StepAnswer{Holds: "none"}, []string{"you don't have permission to pull this image", `the user "ci".`, "Check that this login may pull"}},
		"never ready":    {func(o *e2b.Order) { o.Start.ReadyCommand = "is-it-ready" }, e2btest.StepAnswer{Holds: "is-it-ready", Exit: 1}, []string{"step finalize: ready command failed: ready command timed out after 10m0s", "Template is not ready: exit status 1"}},
		"start command":  {func(o *e2b.Order) { o.Start.StartCommand = "start-it" }, e2btest.StepAnswer{Holds: "start-it", Exit: 3}, []string{"start command failed: error running start command: exit status 3"}},
		"E2B's own":      {func(*e2b.Order) {}, e2btest.StepAnswer{Holds: "pip", Message: "An internal error occurred. Please try again or contact support with the build ID."}, []string{"not the configuration"}},
		"no such step":   {func(o *e2b.Order) { o.Start.Steps[0].Type = "VOLUME" }, e2btest.StepAnswer{Holds: "none"}, []string{"command type VOLUME is not implemented"}},
		"files not there": {func(o *e2b.Order) {
			o.Start.Steps[0] = e2b.Step{Type: "COPY", Args: []string{"x", "/x", "", ""}, FilesHash: strings.Repeat("b", 64)}
		}, e2btest.StepAnswer{Holds: "none"}, []string{"step 1: failed to get layer files"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, e2btest.Options{Pace: time.Second, Registries: map[string]map[string]string{"localhost:5000": {"ci": "registry-password"}}})
			w.OnStep(tt.answer)
			order := order()
			order.Start.Registry = &e2b.RegistryLogin{Username: "ci", Password: secret.New("registry-password")}
			tt.change(&order)
			built, err := w.client.NewBuilder().Build(t.Context(), order)
			p := asProblem(t, err, tt.words...)
			if text := p.Title + p.Detail(); strings.Contains(text, "-password") {
				t.Errorf("a password shows in:\n%s", text)
			}
			w.nothingLeft(t, built.TemplateID)
		})
	}
}

// TestAFailedRebuildMovesNothing: the tag default and the older build stay as they were.
func TestAFailedRebuildMovesNothing(t *testing.T) {
	w := newWorld(t, e2btest.Options{})
	built := w.ready(t, order())
	if err := w.client.AssignTags(t.Context(), built.Names[0], built.BuildID, "default"); err != nil {
		t.Fatal(err)
	}
	w.OnStep(e2btest.StepAnswer{Holds: "break", Exit: 1})
	broken := order()
	broken.Request.Tags = []string{"dl-2"}
	broken.Start.Steps = append(broken.Start.Steps, e2b.Step{Type: "RUN", Args: []string{"break"}})
	if _, err := w.client.NewBuilder().Build(t.Context(), broken); err == nil {
		t.Fatal("a broken build is ready")
	}
	for _, reference := range []string{"agent", "agent:dl-1", e2b.Reference("acme-team/agent", built.BuildID)} {
		if got, refused := w.Launches(e2btest.Key, reference); got != built.BuildID {
			t.Errorf("%s launches %q, %s", reference, got, refused)
		}
	}
	template, err := w.client.Template(t.Context(), built.TemplateID)
	if err != nil || len(template.Builds) != 2 || template.Builds[0].Status != e2b.StatusError {
		t.Errorf("%+v, %v", template, err)
	}
}

// watched builds, and gives the lines of the log as they were told.
func (w world) watched(t *testing.T) (built e2b.Built, lines []string) {
	t.Helper()
	watched := order()
	watched.Observe = func(line e2b.LogEntry) { lines = append(lines, line.Message) }
	// A wait that reads the same page again and again never sleeps, so the clock would not end it.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	built, err := w.client.NewBuilder().Build(ctx, watched)
	if err != nil {
		t.Fatal(err)
	}
	return built, lines
}

package e2b_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// crowd is a clock for several that wait: it moves on, to the next who is to wake, only when all of them wait.
type crowd struct {
	mu    sync.Mutex
	now   time.Time
	awake int
	wakes map[chan struct{}]time.Time
}

func (c *crowd) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *crowd) Sleep(ctx context.Context, d time.Duration) error {
	woken := make(chan struct{})
	c.mu.Lock()
	c.wakes[woken] = c.now.Add(d)
	c.rest()
	c.mu.Unlock()
	<-woken
	return ctx.Err()
}

// Leave says that one of them is done.
func (c *crowd) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest()
}

func (c *crowd) rest() {
	if c.awake--; c.awake > 0 || len(c.wakes) == 0 {
		return
	}
	next := slices.MinFunc(slices.Collect(maps.Values(c.wakes)), time.Time.Compare)
	c.now = next
	for woken, at := range c.wakes {
		if !at.After(next) {
			delete(c.wakes, woken)
			c.awake++
			close(woken)
		}
	}
}

func TestManyTemplatesWithFewSlots(t *testing.T) {
	ids := make([]string, 25)
	clock := &crowd{now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), awake: len(ids), wakes: map[chan struct{}]time.Time{}}
	w := newWorld(t, e2btest.Options{Teams: map[string]e2btest.Team{e2btest.Key: {Slug: "acme", MaxBuilds: 3}}, Pace: time.Second, Now: clock.Now})
	w.client = w.clientOn(t, e2btest.Key, clock)
	var group sync.WaitGroup
	for i := range ids {
		group.Go(func() {
			defer clock.Leave()
			order := order()
			order.Request.Name, order.Request.Tags = fmt.Sprintf("agent-%d", i), []string{fmt.Sprintf("dl-%d", i)}
			built, err := w.client.NewBuilder().Build(t.Context(), order)
			if err != nil {
				t.Error(err)
			}
			ids[i] = built.TemplateID
		})
	}
	group.Wait()
	if n := w.Count(askBuild); n <= 25 {
		t.Errorf("asked %d times for 25 builds with 3 slots", n)
	}
	if builds := w.Builds(); len(builds) != 25 {
		t.Errorf("%d builds were made", len(builds))
	}
	w.nothingLeft(t, ids...)
}

func TestTwoBuildsOfOneTemplateBothBecomeReady(t *testing.T) {
	w := newWorld(t, e2btest.Options{Pace: time.Second})
	var group sync.WaitGroup
	built := make([]e2b.Built, 2)
	for i := range built {
		group.Go(func() {
			order := order()
			order.Request.Tags = []string{fmt.Sprintf("dl-%d", i)}
			var err error
			if built[i], err = w.client.NewBuilder().Build(t.Context(), order); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, one := range built {
		if got, refused := w.Launches(e2btest.Key, e2b.Reference("acme-team/agent", one.BuildID)); got != one.BuildID {
			t.Errorf("%s launches %q, %s", one.BuildID, got, refused)
		}
	}

	// With one tag, the second takes the first one's place: what a tag of its own is for.
	var first error
	order := order()
	w.Inject(e2btest.Fault{Route: buildStatus, Before: func(e2btest.Request) {
		requested, err := w.client.RequestBuild(context.WithoutCancel(t.Context()), order.Request)
		if err == nil {
			err = w.client.StartBuild(context.WithoutCancel(t.Context()), requested.TemplateID, requested.BuildID, order.Start)
		}
		if err != nil {
			t.Error(err)
		}
	}, Status: 503})
	_, first = w.client.NewBuilder().Build(t.Context(), order)
	says(t, first, "superseded by a newer one", "Each apply uses a tag of its own")
	w.nothingLeft(t, built[0].TemplateID)
}

// TestEveryRequestMayFail breaks a build at each of its requests, in each way. What E2B made is then known by its ids,
// or reported with the name and the tag to find it by, and never made twice.
func TestEveryRequestMayFail(t *testing.T) {
	archive, err := e2b.Pack(e2b.ArchivedFile{Path: "a", Mode: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	build := func(w world, ctx context.Context) (e2b.Built, string, error) {
		order, accepted := order(), ""
		order.Archives = []e2b.Archive{archive}
		order.Start.Steps = append(order.Start.Steps, e2b.Step{Type: "COPY", Args: []string{"a", "/a", "", ""}, FilesHash: archive.Hash})
		order.Accept = func(requested e2b.RequestedBuild) error {
			accepted = requested.TemplateID
			return nil
		}
		built, err := w.client.NewBuilder().Build(ctx, order)
		return built, accepted, err
	}
	whole := newWorld(t, e2btest.Options{Pace: time.Second})
	if _, _, err := build(whole, t.Context()); err != nil {
		t.Fatal(err)
	}
	var routes []string
	for _, request := range whole.Requests() {
		if len(routes) == 0 || routes[len(routes)-1] != request.Name() {
			routes = append(routes, request.Name())
		}
	}
	if len(routes) != 5 {
		t.Fatalf("a build asks %q", routes)
	}
	for _, route := range routes {
		for name, fault := range map[string]e2btest.Fault{
			"reset": {Reset: true}, "lost": {Lose: true}, "cut short": {Truncate: true}, "500": {Status: 500, Message: "x"}, "refused": {Status: 400, Message: "no"},
			"unauthorized": {Status: 401, Message: "no"}, "for good": {Reset: true, Times: -1}, "cancelled": {Reset: true, Times: 1},
		} {
			t.Run(strings.ReplaceAll(route, "/", " ")+" "+name, func(t *testing.T) {
				w := newWorld(t, e2btest.Options{Pace: time.Second})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if name == "cancelled" {
					fault.Before = func(e2btest.Request) { cancel() }
				}
				fault.Route = route
				w.Inject(fault)
				built, accepted, err := build(w, ctx)
				w.Heal()
				if n := len(w.Builds()); n > 1 {
					t.Errorf("%d builds were made", n)
				}
				made := ""
				for _, one := range w.Builds() {
					made = one.TemplateID
				}
				switch {
				case made != accepted:
					t.Errorf("E2B made %q, and %q was told: %v", made, accepted, err)
				case err == nil && (built.TemplateID != made || w.Builds()[0].Status != "ready"):
					t.Errorf("success with %+v of %+v", built, w.Builds())
				case name == "cancelled" && !errors.Is(err, context.Canceled):
					t.Errorf("a cancelled build ends with %v", err)
				case err != nil:
					says(t, err)
				}
				if made != "" {
					w.nothingLeft(t, made)
				}
			})
		}
	}
}

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// cancelLimit is how long an interrupted run may take.
const cancelLimit = 10 * time.Second

// endless is a configuration whose last step ends only when it is stopped. It announces itself by a text that the
// configuration does not hold; its argument tells its process from all others.
func (s *stack) endless() (config, announcement, argument string) {
	argument = fmt.Sprintf("600.%d", time.Now().UnixNano())
	return s.config(fmt.Sprintf(`  post_install = [{ command = "printf 'the-step-%%s\\n' waits; exec sleep %s" }]`, argument)), "the-step-waits", argument
}

func TestCLI_StoppedBuildLeavesNothing(t *testing.T) {
	tests := map[string]struct {
		stop func(*cliRun)
		says []string
	}{
		"interrupted": {(*cliRun).interrupt, []string{"Image build was cancelled", "while building and pushing"}},
		"killed":      {(*cliRun).kill, nil},
		"CLI killed":  {(*cliRun).killAlone, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStack(t)
			c := s.newCLI(t)
			config, announcement, argument := s.endless()
			c.write("main.tf", config)
			run := c.start("apply", "-auto-approve")
			run.waitForLog(announcement)
			eventually(t, cancelLimit, func() error {
				if len(processesWith(t, argument)) == 0 {
					return errors.New("no process runs the step: this test needs the daemon on this machine")
				}
				return nil
			})
			test.stop(run)
			o := run.wait(cancelLimit)
			if o.code == 0 {
				t.Errorf("a stopped apply ended with 0:\n%s", o.stdout)
			}
			o.says(t, test.says...)
			nothingKept(t, s, c)
			eventually(t, cancelLimit, func() error {
				if found := processesWith(t, argument); len(found) > 0 {
					return fmt.Errorf("the step still runs as %v", found)
				}
				return nil
			})
			c.recovers(s)
		})
	}
}

// The first interrupt finds the provider cleaning up, which the second cuts short.
func TestCLI_SecondInterruptEndsTheCleanup(t *testing.T) {
	held := newHold(func(r *http.Request) bool { return r.Method == http.MethodDelete }, true)
	s := newStack(t, held.middleware)
	c := s.newCLI(t)
	c.write("main.tf", s.config(fmt.Sprintf(content, "a")))
	run := c.start("apply", "-auto-approve")
	held.wait(t)
	run.interrupt()
	run.waitForOutput("Stopping operation")
	run.interrupt()
	o := run.wait(cancelLimit)
	if o.code == 0 {
		t.Errorf("an interrupted apply ended with 0:\n%s", o.stdout)
	}
	held.release()
	nothingKept(t, s, c)
	c.recovers(s)
}

func TestCLI_InterruptedRequestLeavesNothingUnknown(t *testing.T) {
	tests := map[string]struct {
		holds  func(*http.Request) bool
		landed bool
		phase  string
		check  func(*testing.T, *stack, *cli)
	}{
		"push probe, not answered":               {isUpload, false, "checking the push permission", nothingKept},
		"push of the manifest, did not land":     {isManifest, false, "building and pushing", nothingKept},
		"push of the manifest, landed unnoticed": {isManifest, true, "building and pushing", noTagKept},
		"tag after the push, did not land":       {isTag, false, "putting the tag v1-", taintedKept},
		"tag after the push, landed unnoticed":   {isTag, true, "putting the tag v1-", taintedKept},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			held := newHold(test.holds, test.landed)
			s := newStack(t, held.middleware)
			c := s.newCLI(t)
			c.write("main.tf", s.config(fmt.Sprintf(content, "a")))
			run := c.start("apply", "-auto-approve")
			held.wait(t)
			run.interrupt()
			o := run.wait(cancelLimit)
			held.release()
			if o.code == 0 {
				t.Errorf("an interrupted apply ended with 0:\n%s", o.stdout)
			}
			o.says(t, "Image build was cancelled", "while "+test.phase)
			c.noFilesLeft()
			test.check(t, s, c)
			c.recovers(s)
		})
	}
}

func isUpload(r *http.Request) bool { return r.Method == http.MethodPost }

func isManifest(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/sha256:")
}

func isTag(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/v1-")
}

// nothingKept checks that neither state nor registry has anything.
func nothingKept(t *testing.T, s *stack, c *cli) {
	t.Helper()
	if left := s.registry.Left(t); len(left) > 0 {
		t.Errorf("left in the registry: %v", left)
	}
	noTagKept(t, s, c)
}

// noTagKept checks that state has nothing, and the registry no tag. What BuildKit's own last request put there has no
// tag, and its digest died with the build.
func noTagKept(t *testing.T, s *stack, c *cli) {
	t.Helper()
	if found := c.instances(); len(found) > 0 {
		t.Errorf("in state: %v", found)
	}
	for _, left := range s.registry.Left(t) {
		if strings.Contains(left, ":v") {
			t.Errorf("left in the registry: %s", left)
		}
	}
}

// taintedKept checks that state knows what was pushed, so that destroy removes it.
func taintedKept(t *testing.T, s *stack, c *cli) {
	t.Helper()
	s.isTainted(t, c.instances())
	c.destroy(s)
}

// A tainted image is replaced by the next apply, the new one first.
func TestCLI_ApplyAfterAnInterruptedTagReplaces(t *testing.T) {
	held := newHold(isTag, true)
	s := newStack(t, held.middleware)
	c := s.newCLI(t)
	c.write("main.tf", s.config(fmt.Sprintf(content, "a")))
	run := c.start("apply", "-auto-approve")
	held.wait(t)
	run.interrupt()
	run.wait(cancelLimit)
	held.release()
	s.isTainted(t, c.instances())
	c.apply().says(t, "1 added, 0 changed, 1 destroyed")
	s.holdsOnly(t, c.only())
	c.planIsEmpty()
	c.destroy(s)
}

// recovers checks that the next apply works and that destroy then leaves nothing.
func (c *cli) recovers(s *stack) {
	c.t.Helper()
	c.write("main.tf", s.config(fmt.Sprintf(content, "a")))
	c.apply()
	s.holdsOnly(c.t, c.only())
	c.planIsEmpty()
	c.destroy(s)
}

// isTainted checks that state holds one tainted instance with the digest of what was pushed.
func (s *stack) isTainted(t *testing.T, found []instance) {
	t.Helper()
	if len(found) != 1 || found[0].Status != "tainted" {
		t.Fatalf("in state: %v, want one tainted instance", found)
	}
	_, path, _ := strings.Cut(s.repository, "/")
	manifest := fmt.Sprintf("%s@%s", path, found[0].Attributes["digest"])
	if left := s.registry.Left(t); !slices.Contains(left, manifest) {
		t.Errorf("state names %s, and the registry holds %v", manifest, left)
	}
}

// hold keeps the first request that fits unanswered until it is released.
type hold struct {
	fits              func(*http.Request) bool
	landed            bool
	first             sync.Once
	reached, released chan struct{}
	release           func()
}

// newHold holds a request that never reaches the registry, or, if landed, one that the registry has done already.
func newHold(fits func(*http.Request) bool, landed bool) *hold {
	h := &hold{fits: fits, landed: landed, reached: make(chan struct{}), released: make(chan struct{})}
	h.release = sync.OnceFunc(func() { close(h.released) })
	return h
}

func (h *hold) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := false
		if h.fits(r) {
			h.first.Do(func() { held = true })
		}
		if !held {
			next.ServeHTTP(w, r)
			return
		}
		if h.landed {
			next.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
		}
		close(h.reached)
		<-h.released
		panic(http.ErrAbortHandler)
	})
}

// wait returns when the request is held; it is released at the test's end, before its registry waits for it.
func (h *hold) wait(t *testing.T) {
	t.Helper()
	t.Cleanup(h.release)
	timer := time.NewTimer(cliLimit)
	defer timer.Stop()
	select {
	case <-h.reached:
	case <-timer.C:
		t.Fatal("the request that is to be held never came")
	}
}

// processesWith gives the ids of the processes of this machine that have the argument.
func processesWith(t *testing.T, argument string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // It has ended since.
		}
		if slices.Contains(strings.Split(string(data), "\x00"), argument) {
			found = append(found, filepath.Base(filepath.Dir(path)))
		}
	}
	return found
}

// eventually asks until there is no error.
func eventually(t *testing.T, limit time.Duration, ask func() error) {
	t.Helper()
	timer, tick := time.NewTimer(limit), time.NewTicker(20*time.Millisecond)
	defer timer.Stop()
	defer tick.Stop()
	err := errors.New("not asked")
	for {
		select {
		case <-tick.C:
			if err = ask(); err == nil {
				return
			}
		case <-timer.C:
			t.Errorf("after %s: %v", limit, err)
			return
		}
	}
}

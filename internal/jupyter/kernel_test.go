package jupyter_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/jupyter"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// kernels gives a kernel in each of the two framings.
func kernels(t *testing.T, test func(*testing.T, *fake, *jupyter.Kernel)) {
	t.Helper()
	for name, older := range map[string]bool{"binary": false, "JSON": true} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.older = older
			kernel, err := jupyter.NewServer(f.endpoint(t)).StartKernel(t.Context(), "python3")
			if err != nil {
				t.Fatal(err)
			}
			kernel.NudgeEvery(10 * time.Millisecond)
			t.Cleanup(func() {
				if err := kernel.ShutDown(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
				if left := f.left(); len(left) > 0 {
					t.Errorf("kernels %q are left", left)
				}
			})
			test(t, f, kernel)
		})
	}
}

func execute(t *testing.T, kernel *jupyter.Kernel, code string) *jupyter.Execution {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	execution, err := kernel.Execute(ctx, code)
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return execution
}

func TestExecutionIsCollected(t *testing.T) {
	kernels(t, func(t *testing.T, _ *fake, kernel *jupyter.Kernel) {
		printed := execute(t, kernel, "print ours")
		if printed.Stdout != "ours" || printed.Stderr != "to ours" || printed.Error != nil || printed.Count != 7 || printed.Text() != "" {
			t.Errorf("print gave %+v", printed)
		}
		valued := execute(t, kernel, "value 2")
		if valued.Text() != "2" || len(valued.Outputs) != 2 || string(valued.Outputs[1].Data["application/json"]) != `{"x":1}` {
			t.Errorf("value gave %+v", valued)
		}
		if displayed := valued.Outputs[0]; displayed.Main || displayed.Text() != "second" {
			t.Errorf("what was displayed and changed is %+v", displayed)
		}
		raised := execute(t, kernel, "raise no")
		if raised.Error == nil || raised.Error.Error() != "ValueError: no" || !slices.Equal(raised.Error.Traceback, []string{"line 1", "line 2"}) {
			t.Errorf("raise gave %+v", raised.Error)
		}
		if buffered := execute(t, kernel, "buffers"); len(buffered.Outputs) != 0 || buffered.Error != nil {
			t.Errorf("buffers gave %+v", buffered)
		}
	})
}

func TestExecutionsAtOnceDoNotMix(t *testing.T) {
	kernels(t, func(t *testing.T, f *fake, kernel *jupyter.Kernel) {
		held := make(chan *jupyter.Execution)
		go func() { held <- execute(t, kernel, "hold") }()
		<-f.holding
		if released := execute(t, kernel, "release"); released.Stdout != "" {
			t.Errorf("the later one printed %q", released.Stdout)
		}
		if earlier := <-held; earlier == nil || earlier.Stdout != "held" {
			t.Errorf("the earlier one gave %+v", earlier)
		}
	})
}

func TestExecutionFails(t *testing.T) {
	tests := map[string]struct {
		code, title, says string
		logs              []string
		// after tells whether the kernel can be used again.
		after bool
	}{
		"no reply":        {"never idle", "Code did not end in time", "the kernel is idle, but has not answered", []string{"so far"}, true},
		"not idle":        {"never reply", "Code did not end in time", "the kernel has answered, but is not idle", []string{"so far"}, true},
		"aborted":         {"abort", "Kernel did not run the code", "its answer is aborted", nil, true},
		"kernel died":     {"die", "Kernel died", "the server says that it is restarting", nil, true},
		"connection lost": {"hang", "Connection to the kernel was lost", "EOF", nil, false},
		"not a message":   {"garbage", "Connection to the kernel was lost", "", nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kernels(t, func(t *testing.T, _ *fake, kernel *jupyter.Kernel) {
				limit := 10 * time.Second
				if strings.HasPrefix(test.code, "never") {
					limit = 200 * time.Millisecond
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				execution, err := kernel.Execute(ctx, test.code)
				var found *problem.Problem
				if !errors.As(err, &found) || found.Title != test.title || !strings.Contains(found.Error(), test.says) || !strings.Contains(found.Object, kernel.ID) || !slices.Equal(found.Logs, test.logs) {
					t.Fatalf("%+v, %v with logs %q", execution, err, found.Logs)
				}
				if strings.HasPrefix(test.code, "never") != errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("deadline within %v", err)
				}
				if test.after {
					if again := execute(t, kernel, "print again"); again.Stdout != "again" {
						t.Errorf("afterwards: %+v", again)
					}
				} else if _, err := kernel.Execute(t.Context(), "print again"); !errors.As(err, &found) || found.Title != test.title {
					t.Errorf("afterwards: %v", err)
				}
			})
		})
	}
}

// What a restarted kernel says before the server has subscribed to it is lost, its return to idle with it.
func TestExecutionAfterARestartWaitsForTheKernel(t *testing.T) {
	kernels(t, func(t *testing.T, _ *fake, kernel *jupyter.Kernel) {
		if _, err := kernel.Execute(t.Context(), "die-for-good"); err == nil {
			t.Fatal("code whose process ended came to its end")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := kernel.Execute(ctx, "print again"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "has not come back after its restart") {
			t.Errorf("while it is not heard: %v", err)
		}
	})
}

// A caller that gives up must not take the connection from the others.
func TestCancelledExecutionLeavesTheOthers(t *testing.T) {
	kernels(t, func(t *testing.T, f *fake, kernel *jupyter.Kernel) {
		held := make(chan *jupyter.Execution)
		go func() { held <- execute(t, kernel, "hold") }()
		<-f.holding
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := kernel.Execute(ctx, "never idle"); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled execution gave %v", err)
		}
		execute(t, kernel, "release")
		if earlier := <-held; earlier == nil || earlier.Stdout != "held" {
			t.Errorf("the earlier one gave %+v", earlier)
		}
	})
}

func TestClosingEndsWhatWaits(t *testing.T) {
	kernels(t, func(t *testing.T, f *fake, kernel *jupyter.Kernel) {
		failed := make(chan error)
		go func() {
			_, err := kernel.Execute(t.Context(), "hold")
			failed <- err
		}()
		<-f.holding
		kernel.Close()
		var found *problem.Problem
		if err := <-failed; !errors.As(err, &found) || found.Title != "Connection to the kernel was lost" {
			t.Errorf("what waited got %v", err)
		}
		if left := f.left(); len(left) != 1 {
			t.Errorf("kernels that run after Close: %q", left)
		}
	})
}

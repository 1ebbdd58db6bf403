package provider_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// killing is a state of things, and a change to it whose apply is killed.
type killing struct {
	prepare, change func(*leased)
	// recoveries are what follows a kill, each in a run of its own: after a kill before the service had done the request,
	// and after one when it had.
	before, after []string
}

var (
	both       = []string{"apply", "sweep"}
	recoveries = map[string]func(*leased){
		"apply": func(l *leased) { l.apply() },
		"sweep": func(l *leased) {
			if said, code := l.sweep(); code != 0 {
				l.t.Errorf("sweep ended with %d:\n%s", code, said)
			}
		},
	}
	killings = map[string]killing{
		"create":      {func(l *leased) { l.server.SlowDelete(1) }, func(l *leased) { l.config("", "a") }, both, both},
		"two at once": {func(*leased) {}, func(l *leased) { l.config("", "a", "b") }, both[1:], both[:1]},
		"replace":     {func(l *leased) { l.config("", "a"); l.apply() }, func(l *leased) { l.config("", "b") }, both[:1], both[1:]},
		"update with a release pending": {func(l *leased) {
			l.config("", "a")
			l.server.FailDeletes(-1)
			l.apply().says(l.t, "Credential c-1 was not removed from Leasetest")
			l.server.FailDeletes(0)
		}, func(l *leased) { l.config("changed", "a") }, both, both},
	}
)

// A killed apply leaves at the service what it had stored there, and one later apply or sweep removes it.
func TestCLI_KilledAtEveryRequestLeavesNoCredential(t *testing.T) {
	killed, most := 0, 0
	for name, k := range killings {
		t.Run(name, func(t *testing.T) {
			whole := newLeased(t)
			k.prepare(whole)
			k.change(whole)
			whole.server.ResetRequests()
			whole.apply()
			requests := whole.server.Requests()
			whole.end()
			if len(requests) < 2 {
				t.Fatalf("an apply makes the requests %v", requests)
			}
			for n := range requests {
				for _, landed := range []bool{false, true} {
					then := k.before
					if landed {
						then = k.after
					}
					for _, recovery := range then {
						t.Run(fmt.Sprintf("request %d, landed %t, then %s", n+1, landed, recovery), func(t *testing.T) {
							left := k.killAt(t, n+1, landed, recoveries[recovery])
							killed, most = killed+1, max(most, left)
						})
					}
				}
			}
		})
	}
	enginetest.Figure(t, "%d requests killed, at most %d credentials left by a kill, none after one apply or sweep", killed, most)
	if most == 0 {
		t.Error("no kill left a credential, so nothing was proven")
	}
}

// killAt gives how many credentials were at the service after the kill.
func (k killing) killAt(t *testing.T, n int, landed bool, recovery func(*leased)) (left int) {
	t.Helper()
	l := newLeased(t)
	k.prepare(l)
	k.change(l)
	held := l.holds.arm(n, landed)
	run := l.start("apply", "-auto-approve")
	held.wait(t)
	run.kill()
	o := run.wait(cancelLimit)
	held.release()
	if o.code == 0 {
		t.Errorf("a killed apply ended with 0:\n%s", o.stdout)
	}
	unsaid(t, l.secret, "killed apply", o)
	left = len(l.server.Credentials())
	l.at(leaseLater)
	recovery(l)
	if kept := l.server.Credentials(); len(kept) > 0 {
		t.Errorf("the service still keeps %v; its requests were %v", kept, l.server.Requests())
	}
	l.end()
	return left
}

// A run that can still act takes its credential back itself: after Ctrl-C, and where the CLI alone is killed.
func TestCLI_StoppedApplyTakesItsCredentialBack(t *testing.T) {
	for name, stop := range map[string]func(*cliRun){"interrupted": (*cliRun).interrupt, "CLI killed": (*cliRun).killAlone} {
		t.Run(name, func(t *testing.T) {
			l := newLeased(t)
			l.server.BuildPolls(1 << 30)
			l.config("", "a")
			run := l.start("apply", "-auto-approve")
			eventually(t, cliLimit, func() error {
				if len(l.server.Builds()) == 0 {
					return errors.New("no build has begun")
				}
				return nil
			})
			if stored := l.server.Credentials(); len(stored) != 1 {
				t.Errorf("stored during the build: %v", stored)
			}
			stop(run)
			if o := run.wait(cancelLimit); o.code == 0 {
				t.Errorf("a stopped apply ended with 0:\n%s", o.stdout)
			}
			if left := l.server.Credentials(); len(left) > 0 {
				t.Errorf("left at the service: %v", left)
			}
			l.server.BuildPolls(1)
			l.end()
		})
	}
}

package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// pendingWarning is what is said of a credential that stayed after a good build.
var pendingWarning = []string{
	"Credential c-1 was not removed from Leasetest", "Leasetest c-1 (dl-registry-20261130t130500z-", "answered 500: the vault is closed", "It works until 2026-12-01T00:00:00Z",
	"From 2026-11-30T13:05:00Z on the next build there, or `sweep` of the provider's program, removes it", "To remove it now: curl -X DELETE http://",
}

func TestCLI_ReleaseThatFailsOnceIsDoneByTheNextOperation(t *testing.T) {
	l := newLeased(t)
	l.config("", "a")
	l.server.FailDeletes(3)
	o := l.apply()
	o.says(t, pendingWarning...)
	before := l.only()
	l.unseen("apply", o)

	// The plan's refresh removes it, and no plan can write down that it has.
	l.planIsEmpty()
	if left := l.server.Credentials(); len(left) > 0 {
		t.Errorf("left at the service: %v", left)
	}
	l.apply().says(t, "0 added, 0 changed, 0 destroyed")
	l.server.ResetRequests()
	l.planIsEmpty()
	if requests := l.server.Requests(); !slices.Equal(requests, []string{"GET /builds/" + fmt.Sprint(before.Attributes["id"])}) {
		t.Errorf("a plan after the release makes the requests %v", requests)
	}
	if after := l.only(); after.Attributes["id"] != before.Attributes["id"] {
		t.Errorf("the build is %v, and was %v", after.Attributes["id"], before.Attributes["id"])
	}
	l.end()
}

func TestCLI_ReleaseThatFailsForEverPlansNothing(t *testing.T) {
	l := newLeased(t)
	l.config("", "a")
	l.server.FailDeletes(-1)
	l.apply().says(t, pendingWarning...)
	before := l.only()
	for _, arguments := range [][]string{{"plan", "-detailed-exitcode"}, {"apply", "-auto-approve"}, {"plan", "-detailed-exitcode"}} {
		l.expect(0, arguments...).says(t, append(pendingWarning, "No changes")...)
	}
	l.config("changed", "a")
	l.expect(2, "plan", "-detailed-exitcode").says(t, "0 to add, 1 to change, 0 to destroy")
	l.apply().says(t, append(pendingWarning, "0 added, 1 changed, 0 destroyed")...)
	if after := l.only(); after.Attributes["id"] != before.Attributes["id"] {
		t.Errorf("the build is %v, and was %v", after.Attributes["id"], before.Attributes["id"])
	}
	// A replacement keeps what is pending too, and a destroy says what it leaves.
	l.config("changed", "b")
	o := l.apply()
	o.says(t, pendingWarning...)
	o.says(t, "Credential c-3 was not removed from Leasetest", "1 added, 0 changed, 1 destroyed")
	o = l.expect(0, "destroy", "-auto-approve")
	o.says(t, "Credential c-3 was not removed from Leasetest")
	l.unseen("destroy", o)
	if left := l.server.Credentials(); len(left) != 2 {
		t.Errorf("left at the service: %v", left)
	}

	l.at(leaseLater)
	said, code := l.sweep()
	if code != 1 || strings.Count(said, "failed    credential c-") != 2 || !strings.Contains(said, "by hand: curl -X DELETE") {
		t.Errorf("sweep ended with %d:\n%s", code, said)
	}
	l.server.FailDeletes(0)
	if said, code := l.sweep(); code != 0 || strings.Count(said, "removed   credential c-") != 2 {
		t.Errorf("sweep ended with %d:\n%s", code, said)
	}
	l.end()
}

func TestCLI_ReleaseThatFailsAfterAFailedBuildIsPartOfItsError(t *testing.T) {
	l := newLeased(t)
	l.config("", "a")
	l.server.FailBuilds(1)
	l.server.FailDeletes(-1)
	o := l.expect(1, "apply", "-auto-approve")
	o.says(t, append(pendingWarning, "Test build failed", "build b-2 is failed")...)
	if strings.Contains(o.stdout+o.stderr, "Warning: Credential c-1 was not removed") {
		t.Errorf("the release is a warning, beside the error:\n%s%s", o.stdout, o.stderr)
	}
	l.unseen("failed apply", o)
	if found := l.instances(); len(found) != 1 || found[0].Status != "tainted" {
		t.Fatalf("in state: %v, want one tainted instance", found)
	}
	l.server.FailDeletes(0)
	l.apply().says(t, "1 added, 0 changed, 1 destroyed")
	if left := append(l.server.Credentials(), l.server.Builds()...); len(left) != 1 || left[0] != "b-4" {
		t.Errorf("left at the service: %v", left)
	}
	l.planIsEmpty()
	l.end()
}

// unseen checks that a run neither says nor keeps the stored password.
func (l *leased) unseen(run string, o outcome) {
	l.t.Helper()
	unsaid(l.t, l.secret, run, o)
	if l.secret.NowhereIn(l.t, l.dir) == 0 {
		l.t.Error("no file is in the working directory")
	}
	l.noFilesLeft()
}

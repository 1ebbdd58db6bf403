package enginetest

import (
	"os"
	"testing"
)

// NeedRoot is for a test that starts a daemon of its own, which only root can. Without root it is skipped, or fails in CI,
// where a test that does not run must not go unnoticed.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	const advice = "a daemon of the test's own needs root: run make test as root"
	if os.Getenv("CI") != "" {
		t.Fatal(advice)
	}
	t.Skip(advice)
}

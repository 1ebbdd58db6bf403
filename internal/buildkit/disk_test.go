package buildkit_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// TestDaemonOutOfDiskIsSaidSo runs a daemon whose whole disk is smaller than the base.
func TestDaemonOutOfDiskIsSaidSo(t *testing.T) {
	b := newBench(t)
	enginetest.NeedRoot(t)
	state := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=48m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(state, 0); err != nil {
			t.Error(err)
		}
	})
	b.ownDaemon(t, filepath.Join(state, "state"))
	_, err := b.publish(t.Context(), b.request(t, "six.lock"))
	var found *problem.Problem
	if !errors.As(err, &found) || found.Title != "BuildKit is out of disk space" {
		t.Fatalf("error is %v", err)
	}
	if left := b.registry.Left(t); len(left) > 0 {
		t.Errorf("left in the registry: %v", left)
	}
}

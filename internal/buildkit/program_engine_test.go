package buildkit_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// TestBuildThroughALocalProgram has a docker that does what docker exec does: it runs the command, here on this machine.
func TestBuildThroughALocalProgram(t *testing.T) {
	b := newBench(t)
	tools, err := engine.Tools(t.Context(), io.Discard, "buildctl")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	// The program holds a pipe open, which ends when it does.
	alive, ended := filepath.Join(folder, "alive"), make(chan error, 1)
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := os.ReadFile(alive)
		ended <- err
	}()
	script := fmt.Sprintf("#!/bin/sh\n[ \"$*\" = 'exec -i builder buildctl dial-stdio' ] || exit 9\nexec %s --addr %s dial-stdio 9>%s\n", tools["buildctl"], b.BuildkitAddress, alive)
	if err := os.WriteFile(filepath.Join(folder, "docker"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	daemon, err := buildkit.Connect(t.Context(), "docker-container://builder", 1, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b.publisher.Connect = func(context.Context) (*buildkit.Daemon, error) { return daemon, nil }
	request := b.request(t, "six.lock")
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if published.Image.Configs[environment.DefaultPlatform].User != "1000:100" {
		t.Errorf("the image is %+v", published.Image)
	}
	select {
	case err := <-ended:
		t.Fatalf("the program ended before the connection was closed: %v", err)
	default:
	}
	if err := daemon.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the program is still running")
	}
}

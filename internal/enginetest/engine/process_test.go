package engine

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// startShell runs a script that says "up" when its traps are set, and gives what it prints after that.
func startShell(t *testing.T, script string) (*Process, *bufio.Reader) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
	cmd.Stdout = writer
	process, err := Start("sh", cmd)
	if err := errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	output := bufio.NewReader(reader)
	if line, err := output.ReadString('\n'); line != "up\n" {
		t.Fatalf("printed %q, %v", line, err)
	}
	return process, output
}

func TestStopLetsAProcessEndInOrder(t *testing.T) {
	process, output := startShell(t, `trap 'echo in order; exit 0' TERM; echo up; while :; do sleep 0.01; done`)
	process.Stop(time.Minute)
	if err := process.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if line, err := output.ReadString('\n'); line != "in order\n" {
		t.Errorf("printed %q, %v", line, err)
	}
}

func TestStopEndsAProcessThatIgnoresIt(t *testing.T) {
	process, _ := startShell(t, `trap '' TERM; echo up; while :; do sleep 0.01; done`)
	process.Stop(10 * time.Millisecond)
	var exit *exec.ExitError
	if err := process.Wait(); !errors.As(err, &exit) || exit.String() != "signal: killed" {
		t.Errorf("ended with %v, want signal: killed", err)
	}
}

func TestReadyTellsWhyAProcessEnded(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "echo no such disk >&2; exit 3")
	process, err := StartLogged("daemon", t.TempDir(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	err = process.Ready(time.Minute, func() error { return errors.New("refused") })
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no such disk") {
		t.Errorf("got %v", err)
	}
}

func TestStartTellsWhatIsMissing(t *testing.T) {
	if _, err := Start("ghost", exec.CommandContext(t.Context(), "/no/such/program")); err == nil || !strings.Contains(err.Error(), "start ghost") {
		t.Errorf("got %v", err)
	}
}

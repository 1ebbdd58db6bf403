package provider_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

// cliRun is a run that has begun.
type cliRun struct {
	t                   *testing.T
	command             string
	process             *engine.Process
	stdout, stderr, log recording
	logged              chan struct{}
}

// start begins a run in a process group of its own. Its trace log comes through a pipe that the CLI and the provider
// both hold, so that the log ends when neither is left.
func (c *cli) start(arguments ...string) *cliRun {
	c.t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		c.t.Fatal(err)
	}
	r := &cliRun{t: c.t, command: strings.Join(arguments, " "), logged: make(chan struct{})}
	cmd := exec.Command(c.program, arguments...) //nolint:noctx // The tests end it by signal.
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = c.dir, &r.stdout, &r.stderr, []*os.File{writer}
	cmd.Env = []string{"TF_LOG=TRACE", "TF_LOG_PATH=/dev/fd/3"}
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if r.process, err = engine.Start("the CLI", cmd); err != nil {
		c.t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		defer close(r.logged)
		defer func() { _ = reader.Close() }()
		_, _ = io.Copy(&r.log, reader)
	}()
	c.t.Cleanup(func() {
		select {
		case <-r.logged:
		default:
			r.kill()
			<-r.logged
		}
	})
	return r
}

// interrupt does what Ctrl-C at a terminal does: it signals the whole group, the provider too.
func (r *cliRun) interrupt() { r.process.SignalGroup(syscall.SIGINT) }

// kill ends the run without a warning, killAlone the CLI and not the provider.
func (r *cliRun) kill()      { r.process.SignalGroup(syscall.SIGKILL) }
func (r *cliRun) killAlone() { _ = syscall.Kill(r.process.PID(), syscall.SIGKILL) }

// waitForLog returns when the log holds the text, waitForOutput when the standard output does.
func (r *cliRun) waitForLog(text string)    { r.t.Helper(); r.waitFor(&r.log, text) }
func (r *cliRun) waitForOutput(text string) { r.t.Helper(); r.waitFor(&r.stdout, text) }

func (r *cliRun) waitFor(where *recording, text string) {
	r.t.Helper()
	timer := time.NewTimer(cliLimit)
	defer timer.Stop()
	searched := 0
	for {
		tail, size, grown := where.from(searched)
		if strings.Contains(tail, text) {
			return
		}
		searched = max(0, size-len(text))
		select {
		case <-grown:
		case <-r.logged:
			r.t.Fatalf("%s ended before it said %q:\n%s%s", r.command, text, r.stdout.all(), r.stderr.all())
		case <-timer.C:
			r.t.Fatalf("%s did not say %q within %s", r.command, text, cliLimit)
		}
	}
}

// wait gives how the run ended, which it must do within the limit, the provider included.
func (r *cliRun) wait(limit time.Duration) outcome {
	r.t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for _, end := range []<-chan struct{}{r.process.Done(), r.logged} {
		select {
		case <-end:
		case <-timer.C:
			r.t.Fatalf("%s and the provider did not end within %s", r.command, limit)
		}
	}
	o := outcome{stdout: r.stdout.all(), stderr: r.stderr.all(), log: r.log.all()}
	var exit *exec.ExitError
	if err := r.process.Wait(); errors.As(err, &exit) {
		o.code = exit.ExitCode()
	} else if err != nil {
		r.t.Fatal(err)
	}
	return o
}

// outcome is how a run ended.
type outcome struct {
	code                int
	stdout, stderr, log string
}

// says checks that the errors and warnings hold each text, whatever lines the CLI broke them into.
func (o outcome) says(t *testing.T, texts ...string) {
	t.Helper()
	plain := strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(o.stderr+o.stdout)), " ")
	for _, text := range texts {
		if !strings.Contains(plain, text) {
			t.Errorf("the CLI does not say %q:\n%s%s", text, o.stdout, o.stderr)
		}
	}
}

// recording keeps what is written to it and tells when it has grown.
type recording struct {
	mutex sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func (r *recording) Write(data []byte) (int, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.grown != nil {
		close(r.grown)
		r.grown = nil
	}
	return r.text.Write(data)
}

// from gives what was written from an offset on, the size of all, and a channel that is closed at the next write.
func (r *recording) from(offset int) (tail string, size int, grown <-chan struct{}) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.grown == nil {
		r.grown = make(chan struct{})
	}
	return string(r.text.Bytes()[offset:]), r.text.Len(), r.grown
}

func (r *recording) all() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.text.String()
}

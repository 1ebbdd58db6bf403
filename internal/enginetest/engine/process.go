package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Process is a child in a process group of its own, so that a Ctrl-C at the terminal reaches only its owner, who stops
// it in order. It is sent SIGTERM when its owner dies, however that happens.
type Process struct {
	name    string
	cmd     *exec.Cmd
	logPath string
	done    chan struct{}
	err     error
}

// Start runs cmd. The name is for messages only.
func Start(name string, cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.WaitDelay = 5 * time.Second
	p := &Process{name: name, cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel sends Pdeathsig when the thread that forked ends, so that thread is kept until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// StartLogged runs cmd with its output in a file named after it in dir, whose end is part of later errors.
func StartLogged(name, dir string, cmd *exec.Cmd) (*Process, error) {
	path := filepath.Join(dir, name+".log")
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	p, err := Start(name, cmd)
	if err != nil {
		return nil, err
	}
	p.logPath = path
	return p, nil
}

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns when the child has ended: nil if it exited with 0, otherwise as exec.Cmd.Wait.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// SignalGroup sends a signal to the child and all that it started.
func (p *Process) SignalGroup(signal syscall.Signal) {
	// The group may be gone already, which is what callers want.
	_ = syscall.Kill(-p.PID(), signal)
}

// Stop asks the child to end, and after grace ends it and all in its group. It returns when the child is gone.
func (p *Process) Stop(grace time.Duration) {
	select {
	case <-p.done:
		return
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.SignalGroup(syscall.SIGKILL)
		<-p.done
	}
}

// Ready polls probe until it succeeds, the child ends or the time is over.
func (p *Process) Ready(limit time.Duration, probe func() error) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	err := errors.New("not tried")
	for {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended at its start: %w\n%s", p.name, p.err, p.logTail())
		case <-deadline.C:
			return fmt.Errorf("%s did not answer within %s: %w\n%s", p.name, limit, err, p.logTail())
		case <-tick.C:
			if err = probe(); err == nil {
				return nil
			}
		}
	}
}

func (p *Process) logTail() string {
	data, err := os.ReadFile(p.logPath)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

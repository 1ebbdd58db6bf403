//go:build unix && !linux

package childprocess

import (
	"os/exec"
	"syscall"
)

// EndWithAll puts the program into a group of its own, so that what it has started ends with it.
func EndWithAll(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// Run runs the program to its end.
func Run(cmd *exec.Cmd) error { return cmd.Run() }

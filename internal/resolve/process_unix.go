//go:build unix && !linux

package resolve

import (
	"os/exec"
	"syscall"
)

// endWithAll puts the program into a group of its own, so that what it has started ends with it.
func endWithAll(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

func runTied(cmd *exec.Cmd) error { return cmd.Run() }

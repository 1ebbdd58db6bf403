package childprocess

import (
	"os/exec"
	"runtime"
	"syscall"
)

// EndWithAll puts the program into a group of its own, so that what it has started ends with it; and it ends when this
// process does, killed or not.
func EndWithAll(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// Run runs the program to its end, and keeps the thread that starts the program: the kernel sends Pdeathsig when that thread ends.
func Run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

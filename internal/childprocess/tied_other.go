//go:build !unix

package childprocess

import "os/exec"

// EndWithAll leaves it to the context, which ends the program alone.
func EndWithAll(*exec.Cmd) {}

// Run runs the program to its end.
func Run(cmd *exec.Cmd) error { return cmd.Run() }

// Command with-e2b runs a command, a shell for one, while a stand-in for E2B is there for it:
//
//	go run ./internal/e2b/e2btest/cmd/with-e2b bash
//
// E2B_API_KEY, E2B_API_URL and E2B_SANDBOX_URL of the command point to it. All that it holds is gone when the command ends.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: with-e2b COMMAND [ARGUMENT]...")
		os.Exit(2)
	}
	err := run(os.Args[1:])
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.Exited():
		os.Exit(exit.ExitCode())
	default:
		fmt.Fprintln(os.Stderr, "with-e2b:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	fake, err := e2btest.New(e2btest.Options{})
	if err != nil {
		return err
	}
	defer fake.Close()
	fake.OnStep(e2btest.Tells())
	fmt.Fprintf(os.Stderr, "with-e2b: a stand-in for E2B is at %s, team %s\n", fake.URL, e2btest.DefaultTeam)

	// Ctrl-C is the command's: the terminal gives it to both.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // It runs what it was told to, and ends it by signal.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "E2B_API_KEY="+e2btest.Key, "E2B_API_URL="+fake.URL, "E2B_SANDBOX_URL="+fake.URL)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			fmt.Fprintf(os.Stderr, "with-e2b: left at the stand-in: %d templates and sandboxes\n", len(fake.Left()))
			return err
		case received := <-signals:
			if received == syscall.SIGTERM {
				_ = cmd.Process.Signal(received)
			}
		}
	}
}

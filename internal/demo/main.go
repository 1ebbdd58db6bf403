// Command demo builds a real environment on this machine with the provider in bin/ and proves it: see `make demo`.
// Its last line on stdout is one JSON object whose values come from the registry and from a container.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	commands := map[string]func(context.Context) error{"up": up, "destroy": destroy, "e2b": e2bTemplate}
	var command func(context.Context) error
	if len(os.Args) == 2 {
		command = commands[os.Args[1]]
	}
	if command == nil {
		fmt.Fprintln(os.Stderr, "usage: demo up|destroy|e2b (make demo, make demo-destroy, make demo-e2b)")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// Terraform provider for sandbox environments: one Python environment, an immutable artifact on each sandbox service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/datalayer/terraform-provider-datalayer/internal/provider"
)

// version is set by the release build.
var version = "dev"

// gcPercent lets garbage grow to four times what is alive. The framework copies the schema at each step of a path, some
// 5 MB for the refresh and plan of one resource, while less than 10 MB live: by Go's default a plan of 200 resources
// spends a quarter of its CPU on collections.
const gcPercent = 400

func main() {
	if len(os.Args) > 1 && os.Args[1] == "sweep" {
		os.Exit(sweep(os.Args[2:]))
	}
	debugged, code, ended := asked(os.Args[1:], os.Stdout, os.Stderr)
	if ended {
		os.Exit(code)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	err := providerserver.Serve(context.Background(), provider.New(version), providerserver.ServeOpts{
		Address: "registry.terraform.io/datalayer/datalayer",
		Debug:   debugged,
	})
	if err != nil {
		log.Fatal(err)
	}
}

const usage = `Usage: terraform-provider-datalayer [-debug]
       terraform-provider-datalayer sweep [options]

Terraform and OpenTofu start this program without arguments.

  sweep        remove what a killed run left at the services; sweep --help says more
  -debug       serve for a debugger and print what Terraform needs to attach
  -version     print the version
  -help        this text
`

// asked reads the arguments of whoever starts the program by hand. ended tells that nothing is to be served.
func asked(arguments []string, stdout, stderr io.Writer) (debugged bool, code int, ended bool) {
	flags := flag.NewFlagSet("terraform-provider-datalayer", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&debugged, "debug", false, "")
	versioned := flags.Bool("version", false, "")
	err := flags.Parse(arguments)
	switch {
	case errors.Is(err, flag.ErrHelp), err == nil && flags.NArg() == 1 && flags.Arg(0) == "help":
		_, _ = io.WriteString(stdout, usage)
		return false, 0, true
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unknown command %q", flags.Arg(0))
	case err == nil && *versioned:
		_, _ = fmt.Fprintln(stdout, "terraform-provider-datalayer", version)
		return false, 0, true
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "terraform-provider-datalayer: %s\n\n%s", err, usage)
		return false, 2, true
	}
	return debugged, 0, false
}

func sweep(arguments []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	program := provider.Sweep(version)
	// An installed plugin has its version in its name and is on no PATH.
	program.Path = os.Args[0]
	return program.Main(ctx, arguments, os.Stdout, os.Stderr)
}

// Terraform provider for sandbox environments: one Python environment, an immutable artifact on each sandbox service.
package main

import (
	"context"
	"flag"
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
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	debugged := flag.Bool("debug", false, "serve for a debugger and print what Terraform needs to attach")
	flag.Parse()
	err := providerserver.Serve(context.Background(), provider.New(version), providerserver.ServeOpts{
		Address: "registry.terraform.io/datalayer/datalayer",
		Debug:   *debugged,
	})
	if err != nil {
		log.Fatal(err)
	}
}

func sweep(arguments []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return provider.Sweep(version).Main(ctx, arguments, os.Stdout, os.Stderr)
}

// Terraform provider for sandbox environments: one Python environment, an immutable artifact on each sandbox service.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/datalayer/terraform-provider-datalayer/internal/provider"
)

// version is set by the release build.
var version = "dev"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "sweep" {
		os.Exit(sweep(os.Args[2:]))
	}
	debug := flag.Bool("debug", false, "serve for a debugger and print what Terraform needs to attach")
	flag.Parse()
	err := providerserver.Serve(context.Background(), provider.New(version), providerserver.ServeOpts{
		Address: "registry.terraform.io/datalayer/datalayer",
		Debug:   *debug,
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

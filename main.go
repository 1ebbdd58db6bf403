// Terraform provider for sandbox environments: one Python environment, an immutable artifact on each sandbox service.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/datalayer/terraform-provider-datalayer/internal/provider"
)

// version is set by the release build.
var version = "dev"

func main() {
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

// The provider with one more resource, datalayer_lease_test, which builds at internal/credential/leasetest: tests run it
// through the real CLI to kill it. It is never shipped.
//
// LEASETEST_URL is where the service is. LEASETEST_NOW is the time that it believes it is (RFC 3339), and LEASETEST_LIMIT
// how long a release may take.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	framework "github.com/hashicorp/terraform-plugin-framework/provider"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential/leasetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/provider"
	"github.com/datalayer/terraform-provider-datalayer/internal/sweep"
)

func main() {
	keeper := newKeeper()
	if len(os.Args) > 1 && os.Args[1] == "sweep" {
		program := provider.Sweep("test", service{keeper})
		program.Now = keeper.Now
		os.Exit(program.Main(context.Background(), os.Args[2:], os.Stdout, os.Stderr))
	}
	err := providerserver.Serve(context.Background(), func() framework.Provider {
		return withLeases{provider.New("test")(), keeper}
	}, providerserver.ServeOpts{Address: "registry.terraform.io/datalayer/datalayer"})
	if err != nil {
		log.Fatal(err)
	}
}

func newKeeper() *credential.Keeper {
	k := &credential.Keeper{Store: leasetest.Client{URL: os.Getenv("LEASETEST_URL")}, Now: time.Now}
	if text := os.Getenv("LEASETEST_NOW"); text != "" {
		now, err := time.Parse(time.RFC3339, text)
		if err != nil {
			log.Fatal(err)
		}
		k.Now = func() time.Time { return now }
	}
	if text := os.Getenv("LEASETEST_LIMIT"); text != "" {
		var err error
		if k.Limit, err = time.ParseDuration(text); err != nil {
			log.Fatal(err)
		}
	}
	return k
}

type withLeases struct {
	framework.Provider
	keeper *credential.Keeper
}

func (p withLeases) Resources(ctx context.Context) []func() resource.Resource {
	return append(p.Provider.Resources(ctx), func() resource.Resource { return &leaseResource{p.keeper} })
}

// service is what sweep asks.
type service struct{ keeper *credential.Keeper }

func (service) Name() string { return "Leasetest" }

func (s service) client() leasetest.Client {
	return s.keeper.Store.(leasetest.Client) //nolint:forcetypeassert // newKeeper made it
}

func (s service) Missing() string {
	if s.client().URL == "" {
		return "set LEASETEST_URL"
	}
	return ""
}

func (s service) Leftovers(ctx context.Context) (all []sweep.Leftover, err error) {
	return sweep.Credentials(ctx, s.keeper.Store)
}

func (s service) Artifacts(ctx context.Context) (all []sweep.Artifact, err error) {
	builds, err := s.client().Builds(ctx)
	for _, b := range builds {
		all = append(all, sweep.Artifact{
			ID: b.ID, Import: "terraform import datalayer_lease_test.NAME " + b.ID,
			Remove: func(ctx context.Context) error { return s.client().DeleteBuild(ctx, b.ID) },
		})
	}
	return all, err
}

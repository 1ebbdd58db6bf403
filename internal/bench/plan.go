package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// many is how many resources a plan refreshes.
const many = 200

const environments = `
resource "datalayer_environment" "e" {
  for_each     = toset([for i in range(%d) : tostring(i)])
  name         = "bench"
  base         = %q
  repository   = "%s/bench/plan"
  attestations = { sbom = false, provenance = "none" }
}
`

const builtin = `
resource "terraform_data" "e" {
  for_each = toset([for i in range(%d) : tostring(i)])
  input    = each.key
}
`

const empty = `
terraform {
  required_providers { minimal = { source = "datalayer/minimal" } }
}
resource "minimal_nothing" "e" {
  for_each = toset([for i in range(%d) : tostring(i)])
}
`

// counter is a proxy before the registry that counts requests.
type counter struct {
	host     string
	requests atomic.Int64
	server   *http.Server
}

func (b *bench) counter(ctx context.Context) (*counter, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &counter{host: listener.Addr().String()}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: b.env.RegistryHost}) }}
	c.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = c.server.Serve(listener) }()
	return c, nil
}

// plans measures an empty plan of 200 environments, each refreshed, against one of 200 terraform_data, which are built into
// the CLI. What 200 resources of an empty provider take is the least that any provider can.
func (b *bench) plans(ctx context.Context) (err error) {
	registry, err := b.counter(ctx)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, registry.server.Close()) }()
	ours, err := b.cli(ctx, "ours", fmt.Sprintf(environments, 1, b.env.BaseReference, registry.host))
	if err != nil {
		return err
	}
	theirs, err := b.cli(ctx, "theirs", fmt.Sprintf(builtin, many))
	if err != nil {
		return err
	}
	least, err := b.cli(ctx, "least", fmt.Sprintf(empty, many))
	if err != nil {
		return err
	}
	if _, err := b.minimal(ctx); err != nil {
		return err
	}
	// The built-in provider needs init; the others, by dev_overrides, do not take it.
	if err := firstOf(ours.run(ctx, "apply", "-auto-approve"), least.run(ctx, "apply", "-auto-approve"), theirs.run(ctx, "init"), theirs.run(ctx, "apply", "-auto-approve")); err != nil {
		return err
	}
	if err := firstOf(ours.multiply(), ours.write("main.tf", fmt.Sprintf(environments, many, b.env.BaseReference, registry.host))); err != nil {
		return err
	}
	plan := func(c *cli) func() error {
		return func() error { return c.run(ctx, "plan", "-detailed-exitcode") }
	}
	taken, err := inTurn(rounds, nothing, plan(ours), plan(theirs), plan(least))
	if err != nil {
		return err
	}
	b.keep("plan_200_vs_terraform_data", taken[0], taken[1])
	b.keep("plan_200_minimal_provider_vs_terraform_data", taken[2], taken[1])
	registry.requests.Store(0)
	if err := plan(ours)(); err != nil {
		return err
	}
	b.results["plan_200_requests_count"] = registry.requests.Load()
	return nil
}

package provider

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

func buildkitNodesAttribute() schema.Attribute {
	return schema.MapAttribute{Optional: true, ElementType: types.StringType, Validators: []validator.Map{mapvalidator.ValueStringsAre(builderAddress())},
		MarkdownDescription: "Daemons for single platforms, platform (`linux/arm64`) to address in any form that `address` has. A platform that is not listed is built on the daemon at `address`. An environment whose `platforms` are built on several daemons becomes one index. `tls` is used for each `tcp://` address."}
}

func validateBuildkitNodes(builder types.Object, diagnostics *diag.Diagnostics) {
	for _, platform := range slices.Sorted(maps.Keys(member[types.Map](builder, "nodes").Elements())) {
		for _, fault := range environment.ValidatePlatforms([]string{platform}) {
			diagnostics.AddAttributeError(path.Root("buildkit").AtName("nodes").AtMapKey(platform), "Invalid platform of a BuildKit node", fmt.Sprintf("buildkit.nodes[%q]\n\n%s", platform, fault.Detail()))
		}
	}
}

// connect reaches the daemon at buildkit.address, or the one that is found.
func (s *services) connect(ctx context.Context) (*buildkit.Daemon, error) {
	address, err := buildkit.FindAddress(s.address, buildkit.Machine{Getenv: os.Getenv, IsSocket: isSocket})
	if err != nil {
		return nil, err
	}
	return s.connectTo(ctx, address, "buildkit.address")
}

// connectors give the daemons of buildkit.nodes.
func (s *services) connectors() map[string]func(context.Context) (*buildkit.Daemon, error) {
	connectors := map[string]func(context.Context) (*buildkit.Daemon, error){}
	for platform, address := range s.nodes {
		connectors[platform] = func(ctx context.Context) (*buildkit.Daemon, error) {
			return s.connectTo(ctx, address, fmt.Sprintf("buildkit.nodes[%q]", platform))
		}
	}
	return connectors
}

// connectTo reaches a daemon at its first build and keeps it, so that max_parallel bounds all builds of a run. Builds
// that ask at once share one attempt, and its failure; the one that began it may be cancelled without the others. argument is
// where the configuration says the address.
func (s *services) connectTo(ctx context.Context, address, argument string) (*buildkit.Daemon, error) {
	attempt := s.connecting.DoChan(address, func() (any, error) {
		if daemon, ok := s.daemons.Load(address); ok {
			return daemon, nil
		}
		settings, err := s.tls.settings()
		if err != nil {
			return nil, err
		}
		options := []buildkit.Option{buildkit.FromArgument(argument)}
		// With nodes, the settings are for those among them that speak TLS.
		if settings != nil && (len(s.nodes) == 0 || strings.HasPrefix(address, "tcp://")) {
			options = append(options, buildkit.WithTLS(*settings))
		}
		daemon, err := buildkit.Connect(context.WithoutCancel(ctx), address, s.maxParallel, s.logger, options...)
		if err == nil {
			s.daemons.Store(address, daemon)
		}
		return daemon, err
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-attempt:
		daemon, _ := result.Val.(*buildkit.Daemon)
		return daemon, result.Err
	}
}

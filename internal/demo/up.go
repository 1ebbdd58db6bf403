package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// repository is where the demo's environment goes.
const repository = "demo/quickstart"

// report is the demo's last line.
type report struct {
	published
	Attestations attestations `json:"attestations"`
	proof
	Phases map[string]float64 `json:"phases"`
}

func up(ctx context.Context) error {
	result, err := build(ctx)
	if err != nil {
		return err
	}
	line, err := json.Marshal(result)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s\n", line)
	return nil
}

// build does all of the demo; when it returns, nothing that it started runs any more.
func build(ctx context.Context) (*report, error) {
	s, err := openState()
	if err != nil {
		return nil, err
	}
	defer s.close()
	phases := phases{seconds: map[string]float64{}}

	var paths map[string]string
	var tf *cli
	err = phases.run("tools", "what is missing on this machine", func() (err error) {
		names := []string{"registry", "plain-root"}
		if os.Getenv("BUILDKIT_HOST") == "" {
			names = append(names, "runc", "buildkitd", "buildctl")
		}
		if paths, err = engine.Tools(ctx, os.Stdout, names...); err != nil {
			return err
		}
		if tf, err = newCLI(ctx, s, os.Stdout); err == nil {
			fmt.Println("   with " + tf.name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}

	var registry *engine.Registry
	var buildkit *engine.Buildkit
	defer func() {
		if buildkit != nil {
			buildkit.Stop()
		}
		if registry != nil {
			registry.Stop()
		}
	}()
	err = phases.run("engine", "a registry on loopback that keeps its data in .demo/, and BuildKit", func() (err error) {
		if registry, err = startRegistry(ctx, s, paths["registry"]); err != nil {
			return err
		}
		if buildkit, err = engine.StartBuildkit(ctx, paths, s.path("buildkit")); err == nil {
			fmt.Printf("   registry %s, BuildKit %s\n", registry.Host, buildkit.Address)
		}
		return err
	})
	if err != nil {
		return nil, err
	}

	var variables []string
	err = phases.run("images", "plain Debian without Python, and an image that makes SBOMs", func() error {
		plain, err := engine.PushPlainDebian(ctx, http.DefaultClient, registry.Host, paths["plain-root"])
		if err != nil {
			return err
		}
		generator, err := engine.PushGenerator(ctx, http.DefaultClient, registry.Host)
		if err != nil {
			return err
		}
		fmt.Printf("   %s\n   %s\n", plain, generator)
		variables = quickstartVariables(registry.Host, plain, generator)
		return s.keepVariables(variables)
	})
	if err != nil {
		return nil, err
	}
	return provision(ctx, &phases, tf, registry.Host, buildkit.Address, variables)
}

// provision plans and applies the example, proves the image and sees that there is nothing more to do.
func provision(ctx context.Context, phases *phases, tf *cli, host, buildkitAddress string, variables []string) (*report, error) {
	tf.env = append(tf.env, "BUILDKIT_HOST="+buildkitAddress)
	var changes bool
	err := phases.run("plan", tf.name+" plan on examples/quickstart", func() (err error) {
		changes, err = tf.plan(ctx, variables...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if changes {
		if err := phases.run("apply", "make the base, resolve the lock on it, install it and push the image", func() error { return tf.apply(ctx) }); err != nil {
			return nil, err
		}
	}

	var image *published
	var said *attestations
	err = phases.run("inspect", "what the registry says of the image", func() (err error) {
		if image, err = inspect(ctx, host, repository); err != nil {
			return err
		}
		if said, err = readAttestations(ctx, host, repository, image.Digest); err != nil {
			return err
		}
		told, err := tf.output(ctx, "reference")
		if err == nil && told != image.Reference {
			err = fmt.Errorf("the state says %s, the registry %s", told, image.Reference)
		}
		if err == nil {
			fmt.Printf("   %s\n   SBOM of %d packages, provenance with %d materials\n", told, said.SBOMPackages, said.ProvenanceMaterials)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var proved *proof
	err = phases.run("prove", "a container from the digest as a runtime pod starts it: doctor, Jupyter Server, a kernel", func() (err error) {
		config, err := configOf(ctx, host, repository, image.Manifests[environment.DefaultPlatform])
		if err == nil {
			proved, err = prove(ctx, buildkitAddress, image.Reference, config.Env)
		}
		return err
	})
	if err != nil {
		return nil, err
	}

	if changes {
		err = phases.run("replan", "the same configuration again", func() error {
			again, err := tf.plan(ctx, variables...)
			if err == nil && again {
				err = errors.New("a second plan of an unchanged configuration is not empty")
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return &report{published: *image, Attestations: *said, proof: *proved, Phases: phases.seconds}, nil
}

// startRegistry starts the registry where the last run had it.
func startRegistry(ctx context.Context, s *state, program string) (*engine.Registry, error) {
	host, err := s.registryHost()
	if err != nil {
		return nil, err
	}
	registry, err := engine.StartRegistry(ctx, program, s.path("registry"), "tcp", host)
	if err != nil {
		return nil, err
	}
	return registry, s.keepPort(registry.Host)
}

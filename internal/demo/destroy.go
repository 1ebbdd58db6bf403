package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

// destroy destroys the demo's environment, lock and base, asks the registry's disk what is left of it, and removes .demo/. Where
// anything is left it fails, and .demo/ stays.
func destroy(ctx context.Context) error {
	s, err := openState()
	if err != nil {
		return err
	}
	defer s.close()
	variables, err := s.variables()
	if errors.Is(err, os.ErrNotExist) {
		fmt.Println("There is no demo to destroy.")
		return os.RemoveAll(s.dir)
	}
	if err != nil {
		return err
	}
	if err := s.destroy(ctx, variables); err != nil {
		return err
	}
	fmt.Printf("\nNothing of the demo is left: no tag, no manifest, no process. Removed %s.\n", s.dir)
	return nil
}

func (s *state) destroy(ctx context.Context, variables []string) error {
	phases := phases{seconds: map[string]float64{}}
	var registry *engine.Registry
	var tf *cli
	err := phases.run("engine", "the registry with the data of the last run", func() error {
		paths, err := engine.Tools(ctx, os.Stdout, "registry")
		if err != nil {
			return err
		}
		if tf, err = newCLI(ctx, s, os.Stdout); err != nil {
			return err
		}
		registry, err = startRegistry(ctx, s, paths["registry"])
		return err
	})
	if registry != nil {
		defer registry.Stop()
	}
	if err != nil {
		return err
	}
	err = phases.run("destroy", tf.name+" destroy on examples/quickstart", func() error {
		changes, err := tf.plan(ctx, append(variables, "-destroy")...)
		if err != nil || !changes {
			return err
		}
		return tf.apply(ctx)
	})
	if err != nil {
		return err
	}
	err = phases.run("check", "what is left in the registry", func() error {
		content, err := engine.Contents(registry.Storage)
		if err != nil {
			return err
		}
		var ours []string
		for _, name := range append(content.Tags, content.Manifests...) {
			// The base's repository is the environment's with a suffix.
			if strings.HasPrefix(name, repository) {
				ours = append(ours, name)
			}
		}
		if len(ours) > 0 {
			return fmt.Errorf("the registry still has %s: look at them, then remove %s", strings.Join(ours, ", "), s.dir)
		}
		fmt.Printf("   no tag and no manifest in %s/%s and %[2]s-base\n", registry.Host, repository)
		return nil
	})
	if err != nil {
		return err
	}
	return phases.run("remove", s.dir, func() error {
		registry.Stop()
		return os.RemoveAll(s.dir)
	})
}

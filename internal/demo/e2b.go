package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// e2bTemplate takes examples/e2b through its life: made, unchanged, built anew in place, destroyed.
func e2bTemplate(ctx context.Context) (err error) {
	s, err := openState()
	if err != nil {
		return err
	}
	defer s.close()
	var fake *e2btest.Server
	variables := []string{}
	if name := os.Getenv("TF_VAR_name"); name != "" {
		variables = append(variables, "TF_VAR_name="+name)
	}
	if os.Getenv("E2B_API_KEY") != "" {
		fmt.Println("This is E2B itself, with the team of E2B_API_KEY: the template is made there and destroyed. TF_VAR_name gives it another name than the example's.")
		if os.Getenv("TF_VAR_base") == "" {
			return errors.New("set TF_VAR_base to a base image, host/path@sha256:…, that E2B can pull")
		}
		variables = append(variables, "TF_VAR_base="+os.Getenv("TF_VAR_base"))
	} else {
		fmt.Println("This is a stand-in for E2B on this machine: it builds nothing. Set E2B_API_KEY and TF_VAR_base to use E2B itself.")
		if fake, err = e2btest.New(e2btest.Options{}); err != nil {
			return err
		}
		defer fake.Close()
		fake.OnStep(e2btest.Tells())
		variables = append(variables, "E2B_API_KEY="+e2btest.Key, "E2B_API_URL="+fake.URL, "E2B_SANDBOX_URL="+fake.URL, "TF_VAR_base=registry.example.com/base@sha256:"+strings.Repeat("b", 64))
	}
	tf, err := newCLIOn(ctx, s, "e2b", os.Stdout)
	if err != nil {
		return err
	}
	tf.env = append(tf.env, variables...)
	defer func() {
		// What was made goes, whatever failed and even after Ctrl-C.
		last := context.WithoutCancel(ctx)
		if _, planned := tf.plan(last, "-destroy"); planned != nil {
			err = errors.Join(err, planned)
			return
		}
		err = errors.Join(err, tf.apply(last))
		if fake != nil && err == nil {
			fmt.Printf("\nLeft at the stand-in: %d templates and sandboxes. Kept in the team's cache, which no call clears: %d layers and uploads.\n", len(fake.Left()), len(fake.Retained()))
		}
	}()
	first, err := e2bApplied(ctx, tf)
	if err != nil {
		return err
	}
	if changes, err := tf.plan(ctx); err != nil || changes {
		return errors.Join(err, fmt.Errorf("a plan of the same configuration has changes: %t", changes))
	}
	tf.env = append(tf.env, "TF_VAR_memory_mb=2048")
	second, err := e2bApplied(ctx, tf)
	if err != nil {
		return err
	}
	fmt.Printf("\nBuilt:       %s\nBuilt anew:  %s\n", first, second)
	if fake != nil {
		build, refused := fake.Launches(e2btest.Key, first)
		fmt.Printf("The first still launches: build %s%s\n", build, refused)
	}
	return nil
}

// e2bApplied plans and applies, and gives what launches.
func e2bApplied(ctx context.Context, tf *cli) (string, error) {
	if _, err := tf.plan(ctx); err != nil {
		return "", err
	}
	if err := tf.apply(ctx); err != nil {
		return "", err
	}
	return tf.output(ctx, "reference")
}

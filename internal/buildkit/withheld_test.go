package buildkit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// withheld gives no login for the registry, and says why.
type withheld struct{ host string }

func (w withheld) Credential(_ context.Context, host string) (image.Credential, error) {
	if host != w.host {
		return image.Credential{}, nil
	}
	return image.Credential{}, &problem.Problem{Title: "Docker credential helper failed", Object: "docker-credential-x for " + host, Cause: errors.New("it ended with status 1"), Advice: "Run the helper by hand."}
}

// fresh is an image that no daemon has seen.
func (b *bench) fresh(t *testing.T) reference.Reference {
	t.Helper()
	pinned, err := reference.ParsePinned(b.registry.PushBaseVariant(t, func(config map[string]any) {
		config["created"] = time.Now().UTC().Format(time.RFC3339Nano)
	}))
	if err != nil {
		t.Fatal(err)
	}
	return pinned
}

func TestCredentialThatTheDaemonCannotHaveIsReportedAsItIs(t *testing.T) {
	auth := enginetest.BasicAuth(map[string]string{"writer": "cnry-first-password"}, nil)
	for name, c := range map[string]struct {
		run  func(*testing.T, *bench, reference.Reference, buildkit.Request) error
		path []any
		also string
	}{
		"base": {func(t *testing.T, b *bench, on reference.Reference, request buildkit.Request) error {
			request.Base = on
			_, err := b.publish(t.Context(), request)
			return err
		}, []any{"base"}, ""},
		"generator": {func(t *testing.T, b *bench, on reference.Reference, request buildkit.Request) error {
			request.Attestations = buildkit.Attestations{SBOM: true, SBOMGenerator: on}
			_, err := b.publish(t.Context(), request)
			return err
		}, []any{"attestations", "sbom_generator"}, "attestations.sbom = false"},
		"errand": {func(t *testing.T, b *bench, on reference.Reference, request buildkit.Request) error {
			errand := buildkit.Errand{Image: on, Platform: "linux/amd64", Credentials: request.Credentials}
			return b.daemon.Errand(t.Context(), errand, func(ctx context.Context, run *buildkit.ErrandRun) error {
				_, err := run.Run(ctx, buildkit.ErrandStep{Name: "look", Args: []string{"true"}})
				return err
			})
		}, []any{"base"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, request, _ := withLogins(t, auth)
			request.Cache.Imports = nil
			on := b.fresh(t)
			if name == "generator" {
				request.Base = b.request(t, "").Base
			}
			request.Credentials = withheld{b.registry.Host}
			err := c.run(t, b, on, request)
			var found *problem.Problem
			if !errors.As(err, &found) {
				t.Fatalf("got %v", err)
			}
			if found.Title != "Docker credential helper failed" || !slices.Equal(found.Path, c.path) || found.Object != "docker-credential-x for "+b.registry.Host {
				t.Errorf("got %q at %v: %s", found.Title, found.Path, found.Detail())
			}
			for _, words := range []string{"status 1", "Run the helper by hand.", c.also} {
				if !strings.Contains(found.Detail(), words) {
					t.Errorf("%q is not in:\n%s", words, found.Detail())
				}
			}
			if left := b.ours(t); len(left) > 0 {
				t.Errorf("in the registry: %v", left)
			}
		})
	}
}

// asking answers for a registry that no test may reach: it asks for a login.
type asking struct{ host string }

func (a asking) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != a.host {
		return http.DefaultTransport.RoundTrip(r)
	}
	return &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {`Basic realm="r"`}}, Body: http.NoBody, Request: r}, nil
}

// The default generator has a tag, which is looked up before anything is built.
func TestCredentialForTheDefaultGeneratorIsReportedAsItIs(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	request.Attestations = buildkit.Attestations{SBOM: true}
	hub, err := reference.Parse(buildkit.DefaultSBOMGenerator)
	if err != nil {
		t.Fatal(err)
	}
	b.publisher.Registry = image.New(image.Options{Credentials: withheld{hub.Host}, Transport: asking{"registry-1.docker.io"}})
	_, err = b.publish(t.Context(), request)
	var found *problem.Problem
	if !errors.As(err, &found) || found.Title != "Docker credential helper failed" || fmt.Sprint(found.Path) != "[attestations sbom_generator]" {
		t.Fatalf("got %v", err)
	}
	for _, words := range []string{"docker-credential-x", "Run the helper by hand.", buildkit.DefaultSBOMGenerator, "attestations.sbom = false"} {
		if !strings.Contains(found.Detail(), words) {
			t.Errorf("%q is not in:\n%s", words, found.Detail())
		}
	}
}

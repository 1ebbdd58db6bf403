package provider_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// credentialHelper puts a Docker credential helper for a host on the PATH, which gives the password that was last set.
func credentialHelper(t *testing.T, host, user string) (set func(password string), asked func() int) {
	t.Helper()
	dir := t.TempDir()
	answer, calls := filepath.Join(dir, "answer"), filepath.Join(dir, "calls")
	for path, text := range map[string]string{
		"docker-credential-changing": fmt.Sprintf("#!/bin/sh\necho >> %s\ncat %s\n", calls, answer),
		"config.json":                fmt.Sprintf(`{"credHelpers": {%q: "changing"}}`, host),
		"calls":                      "",
	} {
		must(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o700))
	}
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	set = func(password string) {
		next := answer + ".next"
		must(t, os.WriteFile(next, fmt.Appendf(nil, `{"ServerURL": %q, "Username": %q, "Secret": %q}`, host, user, password), 0o600))
		must(t, os.Rename(next, answer))
	}
	asked = func() int {
		text, err := os.ReadFile(calls)
		must(t, err)
		return strings.Count(string(text), "\n")
	}
	return set, asked
}

// A token that expires when all blobs are there is asked for again, with the login as it is then.
func TestCreate_TokenExpiresBetweenTheLastBlobAndTheManifest(t *testing.T) {
	for name, renewed := range map[string]bool{"the next login is taken": true, "the login is refused": false} {
		t.Run(name, func(t *testing.T) {
			const first, second = "cnry-first-login", "cnry-second-login"
			tokens := enginetest.NewTokenService("writer", first)
			s := newStack(t, tokens.Middleware)
			set, asked := credentialHelper(t, s.registry.Host, "writer")
			set(first)
			var expired atomic.Bool
			var before int
			s.breakWith(func(r *http.Request) *enginetest.FaultResponse {
				if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/sha256:") && expired.CompareAndSwap(false, true) {
					tokens.Login("writer", second)
					tokens.Expire()
					if before = asked(); renewed {
						set(second)
					}
				}
				return nil
			})()
			config := s.config("")
			success := resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}, PreConfig: func() { set(map[bool]string{true: first, false: second}[renewed]) }}
			steps := []resource.TestStep{success}
			if !renewed {
				refused := says("Image was built but not pushed", s.repository, "the token service "+s.registry.Host, "401 Unauthorized", "incorrect username or password", "the build finished", "expired")
				steps = []resource.TestStep{{Config: config, ExpectError: refused}, isNew(s, config), success}
			}
			s.run(t, steps...)
			if given, refusals := tokens.Counts(); !expired.Load() || asked() <= before || given < 2 || (refusals > 0) == renewed {
				t.Errorf("expired: %t; the helper was asked %d times before and %d after; the service gave %d tokens and refused %d logins", expired.Load(), before, asked()-before, given, refusals)
			}
			for _, failure := range s.errors() {
				if strings.Contains(failure.Detail, "cnry") || strings.Contains(failure.Detail, "invalid character") {
					t.Errorf("the error says: %s", failure.Detail)
				}
			}
		})
	}
}

package provider_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// later is a value that is unknown until the resource that gives it is applied.
func later(name, expression string) string {
	return fmt.Sprintf("resource \"terraform_data\" %q {\n  input = %s\n}\n", name, expression)
}

// askedNothing checks at plan that no request was made since the last count.
type askedNothing struct{ s *stack }

func (c askedNothing) CheckPlan(_ context.Context, _ plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	if requests := c.s.registry.Requests(); len(requests) > 0 {
		resp.Error = fmt.Errorf("the plan made requests: %v", requests)
	}
}

// allKnown checks that no output is left without a value that a fresh build has.
func allKnown(nullable ...string) statecheck.StateCheck {
	return stateCheck(func(state *tfjson.State) error {
		for _, r := range state.Values.RootModule.Resources {
			if r.Address != address {
				continue
			}
			for _, name := range []string{
				"reference", "artifact", "cache_key", "spec_digest", "lock_digest", "packages", "retained", "digest", "manifests", "tag", "size_bytes",
				"media_type", "built_at", "build_duration_seconds", "python_version",
			} {
				if r.AttributeValues[name] == nil && !slices.Contains(nullable, name) {
					return fmt.Errorf("%s is null after apply", name)
				}
			}
		}
		return nil
	})
}

func TestUnknown_ArgumentPlansAndIsKnownAfterApply(t *testing.T) {
	s := newStack(t)
	lock := fmt.Sprintf("%q", testdata(t, "six.lock"))
	tests := map[string]struct {
		later, arguments string
		replaced         string // what of the configuration is unknown instead
		unknown          []string
	}{
		"base":       {fmt.Sprintf("%q", s.BaseReference), "", fmt.Sprintf("%q", s.BaseReference), []string{"cache_key"}},
		"repository": {fmt.Sprintf("%q", s.repository), "", fmt.Sprintf("%q", s.repository), nil},
		"name":       {`"env-a"`, "", `"env-a"`, nil},
		"lock":       {lock, "lock = terraform_data.x.output", "", []string{"cache_key", "lock_digest", "packages"}},
		"what a lock is held against": {`{ python = "3.13", packages = { pip = "25.0" } }`,
			"python_version = terraform_data.x.output.python\n  base_packages = terraform_data.x.output.packages\n  lock = " + lock, "", []string{"python_version"}},
		"env values": {`"1"`, `env = merge({ for k in ["A", "B"] : k => terraform_data.x.output }, { C = "2" })`, "", []string{"cache_key", "spec_digest"}},
		"env":        {`{ A = "1" }`, "env = terraform_data.x.output", "", []string{"cache_key", "spec_digest"}},
		"a file's attributes": {`{ path = "/srv/a", content = "a", mode = "0755" }`, `files = [
    { path = terraform_data.x.output.path, content = "a" }, { path = "/srv/b", content = terraform_data.x.output.content },
    { path = "/srv/c", content_base64 = "Yg==", mode = terraform_data.x.output.mode },
  ]`, "", []string{"cache_key", "spec_digest"}},
		"files":           {`[{ path = "/srv/a", content = "a" }]`, "files = terraform_data.x.output", "", []string{"cache_key", "spec_digest"}},
		"a file":          {`{ path = "/srv/a", content = "a", content_base64 = null, mode = "0644" }`, `files = [{ path = "/srv/b", content = "b" }, terraform_data.x.output]`, "", []string{"cache_key", "spec_digest"}},
		"a post-install":  {`{ command = "true", network = null }`, `post_install = [terraform_data.x.output]`, "", []string{"cache_key", "spec_digest"}},
		"apt_packages":    {`[]`, "apt_packages = terraform_data.x.output", "", []string{"cache_key", "spec_digest"}},
		"command":         {`"true"`, "post_install = [{ command = terraform_data.x.output }]", "", []string{"cache_key", "spec_digest"}},
		"platform":        {`"linux/amd64"`, "platforms = [terraform_data.x.output]", "", []string{"cache_key"}},
		"platforms":       {`["linux/amd64"]`, "platforms = terraform_data.x.output", "", []string{"cache_key"}},
		"label":           {`"a"`, "labels = { team = terraform_data.x.output }", "", []string{"cache_key"}},
		"attestations":    {`{ sbom = false, sbom_generator = null, provenance = "min" }`, "attestations = terraform_data.x.output", "", []string{"attestations"}},
		"sbom":            {`false`, "attestations = { sbom = terraform_data.x.output, provenance = \"none\" }", "", nil},
		"no generator":    {`null`, "attestations = { sbom = false, sbom_generator = terraform_data.x.output, provenance = \"none\" }", "", nil},
		"generator":       {fmt.Sprintf("%q", s.GeneratorReference), "attestations = { sbom_generator = terraform_data.x.output }", "", nil},
		"package index":   {`{ url = "https://packages.example.com/simple/", username = null, password_wo = null, password_wo_version = null, ca_certificates = null }`, "package_index = terraform_data.x.output", "", nil},
		"cache":           {fmt.Sprintf(`{ import = [%q], export = null }`, s.repository+":cache"), "cache = terraform_data.x.output", "", nil},
		"build secrets":   {`{ a = "some-secret" }`, "build_secrets_wo = terraform_data.x.output\n post_install = [{ command = \"test -s /run/secrets/a\" }]", "", nil},
		"version and all": {`{ v = "7", policy = "delete" }`, "version = terraform_data.x.output.v\n rebuild_trigger = { n = terraform_data.x.output.v }\n deletion_policy = terraform_data.x.output.policy", "", nil},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		tt := tests[name]
		t.Run(name, func(t *testing.T) {
			config := s.config(tt.arguments)
			if tt.replaced != "" {
				config = strings.Replace(config, tt.replaced, "terraform_data.x.output", 1)
			}
			checks := []plancheck.PlanCheck{askedNothing{s}, plancheck.ExpectUnknownValue(address, tfjsonpath.New("digest"))}
			for _, attribute := range tt.unknown {
				checks = append(checks, plancheck.ExpectUnknownValue(address, tfjsonpath.New(attribute)))
			}
			var nullable []string
			if !strings.Contains(tt.arguments, "lock = ") {
				nullable = []string{"lock_digest"}
			}
			s.startCounting()
			s.runUntil(t, func(*terraform.State) error {
				if name == "package index" {
					s.warned(t, "Package index without a lock")
				}
				return s.left(t)
			}, resource.TestStep{
				Config: later("x", tt.later) + config, ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks},
				ConfigStateChecks: []statecheck.StateCheck{allKnown(nullable...), s.holds(t)},
			})
		})
	}
}

func TestUnknown_ContentReplacesAndConverges(t *testing.T) {
	s := newStack(t)
	config := func(content string) string {
		return later("x", content) + s.config(`files = [{ path = "/srv/a", content = terraform_data.x.output }]`)
	}
	replaced := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
		plancheck.ExpectResourceAction(address, plancheck.ResourceActionCreateBeforeDestroy),
		plancheck.ExpectUnknownValue(address, tfjsonpath.New("cache_key")),
	}}
	s.run(t,
		resource.TestStep{Config: config(`"a"`)},
		resource.TestStep{Config: config(`"b"`), ConfigPlanChecks: replaced, ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}},
		// A value that was unknown at plan and turns out to be the old one builds the old image again, and that is all.
		resource.TestStep{
			Config:           strings.Replace(config(`"b"`), "input =", "triggers_replace = [1]\n  input =", 1),
			ConfigPlanChecks: replaced, ConfigStateChecks: []statecheck.StateCheck{s.holds(t)},
		},
	)
}

// What was built without attestations takes unknown ones in place; what has some is replaced, since they may be others.
func TestUnknown_AttestationsReplaceWhatHasSome(t *testing.T) {
	s := newStack(t)
	config := func(provenance string) string {
		return later("x", fmt.Sprintf(`{ sbom = false, sbom_generator = null, provenance = %q }`, provenance)) + s.config("attestations = terraform_data.x.output")
	}
	s.run(t,
		resource.TestStep{Config: config("none")},
		resource.TestStep{Config: config("none"), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
		resource.TestStep{Config: config("min"), ConfigPlanChecks: expect(plancheck.ResourceActionCreateBeforeDestroy), ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}},
	)
	imported, _ := s.retained(t, "")
	s.runUntil(t, func(*terraform.State) error {
		s.warned(t, "Image lacks attestations that are asked for", "lacks: provenance of linux/amd64")
		return s.left(t)
	}, resource.TestStep{Config: importing(imported, config("max")), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate)})
}

func TestUnknown_VersionMovesTheTagInPlace(t *testing.T) {
	s := newStack(t)
	config := func(version string) string {
		return later("x", version) + s.config("version = terraform_data.x.output")
	}
	s.run(t,
		resource.TestStep{Config: config(`"1"`)},
		resource.TestStep{
			Config: config(`"2"`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate), plancheck.ExpectUnknownValue(address, tfjsonpath.New("tag")),
			}},
			ConfigStateChecks: []statecheck.StateCheck{known("tag", matching("^v2-")), s.holds(t)},
		},
	)
}

func TestUnknown_ValueThatIsWrongFailsAtApplyAndLeavesNothing(t *testing.T) {
	s := newStack(t)
	tests := map[string]struct {
		later, arguments string
		says             []string
	}{
		"env":       {`"ghp_aaaaaaaaaaaaaaaaaaaaaaaa"`, `env = { A = terraform_data.x.output }`, []string{"Environment variable holds a credential", `env["A"]`}},
		"file path": {`"/etc/passwd"`, `files = [{ path = terraform_data.x.output, content = "a" }]`, []string{"Invalid file path", "/etc/passwd"}},
		"lock":      {`"six==1.17.0"`, `lock = terraform_data.x.output`, []string{"Requirement without a hash in the lock", "line 1 (six)"}},
		"label":     {`"x"`, `labels = { "io.datalayer.${terraform_data.x.output}" = "1" }`, []string{"Reserved label"}},
		"platform":  {`"linux/amd46"`, `platforms = [terraform_data.x.output]`, []string{"Unknown platform", "linux/amd46"}},
		"version":   {`"a b"`, `version = terraform_data.x.output`, []string{"version", "a b"}},
		"secret":    {`null`, "build_secrets_wo = { a = terraform_data.x.output }\n post_install = [{ command = \"true\" }]", []string{"Build secret without a value", `"a"`, "is null"}},
		"index":     {`"/etc/ssl/ca.pem"`, fmt.Sprintf("lock = %q\n", testdata(t, "six.lock")) + `package_index = { url = "https://h.example/simple/", ca_certificates = terraform_data.x.output }`, []string{"No CA certificate for the package index"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s.startCounting()
			s.run(t, resource.TestStep{Config: later("x", tt.later) + s.config(tt.arguments), ExpectError: says(tt.says...)})
			if requests := s.registry.Requests(); len(requests) > 0 {
				t.Errorf("requests were made: %v", requests)
			}
		})
	}
}

func TestUnknown_ProviderSettingsPlanAndWorkAtApply(t *testing.T) {
	s := newStack(t, enginetest.BasicAuth(map[string]string{"robot": "cnry-unknown-1"}, nil))
	t.Setenv("BUILDKIT_HOST", "unix:///nowhere/buildkitd.sock")
	provider := func(registries string) string {
		return fmt.Sprintf("provider \"datalayer\" {\n  buildkit   = { address = terraform_data.address.output }\n  registries = %s\n}\n", registries)
	}
	tests := map[string]struct{ login, registries string }{
		"password":       {`"cnry-unknown-1"`, fmt.Sprintf(`{ %q = { username = "robot", password = terraform_data.login.output } }`, s.registry.Host)},
		"all registries": {fmt.Sprintf(`{ %q = { username = "robot", password = "cnry-unknown-1" } }`, s.registry.Host), `terraform_data.login.output`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			config := func(login string) string {
				return later("address", fmt.Sprintf("%q", s.BuildkitAddress)) + login + provider(tt.registries) + s.config("")
			}
			s.startCounting()
			s.run(t,
				resource.TestStep{
					Config: config(later("login", tt.login)), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{askedNothing{s}}},
					ConfigStateChecks: []statecheck.StateCheck{allKnown("lock_digest"), s.holds(t)},
				},
				// The login is unknown again, now with an environment to refresh: it is left as it was, with a warning.
				resource.TestStep{
					PreConfig: s.startCounting,
					Config:    config(strings.Replace(later("login", tt.login), "input =", "triggers_replace = [1]\n  input =", 1)),
					ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
						askedNothing{s}, plancheck.ExpectResourceAction(address, plancheck.ResourceActionNoop),
					}},
					PostApplyFunc: func() { s.warned(t, "Environment was not refreshed", s.repository, "not known yet") },
				},
			)
		})
	}
}

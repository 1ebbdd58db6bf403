package provider_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/resolve"
)

const lockAddress = "datalayer_package_lock.l"

// lockBench is a package index, and uv on a machine with a home of its own.
type lockBench struct {
	*stack
	index *enginetest.Index
	uv    string
}

func newLockBench(t *testing.T, s *stack) *lockBench {
	t.Helper()
	b := &lockBench{stack: s, index: enginetest.StartIndex(t), uv: enginetest.UV(t)}
	b.index.Add(t, "app", "1.0", "py3-none-any", "lib>=1")
	b.index.Add(t, "lib", "1.0", "py3-none-any")
	b.anotherMachine(t)
	return b
}

// anotherMachine has nothing of what the machine before had: no home, no cache of uv.
func (b *lockBench) anotherMachine(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", home+"/cache")
	t.Setenv("XDG_CONFIG_HOME", home+"/config")
}

// lock is a lock with these requirements, entries of a list, and further arguments; the password is a variable.
func (b *lockBench) lock(requirements, arguments string) string {
	return b.lockOf(requirements, fmt.Sprintf("python_version = \"3.13\"\n  python_platform = \"x86_64-manylinux_2_28\"\n  uv_path = %q\n%s", b.uv, arguments), "")
}

func (b *lockBench) lockOf(requirements, arguments, index string) string {
	return passwordVariable + fmt.Sprintf(`
resource "datalayer_package_lock" "l" {
  requirements = [%s]
  index        = { url = %q, ca_certificates = %q, username = %q, password_wo = var.password, %s }
  %s
}
`, requirements, b.index.URL, b.index.CA.PEM, b.index.Username, index, arguments)
}

func password(text string) config.Variables {
	return config.Variables{"password": config.StringVariable(text)}
}

func (b *lockBench) step(config string, checks ...statecheck.StateCheck) resource.TestStep {
	return resource.TestStep{Config: config, ConfigVariables: password(enginetest.IndexPassword), ConfigStateChecks: checks}
}

// planned is a step whose plan is this action on the lock.
func planned(step resource.TestStep, action plancheck.ResourceActionType, more ...plancheck.PlanCheck) resource.TestStep {
	step.ConfigPlanChecks = resource.ConfigPlanChecks{PreApply: append([]plancheck.PlanCheck{plancheck.ExpectResourceAction(lockAddress, action)}, more...)}
	return step
}

func locked(attribute string, check knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(lockAddress, tfjsonpath.New(attribute), check)
}

func lockedPackages(packages map[string]string) statecheck.StateCheck {
	checks := map[string]knownvalue.Check{}
	for name, version := range packages {
		checks[name] = knownvalue.StringExact(version)
	}
	return locked("packages", knownvalue.MapExact(checks))
}

// asksNothing checks that no request reaches the index in a step and its plans.
func (b *lockBench) asksNothing(t *testing.T, step resource.TestStep) resource.TestStep {
	var before int
	step.PreConfig = func() { before = b.index.Requests() }
	step.PostApplyFunc = func() {
		if after := b.index.Requests(); after != before {
			t.Errorf("%d requests were made", after-before)
		}
	}
	return step
}

func TestPackageLock_IsMadeOnceAndKept(t *testing.T) {
	b := newLockBench(t, newStackWithoutEngine(t))
	var content, digest, at string
	keep := func(attribute string, into *string) statecheck.StateCheck {
		return locked(attribute, knownvalue.StringFunc(func(value string) error {
			*into = value
			return nil
		}))
	}
	same := func(attribute string, want *string) statecheck.StateCheck {
		return locked(attribute, knownvalue.StringFunc(func(value string) error {
			if value != *want {
				return fmt.Errorf("%s changed from %q to %q", attribute, *want, value)
			}
			return nil
		}))
	}
	kept := []statecheck.StateCheck{same("content", &content), same("digest", &digest), same("resolved_at", &at), lockedPackages(map[string]string{"app": "1.0", "lib": "1.0"})}
	b.run(t,
		planned(b.step(b.lock(`"app"`, ""), keep("content", &content), keep("digest", &digest), keep("resolved_at", &at), lockedPackages(map[string]string{"app": "1.0", "lib": "1.0"}),
			locked("uv_version", knownvalue.StringExact(resolve.UVVersion)), locked("runner", knownvalue.StringExact("local")), locked("only_binary", knownvalue.Bool(true)),
			locked("index", knownvalue.ObjectPartial(map[string]knownvalue.Check{"password_wo": knownvalue.Null()}))),
			plancheck.ResourceActionCreate, plancheck.ExpectUnknownValue(lockAddress, tfjsonpath.New("content")), plancheck.ExpectUnknownValue(lockAddress, tfjsonpath.New("packages"))),
		// New files on the index, and other spellings of the same.
		func() resource.TestStep {
			step := planned(b.step(b.lock(`"# the application", "  APP  # needed", ""`, ""), kept...), plancheck.ResourceActionNoop)
			step.PreConfig = func() { b.index.Add(t, "lib", "2.0", "py3-none-any"); b.index.Add(t, "app", "2.0", "py3-none-any") }
			return step
		}(),
		// Another machine, where there is no uv.
		func() resource.TestStep {
			step := planned(b.asksNothing(t, b.step(b.lock(`"app"`, ""), kept...)), plancheck.ResourceActionNoop)
			start := step.PreConfig
			step.PreConfig = func() { start(); b.anotherMachine(t); t.Setenv("PATH", "/usr/bin:/bin") }
			return step
		}(),
		// Another password, which Terraform cannot see; its number, the user, certificates, runner's path: in place, and nothing is resolved.
		planned(resource.TestStep{Config: b.lock(`"app"`, ""), ConfigVariables: password("cnry-another")}, plancheck.ResourceActionNoop),
		planned(b.asksNothing(t, b.step(strings.NewReplacer(b.uv, "/nowhere/uv", "var.password,", "var.password, password_wo_version = 2,").Replace(b.lock(`"app"`, `timeouts = { create = "1m" }`)), kept...)), plancheck.ResourceActionUpdate,
			plancheck.ExpectKnownValue(lockAddress, tfjsonpath.New("digest"), knownvalue.StringRegexp(says("sha256:")))),
		// The index is down.
		func() resource.TestStep {
			step := planned(b.step(b.lock(`"app"`, ""), kept...), plancheck.ResourceActionUpdate)
			step.PreConfig = b.index.Stop
			return step
		}(),
		planned(b.step(b.lock(`"app"`, ""), kept...), plancheck.ResourceActionNoop),
	)
	parsed, err := lock.Parse(content)
	if err != nil || content != "# python: 3.13\n# platform: x86_64-manylinux_2_28\n"+parsed.Canonical() || parsed.Digest() != digest {
		t.Errorf("content is not the canonical form, or digest not its: %v\n%s", err, content)
	}
}

func TestPackageLock_ChangesResolveAgain(t *testing.T) {
	b := newLockBench(t, newStackWithoutEngine(t))
	older := map[string]string{"app": "1.0", "lib": "1.0"}
	unknown := plancheck.ExpectUnknownValue(lockAddress, tfjsonpath.New("digest"))
	newer := func() { b.index.Add(t, "lib", "2.0", "py3-none-any"); b.index.Add(t, "other", "1.0", "py3-none-any") }
	with := func(step resource.TestStep, before func()) resource.TestStep {
		step.PreConfig = before
		return step
	}
	b.run(t,
		b.step(b.lock(`"app"`, ""), lockedPackages(older)),
		// uv's cache would not ask again for ten minutes: another machine does.
		with(planned(b.step(b.lock(`"app", "other"`, ""), lockedPackages(map[string]string{"app": "1.0", "lib": "1.0", "other": "1.0"})), plancheck.ResourceActionUpdate, unknown),
			func() { newer(); b.anotherMachine(t) }),
		planned(b.step(strings.Replace(b.lock(`"app"`, ""), "3.13", "3.12", 1), lockedPackages(older)), plancheck.ResourceActionUpdate, unknown),
		planned(b.step(b.lock(`"app"`, `upgrade_trigger = { month = "2026-12" }`), lockedPackages(map[string]string{"app": "1.0", "lib": "2.0"})), plancheck.ResourceActionUpdate, unknown),
		planned(b.step(b.lock(`"app"`, `constraints = ["lib<2"]`+"\n"+`upgrade_trigger = { month = "2026-12" }`), lockedPackages(older)), plancheck.ResourceActionUpdate, unknown),
		// A resolution that fails leaves the lock as it was.
		resource.TestStep{Config: b.lock(`"app", "lib>=2"`, `constraints = ["lib<2"]`+"\n"+`upgrade_trigger = { month = "2026-12" }`), ConfigVariables: password(enginetest.IndexPassword), ExpectError: says("Requirements cannot be resolved", "lib<2")},
		planned(b.step(b.lock(`"app"`, `constraints = ["lib<2"]`+"\n"+`upgrade_trigger = { month = "2026-12" }`), lockedPackages(older)), plancheck.ResourceActionNoop),
	)
}

func TestPackageLock_UnknownRequirement(t *testing.T) {
	b := newLockBench(t, newStackWithoutEngine(t))
	config := func(input string) string { return later("x", input) + b.lock(`terraform_data.x.output`, "") }
	changed := func(text string) string {
		return strings.Replace(text, "input =", "triggers_replace = [1]\n  input =", 1)
	}
	var at string
	b.run(t,
		planned(b.step(config(`"app"`), lockedPackages(map[string]string{"app": "1.0", "lib": "1.0"}), locked("resolved_at", knownvalue.StringFunc(func(text string) error { at = text; return nil }))), plancheck.ResourceActionCreate),
		// What was unknown at plan turns out to be what it was: nothing is resolved.
		planned(b.asksNothing(t, b.step(changed(config(`"App"`)), locked("resolved_at", knownvalue.StringFunc(func(text string) error {
			if text != at {
				return fmt.Errorf("it was resolved again at %s", text)
			}
			return nil
		})))), plancheck.ResourceActionUpdate, plancheck.ExpectUnknownValue(lockAddress, tfjsonpath.New("content"))),
		planned(b.step(config(`"lib"`), lockedPackages(map[string]string{"lib": "1.0"})), plancheck.ResourceActionUpdate),
	)
}

// TestPackageLock_WarnsOfCodeThatSeesTheLogin: with wheels alone, and without a login, there is nothing to say.
func TestPackageLock_WarnsOfCodeThatSeesTheLogin(t *testing.T) {
	const summary = "Source distributions can read the login of the index"
	b := newLockBench(t, newStackWithoutEngine(t))
	for name, tt := range map[string]struct {
		config string
		warns  bool
	}{
		"source and login": {b.lock(`"app"`, "only_binary = false"), true},
		"wheels":           {b.lock(`"app"`, "only_binary = true"), false},
		"no login":         {strings.Replace(b.lock(`"app"`, "only_binary = false"), fmt.Sprintf("username = %q, password_wo = var.password,", b.index.Username), "", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			b.forget()
			b.runUntil(t, func(*terraform.State) error {
				if tt.warns {
					b.warned(t, summary, "index.password_wo is there")
				}
				return nil
			}, resource.TestStep{Config: tt.config, ConfigVariables: password(enginetest.IndexPassword), PlanOnly: true, ExpectNonEmptyPlan: true})
		})
	}
}

func TestPackageLock_RefusedAtPlan(t *testing.T) {
	b := newLockBench(t, newStackWithoutEngine(t))
	base := fmt.Sprintf("base = %q\n", b.BaseReference)
	for name, tt := range map[string]struct {
		requirements, arguments string
		says                    []string
	}{
		"option":            {`"app", "--index-url https://u:cnry-1@x/"`, "", []string{"Option among the requirements", "requirements[1]", "--index-url is an option"}},
		"line break":        {`"app\n-r x"`, "", []string{"Requirement that is not one line"}},
		"another file":      {strings.Repeat(`"--x", `, 25), "", []string{"Option among the requirements", "requirements[9]", "More requirements that cannot be read", "The first 10 are shown, and 15 more are not"}},
		"two in one entry":  {`"numpy,pandas"`, "", []string{"More than one requirement in an entry", "requirements[0]", `"pandas" looks like another requirement`, "one requirement an entry"}},
		"timeout's unit":    {`"app"`, `timeouts = { create = "5" }`, []string{"Invalid timeout", "timeouts.create", `"5m" for minutes`}},
		"timeout's form":    {`"app"`, `timeouts = { update = "an hour" }`, []string{"Invalid timeout", "timeouts.update", `"1h30m"`}},
		"constraint":        {`"app"`, `constraints = ["./x"]`, []string{"Path among the requirements", "constraints[0]"}},
		"nothing":           {`"# none"`, "", []string{"No requirement to resolve"}},
		"platform":          {`"app"`, "python_platform = \"manylinux_2_28_x86_64\"", []string{"Unknown python_platform", `Write "x86_64-manylinux_2_28"`}},
		"no target":         {`"app"`, "", []string{"Target of the lock is not known", "python_platform must be set"}},
		"runner":            {`"app"`, `runner = "docker"`, []string{"Invalid runner"}},
		"no base":           {`"app"`, `runner = "buildkit"`, []string{"Runner without a base", "base is not set"}},
		"uv_path":           {`"app"`, base + `uv_path = "/usr/bin/uv"`, []string{"uv_path without the runner that uses it"}},
		"uv_version":        {`"app"`, base + `uv_version = "0.1.0"`, []string{"uv_version is not one that this release ships", resolve.UVVersion}},
		"uv_version's form": {`"app"`, `uv_version = "latest"`, []string{"Invalid uv_version"}},
		"exclude_newer":     {`"app"`, `exclude_newer = "2026-11-30"`, []string{"Invalid exclude_newer"}},
		"timeout":           {`"app"`, `timeouts = { create = "0s" }`, []string{"Timeout is not positive"}},
		"base":              {`"app"`, `base = "python:3.13"`, []string{"base"}},
		"registry, no base": {`"app"`, `base_registry = { username = "u", password_wo = "cnry-1" }`, []string{"Login for a base that is not there"}},
		"empty password":    {`"app"`, base + `base_registry = { username = "u", password_wo = "" }`, []string{"Empty registry password at plan"}},
	} {
		t.Run(name, func(t *testing.T) {
			target := "python_version = \"3.13\"\n"
			if !strings.Contains(tt.arguments, "python_platform") && name != "no target" {
				target += "python_platform = \"x86_64-manylinux_2_28\"\n"
			}
			b.run(t, resource.TestStep{Config: b.lockOf(tt.requirements, target+tt.arguments, ""), ConfigVariables: password("cnry-1"), PlanOnly: true, ExpectError: says(tt.says...)})
		})
	}
	for suffix, title := range map[string]string{"u:cnry-1@h.example/simple": "Login in the address of the package index",
		"h.example/simple?token=cnry-1": "Query or fragment in the address of the package index", "h.example/simple#cnry-1": "Query or fragment in the address of the package index"} {
		t.Run("extra index "+suffix, func(t *testing.T) {
			b.run(t, resource.TestStep{Config: b.lockOf(`"app"`, "python_version = \"3.13\"\npython_platform = \"linux\"", fmt.Sprintf("extra_urls = [%q]", "https://"+suffix)), ConfigVariables: password("cnry-1"), PlanOnly: true,
				ExpectError: says(title, "https://h.example/simple")})
		})
	}
	t.Run("half a login", func(t *testing.T) {
		b.run(t, resource.TestStep{Config: strings.Replace(b.lock(`"app"`, ""), "password_wo = var.password,", "", 1), ConfigVariables: password("cnry-1"), PlanOnly: true, ExpectError: says("Half a login for the package index", "index.username and index.password_wo")})
	})
	if b.index.Requests() > 0 {
		t.Error("a plan asked the index")
	}
	for _, d := range b.errors() {
		if strings.Contains(d.Summary+d.Detail, "cnry") {
			t.Errorf("an error shows a password: %s", d.Detail)
		}
	}
}

func TestPackageLock_FailuresAtApply(t *testing.T) {
	b := newLockBench(t, newStackWithoutEngine(t))
	for name, tt := range map[string]struct {
		config, password string
		says             []string
	}{
		"conflict":        {b.lock(`"app", "lib<1"`, ""), enginetest.IndexPassword, []string{"Requirements cannot be resolved", "Because"}},
		"refused":         {b.lock(`"app"`, ""), "cnry-wrong", []string{"Package index refused uv", "index.password_wo"}},
		"another version": {b.lock(`"app"`, `uv_version = "0.1.2"`), enginetest.IndexPassword, []string{"uv has another version", resolve.UVVersion, "0.1.2"}},
		"no uv":           {strings.Replace(b.lock(`"app"`, ""), b.uv, "/nowhere/uv", 1), enginetest.IndexPassword, []string{"uv is not at uv_path"}},
	} {
		t.Run(name, func(t *testing.T) {
			b.run(t, resource.TestStep{Config: tt.config, ConfigVariables: password(tt.password), ExpectError: says(tt.says...)})
		})
	}
	t.Run("out of time", func(t *testing.T) {
		slow := t.TempDir() + "/uv"
		must(t, os.WriteFile(slow, []byte("#!/bin/sh\n[ \"$1\" = --version ] && { echo uv "+resolve.UVVersion+"; exit; }\nexec sleep 600\n"), 0o700))
		b.run(t, resource.TestStep{Config: strings.Replace(b.lock(`"app"`, `timeouts = { create = "1s" }`), b.uv, slow, 1), ConfigVariables: password(enginetest.IndexPassword),
			ExpectError: says("Resolution was stopped", "after 1s", "timeouts.create ran out")})
	})
	for _, d := range b.errors() {
		for _, hidden := range []string{"cnry", os.Getenv("HOME"), os.TempDir() + "/datalayer"} {
			if strings.Contains(d.Summary+d.Detail, hidden) {
				t.Errorf("an error shows %s: %s", hidden, d.Detail)
			}
		}
	}
}

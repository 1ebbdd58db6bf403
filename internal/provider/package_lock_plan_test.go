package provider

import (
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/resolve"
)

var lockIndexType = map[string]attr.Type{"url": types.StringType, "username": types.StringType, "ca_certificates": types.StringType, "password_wo_version": types.NumberType, "extra_urls": types.ListType{ElemType: types.StringType}}

func indexOf(url, username string, version int64, extra ...string) types.Object {
	return types.ObjectValueMust(lockIndexType, map[string]attr.Value{
		"url": types.StringValue(url), "username": types.StringValue(username), "ca_certificates": types.StringNull(), "password_wo_version": types.NumberValue(big.NewFloat(float64(version))), "extra_urls": stringList(extra...),
	})
}

// lockInState is a lock that an earlier release made.
func lockInState() packageLockModel {
	return packageLockModel{
		Requirements: stringList("numpy", "pandas>=2"), Constraints: types.ListNull(types.StringType), Base: types.StringValue("r.example.com/b@sha256:" + strings.Repeat("a", 64)),
		PythonVersion: types.StringValue("3.13"), PythonPlatform: types.StringValue("x86_64-manylinux_2_36"), Index: indexOf("https://i.example.com/simple/", "ci", 1, "https://mirror.example.com/simple"),
		OnlyBinary: types.BoolValue(true), ExcludeNewer: types.StringValue("2026-11-30T00:00:00Z"), UpgradeTrigger: types.MapNull(types.StringType), Runner: types.StringValue(runnerBuildkit),
		UVVersion: types.StringValue("0.1.0"), Content: types.StringValue("content"), Digest: types.StringValue("sha256:1"), Packages: stringMapValue(map[string]string{"numpy": "2"}), ResolvedAt: types.StringValue("2026-11-30T01:00:00Z"),
	}
}

func TestPackageLock_WhatDecides(t *testing.T) {
	other := strings.Repeat("b", 64)
	for name, tt := range map[string]struct {
		change func(*packageLockModel, *givenTarget)
		want   decision
	}{
		"nothing": {func(*packageLockModel, *givenTarget) {}, keepLock},
		"order and spelling": {func(m *packageLockModel, _ *givenTarget) {
			m.Requirements = stringList("# all", "Pandas >= 2", "numpy", "numpy")
		}, keepLock},
		"no constraints, spelled": {func(m *packageLockModel, _ *givenTarget) { m.Constraints = stringList("# none") }, keepLock},
		"requirement":             {func(m *packageLockModel, _ *givenTarget) { m.Requirements = stringList("numpy", "pandas>=3") }, resolveAgain},
		"constraint":              {func(m *packageLockModel, _ *givenTarget) { m.Constraints = stringList("six<2") }, resolveAgain},
		"base's address": {func(m *packageLockModel, _ *givenTarget) {
			m.Base = types.StringValue("mirror.example.com/c@sha256:" + strings.Repeat("a", 64))
		}, keepLock},
		"base": {func(m *packageLockModel, _ *givenTarget) {
			m.Base = types.StringValue("r.example.com/b@sha256:" + other)
		}, resolveAgain},
		"no base":     {func(m *packageLockModel, _ *givenTarget) { m.Base = types.StringNull() }, resolveAgain},
		"same Python": {func(_ *packageLockModel, g *givenTarget) { g.python = types.StringValue("3.13") }, keepLock},
		"Python":      {func(_ *packageLockModel, g *givenTarget) { g.python = types.StringValue("3.12") }, resolveAgain},
		"platform":    {func(_ *packageLockModel, g *givenTarget) { g.platform = types.StringValue("x86_64-manylinux_2_28") }, resolveAgain},
		"uv_version":  {func(_ *packageLockModel, g *givenTarget) { g.uv = types.StringValue("0.2.0") }, resolveAgain},
		"login and certificates": {func(m *packageLockModel, _ *givenTarget) {
			m.Index = indexOf("https://i.example.com/simple/", "me", 2, "https://mirror.example.com/simple")
		}, keepLock},
		"index": {func(m *packageLockModel, _ *givenTarget) {
			m.Index = indexOf("https://j.example.com/simple/", "ci", 1, "https://mirror.example.com/simple")
		}, resolveAgain},
		"slash of an index": {func(m *packageLockModel, _ *givenTarget) {
			m.Index = indexOf("https://i.example.com/simple", "ci", 1, "https://mirror.example.com/simple/")
		}, keepLock},
		"no index":    {func(m *packageLockModel, _ *givenTarget) { m.Index = types.ObjectNull(lockIndexType) }, resolveAgain},
		"extra index": {func(m *packageLockModel, _ *givenTarget) { m.Index = indexOf("https://i.example.com/simple/", "ci", 1) }, resolveAgain},
		"only_binary": {func(m *packageLockModel, _ *givenTarget) { m.OnlyBinary = types.BoolValue(false) }, resolveAgain},
		"same instant": {func(m *packageLockModel, _ *givenTarget) {
			m.ExcludeNewer = types.StringValue("2026-11-30T01:00:00+01:00")
		}, keepLock},
		"exclude_newer": {func(m *packageLockModel, _ *givenTarget) { m.ExcludeNewer = types.StringNull() }, resolveAgain},
		"upgrade_trigger": {func(m *packageLockModel, _ *givenTarget) {
			m.UpgradeTrigger = stringMapValue(map[string]string{"m": "1"})
		}, upgradeLock},
		"empty trigger": {func(m *packageLockModel, _ *givenTarget) { m.UpgradeTrigger = stringMapValue(nil) }, keepLock},
		"runner and uv_path": {func(m *packageLockModel, _ *givenTarget) {
			m.Runner, m.UVPath = types.StringValue(runnerLocal), types.StringValue("/uv")
		}, keepLock},
		"unknown requirement": {func(m *packageLockModel, _ *givenTarget) {
			m.Requirements = types.ListValueMust(types.StringType, []attr.Value{types.StringUnknown()})
		}, notKnown},
		"unknown index": {func(m *packageLockModel, _ *givenTarget) { m.Index = types.ObjectUnknown(lockIndexType) }, notKnown},
		"unknown user": {func(m *packageLockModel, _ *givenTarget) {
			m.Index = indexOf("https://i.example.com/simple/", "", 1, "https://mirror.example.com/simple")
		}, keepLock},
		"unknown trigger": {func(m *packageLockModel, _ *givenTarget) { m.UpgradeTrigger = types.MapUnknown(types.StringType) }, notKnown},
	} {
		t.Run(name, func(t *testing.T) {
			prior, given := lockInState(), givenTarget{types.StringNull(), types.StringNull(), types.StringNull(), types.StringNull()}
			plan := lockInState()
			tt.change(&plan, &given)
			if got := plan.decide(t.Context(), &prior, given); got != tt.want {
				t.Fatalf("got %d, want %d", got, tt.want)
			}
			planned := plan.planned(tt.want, &prior, given)
			if kept := tt.want == keepLock; planned.Content.IsUnknown() == kept || planned.Digest.IsUnknown() == kept || planned.Packages.IsUnknown() == kept || planned.ResolvedAt.IsUnknown() == kept {
				t.Errorf("the plan's outputs: %v", planned.Content)
			}
			// The uv of another release resolves nothing by itself, and does what something else asks for.
			want := map[decision]types.String{keepLock: prior.UVVersion, notKnown: types.StringUnknown()}[tt.want]
			if want.IsNull() {
				want = orElse(given.uv, types.StringValue(resolve.UVVersion))
			}
			if !planned.UVVersion.Equal(want) {
				t.Errorf("uv_version is planned as %s, want %s", planned.UVVersion, want)
			}
			if sameBase := baseDigest(plan.Base) == baseDigest(prior.Base); planned.PythonVersion.IsUnknown() == sameBase || planned.PythonPlatform.IsUnknown() == sameBase {
				t.Errorf("the target is planned as %s on %s", planned.PythonVersion, planned.PythonPlatform)
			}
		})
	}
}

// PyPI is asked where nothing else is, so to write it is no change.
func TestPackageLock_DefaultIndexSpelledOut(t *testing.T) {
	prior, plan := lockInState(), lockInState()
	prior.Index, plan.Index = types.ObjectNull(lockIndexType), indexOf("https://pypi.org/simple/", "", 0)
	none := givenTarget{types.StringNull(), types.StringNull(), types.StringNull(), types.StringNull()}
	if there, back := plan.decide(t.Context(), &prior, none), prior.decide(t.Context(), &plan, none); there != keepLock || back != keepLock {
		t.Errorf("got %d and back %d, want %d", there, back, keepLock)
	}
}

func TestPackageLock_WhatAnImportDecides(t *testing.T) {
	const pin = "six==1 --hash=sha256:"
	null := types.StringNull()
	for name, tt := range map[string]struct {
		header           string
		python, platform types.String
		want             decision
	}{
		"no comments":          {"", types.StringValue("3.13"), types.StringValue("x86_64-manylinux_2_28"), keepLock},
		"nothing configured":   {"# python: 3.11\n# platform: x86_64-manylinux_2_28\n", null, null, keepLock},
		"the same":             {"# python: 3.13.5\n# platform: x86_64-manylinux_2_28\n", types.StringValue("3.13"), types.StringValue("x86_64-manylinux_2_28"), keepLock},
		"another Python":       {"# python: 3.11\n", types.StringValue("3.13"), null, resolveAgain},
		"another glibc":        {"# platform: x86_64-manylinux_2_36\n", null, types.StringValue("x86_64-manylinux_2_28"), resolveAgain},
		"an OCI platform":      {"# platform: linux/amd64\n", null, types.StringValue("x86_64-manylinux_2_28"), keepLock},
		"another OCI platform": {"# platform: linux/arm64\n", null, types.StringValue("x86_64-manylinux_2_28"), resolveAgain},
		"another system":       {"# platform: windows\n", null, types.StringValue("x86_64-manylinux_2_28"), resolveAgain},
		"Python not known":     {"# python: 3.11\n", types.StringUnknown(), null, notKnown},
		"Python not told":      {"# platform: linux/amd64\n", types.StringUnknown(), null, keepLock},
		"platform not known":   {"# platform: windows\n", types.StringValue("3.13"), types.StringUnknown(), notKnown},
	} {
		t.Run(name, func(t *testing.T) {
			prior := packageLockModel{Content: types.StringValue(tt.header + pin + strings.Repeat("1", 64) + "\n")}
			if got := (packageLockModel{}).onImport(prior, givenTarget{python: tt.python, platform: tt.platform, uv: null, runner: null}); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

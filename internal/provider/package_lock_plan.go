package provider

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/resolve"
)

// ModifyPlan decides whether the lock is made anew, from the arguments alone: it asks nothing of the network, and what an
// index has by now changes no plan.
func (r *packageLockResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	defer needSecrets(ctx, req, resp, "base_registry", "index")
	var plan packageLockModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	given := readGiven(ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.Runner = plannedRunner(given.runner, plan.Base)
	var prior *packageLockModel
	if !req.State.Raw.IsNull() {
		prior = &packageLockModel{}
		if resp.Diagnostics.Append(req.State.Get(ctx, prior)...); resp.Diagnostics.HasError() {
			return
		}
	}
	if prior != nil {
		plan = plan.spelled(ctx, *prior)
	}
	decided := plan.decide(ctx, prior, given)
	// The new object of a replacement has the private state of the old one in its first plan, and no state.
	if prior != nil && readOrigin(ctx, req.Private, &resp.Diagnostics).imported {
		decided = plan.onImport(*prior, given)
		warnOfImport(decided, *prior, given, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan.planned(decided, prior, given))...)
}

// givenTarget are the Optional and Computed arguments as the configuration has them.
type givenTarget struct{ python, platform, uv, runner types.String }

func readGiven(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics) givenTarget {
	var given givenTarget
	for name, into := range map[string]*types.String{"python_version": &given.python, "python_platform": &given.platform, "uv_version": &given.uv, "runner": &given.runner} {
		diagnostics.Append(config.GetAttribute(ctx, path.Root(name), into)...)
	}
	return given
}

// planned gives the plan for what was decided. prior is nil for a lock that is to be made first.
func (m packageLockModel) planned(decided decision, prior *packageLockModel, given givenTarget) packageLockModel {
	if decided == keepLock {
		return m.keeping(*prior, given)
	}
	m.PythonVersion, m.PythonPlatform, m.UVVersion = given.python, given.platform, given.uv
	if sameBase := prior != nil && baseDigest(m.Base) == baseDigest(prior.Base) && !m.Base.IsUnknown(); sameBase {
		m.PythonVersion, m.PythonPlatform = orElse(given.python, prior.PythonVersion), orElse(given.platform, prior.PythonPlatform)
	}
	m.PythonVersion, m.PythonPlatform = orUnknown(m.PythonVersion), orUnknown(m.PythonPlatform)
	// A default that is this release's own code moves with it when something else resolves; whether it does may be open.
	if m.UVVersion.IsNull() {
		m.UVVersion = types.StringValue(resolve.UVVersion)
		if decided == notKnown && !m.UVVersion.Equal(prior.UVVersion) {
			m.UVVersion = types.StringUnknown()
		}
	}
	m.Content, m.Digest, m.ResolvedAt, m.Packages = types.StringUnknown(), types.StringUnknown(), types.StringUnknown(), types.MapUnknown(types.StringType)
	return m
}

// keeping is the plan of a lock that stays.
func (m packageLockModel) keeping(prior packageLockModel, given givenTarget) packageLockModel {
	m.PythonVersion, m.PythonPlatform, m.UVVersion = orElse(given.python, prior.PythonVersion), orElse(given.platform, prior.PythonPlatform), orElse(given.uv, prior.UVVersion)
	m.Content, m.Digest, m.Packages, m.ResolvedAt = prior.Content, prior.Digest, prior.Packages, prior.ResolvedAt
	return m
}

// spelled keeps the prior spelling of arguments that mean what they meant, so that such a change plans nothing. Each is judged by
// itself and whatever is decided, so that a plan in which others are not known yet says what the plan at apply will say.
func (m packageLockModel) spelled(ctx context.Context, prior packageLockModel) packageLockModel {
	spelled := func(planned, prior types.List) types.List {
		if whollyKnown(ctx, planned) && wantedSet(planned) == wantedSet(prior) {
			return spelling(planned, prior)
		}
		return planned
	}
	m.Requirements, m.Constraints = spelled(m.Requirements, prior.Requirements), spelled(m.Constraints, prior.Constraints)
	m.ExcludeNewer = spelledText(m.ExcludeNewer, prior.ExcludeNewer, instant)
	return m
}

// wantedSet is the one spelling of a list of requirements.
func wantedSet(list types.List) string {
	wanted, _ := resolve.Requirements("", texts(list))
	slices.Sort(wanted)
	return strings.Join(slices.Compact(wanted), "\n")
}

// decision is what a change means for the lock.
type decision int

const (
	keepLock decision = iota
	// resolveAgain keeps versions that still fit, upgradeLock none.
	resolveAgain
	upgradeLock
	// notKnown: an argument that decides is not known yet.
	notKnown
)

// decide compares what determines the content. Login, certificates, runner, uv_path and timeouts do not.
func (m packageLockModel) decide(ctx context.Context, prior *packageLockModel, given givenTarget) decision {
	if prior == nil {
		return upgradeLock
	}
	deciding := []attr.Value{m.Requirements, m.Constraints, m.Base, given.python, given.platform, given.uv, m.OnlyBinary, m.ExcludeNewer, m.UpgradeTrigger}
	if m.Index.IsUnknown() {
		return notKnown
	}
	if !m.Index.IsNull() {
		deciding = append(deciding, member[types.String](m.Index, "url"), member[types.List](m.Index, "extra_urls"))
	}
	for _, argument := range deciding {
		if !whollyKnown(ctx, argument) {
			return notKnown
		}
	}
	switch {
	case !maps.Equal(stringMap(m.UpgradeTrigger), stringMap(prior.UpgradeTrigger)):
		return upgradeLock
	case !slices.Equal(m.inputs(), prior.inputs()),
		!given.python.IsNull() && !given.python.Equal(prior.PythonVersion),
		!given.platform.IsNull() && !given.platform.Equal(prior.PythonPlatform),
		!given.uv.IsNull() && !given.uv.Equal(prior.UVVersion):
		return resolveAgain
	}
	return keepLock
}

// inputs are the arguments that decide the content, each in one spelling.
func (m packageLockModel) inputs() []string {
	index := append([]string{cmp.Or(member[types.String](m.Index, "url").ValueString(), resolve.DefaultIndex)}, texts(member[types.List](m.Index, "extra_urls"))...)
	for i, address := range index {
		index[i] = strings.TrimRight(address, "/") // To uv it is the same index.
	}
	return []string{wantedSet(m.Requirements), wantedSet(m.Constraints), baseDigest(m.Base), strings.Join(index, "\n"), m.OnlyBinary.String(), instant(m.ExcludeNewer.ValueString())}
}

// baseDigest is all of a base that decides; "" without one.
func baseDigest(base types.String) string {
	parsed, err := reference.ParsePinned(base.ValueString())
	if err != nil {
		return base.ValueString()
	}
	return parsed.Digest
}

func orElse(given, prior types.String) types.String {
	if given.IsNull() {
		return prior
	}
	return given
}

func orUnknown(value types.String) types.String {
	if value.IsNull() {
		return types.StringUnknown()
	}
	return value
}

package lock

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// Target is where a lock is installed: CPython on Linux.
type Target struct {
	// Python is "3.13", which stands for its final releases, or "3.13.5"; "" when it is not known.
	Python string
	// Platform is an OCI platform such as "linux/amd64"; "" when it is not known.
	Platform string
	// PythonPlatform is a Linux platform by uv's name, such as "x86_64-manylinux_2_28", which tells the C library too; ""
	// when it is not known. No marker asks for it.
	PythonPlatform string
}

// MajorMinor is "3.13" of "3.13.5" and of "3.13".
func MajorMinor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// String is "linux/amd64, Python 3.13", with what is not known left out.
func (t Target) String() string {
	var parts []string
	if t.Platform != "" {
		parts = append(parts, t.Platform)
	}
	if t.Python != "" {
		parts = append(parts, "Python "+t.Python)
	}
	if len(parts) == 0 {
		return "an unknown target"
	}
	return strings.Join(parts, ", ")
}

// ForTarget gives the requirements whose marker holds on the target, in canonical order. known is false, and the
// requirements nil, when a marker needs something that the target does not say. The error is a problem.List: a package
// that would be installed in two versions, a lock of which the target installs nothing, or a requires-python or
// environments of a pylock.toml that the target surely does not meet.
func (l *Lock) ForTarget(target Target) (requirements []Requirement, known bool, err error) {
	env, ok := target.surroundings()
	if !ok {
		return nil, false, problem.List{{
			Title:  "Python version of the lock's target not understood",
			Object: target.String(),
			Cause:  fmt.Errorf("%s is not a version such as 3.13 or 3.13.5", shown(target.Python)),
			Advice: "Set `python_version` to the Python of the base.",
		}}
	}
	known = true
	problems := l.conditions.refuse(env, target)
	for _, r := range l.requirements {
		switch r.marker.evaluate(env) {
		case unknown:
			known = false
		case yes:
			if n := len(requirements); n > 0 && requirements[n-1].Name == r.Name {
				problems = append(problems, twice(requirements[n-1], r, target))
			}
			problems = append(problems, r.refuse(env, target)...)
			requirements = append(requirements, r)
		}
	}
	if known && len(requirements) == 0 {
		problems = append(problems, &problem.Problem{
			Title:  "Lock that installs nothing on a platform",
			Path:   []any{"lock"},
			Object: target.String(),
			Cause:  fmt.Errorf("no requirement's marker holds on %s", target),
			Advice: "Make the lock for this target: `uv pip compile --generate-hashes --python-version … --python-platform …`.",
		})
	}
	if err := problems.Err(); err != nil {
		return nil, known, err
	}
	if !known {
		return nil, false, nil
	}
	return cloneRequirements(requirements), true, nil
}

// Excluded says whether the requirement's marker is surely false on the target. A marker that needs something that the
// target does not say excludes nothing, and neither does a Python that is not a version.
func (r Requirement) Excluded(target Target) bool {
	env, ok := target.surroundings()
	return ok && r.marker.evaluate(env) == no
}

func twice(first, second Requirement, target Target) *problem.Problem {
	return &problem.Problem{
		Title:  "Package twice in the lock for one platform",
		Path:   []any{"lock"},
		Object: place(second.Line, second.Name),
		Cause:  fmt.Errorf("on %s the markers of line %d and of line %d both hold: %q and %q", target, first.Line, second.Line, first.Marker, second.Marker),
		Advice: "Keep one of them, or make their markers exclude each other.",
	}
}

// Packages gives name → version of what is installed, which must be the same on every target. known is false, and the
// map nil, when a marker needs something that a target does not say; a comparison that comes out the same for every
// final release of a target's minor version needs no more. No targets is one of which nothing is known. The error is a
// problem.List as ForTarget's, or names each package that differs and the targets.
func (l *Lock) Packages(targets []Target) (packages map[string]string, known bool, err error) {
	if len(targets) == 0 {
		targets = []Target{{}}
	}
	known = true
	var problems problem.List
	var decided []Target
	var installed []map[string]string
	for _, target := range targets {
		requirements, ok, err := l.ForTarget(target)
		if err != nil {
			problems = append(problems, problem.From(err, "Lock cannot be evaluated")...)
			continue
		}
		known = known && ok
		if ok {
			decided = append(decided, target)
			installed = append(installed, versions(requirements))
		}
	}
	problems = append(problems, disagreements(decided, installed)...)
	if err := problems.Err(); err != nil {
		return nil, known, err
	}
	if !known {
		return nil, false, nil
	}
	return installed[0], true, nil
}

func versions(requirements []Requirement) map[string]string {
	packages := make(map[string]string, len(requirements))
	for _, r := range requirements {
		packages[r.Name] = r.InstalledVersion()
	}
	return packages
}

// InstalledVersion is the version that the requirement installs: the pinned one, or that of the file its URL names.
func (r Requirement) InstalledVersion() string {
	if r.URL != "" {
		return r.fileVersion
	}
	return r.Version
}

// disagreements gives a problem for each package whose version is not the same on all targets.
func disagreements(targets []Target, installed []map[string]string) problem.List {
	names := map[string]bool{}
	for _, packages := range installed {
		for name := range packages {
			names[name] = true
		}
	}
	var problems problem.List
	for _, name := range slices.Sorted(maps.Keys(names)) {
		seen := map[string]bool{}
		parts := make([]string, len(targets))
		for i, target := range targets {
			version, present := installed[i][name]
			seen[version] = true
			if !present {
				version = "not installed"
			}
			parts[i] = fmt.Sprintf("%s on %s", version, target)
		}
		if len(seen) > 1 {
			problems = append(problems, &problem.Problem{
				Title:  "Markers in the lock choose other packages for each platform",
				Path:   []any{"lock"},
				Object: name,
				Cause:  errors.New(strings.Join(parts, "; ")),
				Advice: "Make an environment for each platform, or lock packages that are the same on all of them.",
			})
		}
	}
	return problems
}

package environment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// Known is what is known of a base: by python_version, platforms and base_packages, or by its labels. What is not known
// is "" or empty.
type Known struct {
	// Python is "3.13" or "3.13.5", Platforms are in OCI spelling.
	Python    string
	Platforms []string
	// Libc is the C library.
	Libc lock.Libc
	// Packages are name to version, the names in any spelling.
	Packages map[string]string
}

// CheckLock says where a lock was made for another base: for another Python, platform or C library, by its own header,
// or with another version of a package that sandboxes run on. Paths are "lock". pip check judges all else.
func (b Known) CheckLock(locked *lock.Lock) problem.List {
	var faults problem.List
	made := locked.MadeFor()
	if b.Python != "" && made.Python != "" && lock.MajorMinor(made.Python) != lock.MajorMinor(b.Python) {
		faults = append(faults, stale("Lock is for another Python", "Python "+made.Python, fmt.Sprintf("the lock was resolved for Python %s, and the base has %s", made.Python, b.Python),
			fmt.Sprintf("Resolve it again for the base: base or python_version = %q of a datalayer_package_lock, or `uv pip compile --generate-hashes --python-version %s …`.", lock.MajorMinor(b.Python), lock.MajorMinor(b.Python))))
	}
	if made.Platform != "" && len(b.Platforms) > 0 && !slices.Equal(b.Platforms, []string{made.Platform}) {
		faults = append(faults, stale("Lock is for another platform", made.Platform, fmt.Sprintf("the lock was resolved for %s, and the image is for %s", made.Platform, strings.Join(b.Platforms, ", ")),
			"Resolve it again for the platform of the image: base or python_platform of a datalayer_package_lock, or uv's `--python-platform`; uv's `--universal` is for all platforms."))
	} else if err := b.Libc.Runs(made.PythonPlatform); err != nil {
		faults = append(faults, stale("Lock is for another C library", made.PythonPlatform, err.Error(), "Resolve it again for the C library of the base: base or python_platform of a datalayer_package_lock, or uv's `--python-platform`. Or take a base that has the other one."))
	}
	return append(faults, b.CheckKernelStack(locked)...)
}

// CheckKernelStack says where a lock has another version than the base of a package that sandboxes run on. A requirement
// whose marker is surely false on every platform does not count: a lock for several Pythons has one for each.
func (b Known) CheckKernelStack(locked *lock.Lock) problem.List {
	has := map[string]string{}
	for name, version := range b.Packages {
		has[lock.NormalName(name)] = version
	}
	var faults problem.List
	for _, requirement := range locked.Requirements() {
		version, ok := has[requirement.Name]
		if !ok || !slices.Contains(KernelPackages, requirement.Name) || lock.SameVersion(version, requirement.InstalledVersion()) || b.excludes(locked, requirement) {
			continue
		}
		faults = append(faults, stale("Lock would replace the kernel stack", fmt.Sprintf("line %d (%s)", requirement.Line, requirement.Name), fmt.Sprintf("the lock has %s, and the base has %s", requirement.InstalledVersion(), version),
			"Sandboxes run on the base's own copy. Resolve the lock with the base's packages as constraints, so that both have the same version: a datalayer_package_lock does with base."))
	}
	return faults
}

// excludes says whether the requirement is surely not installed on the base. What is not known of it is as the lock's header says.
func (b Known) excludes(locked *lock.Lock, requirement lock.Requirement) bool {
	made := locked.MadeFor()
	platforms := b.Platforms
	if len(platforms) == 0 {
		platforms = []string{made.Platform}
	}
	return !slices.ContainsFunc(platforms, func(platform string) bool {
		return !requirement.Excluded(lock.Target{Python: cmp.Or(b.Python, made.Python), Platform: platform})
	})
}

func stale(title, object, cause, advice string) *problem.Problem {
	return &problem.Problem{Title: title, Path: []any{"lock"}, Object: object, Cause: errors.New(cause), Advice: advice}
}

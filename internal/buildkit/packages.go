package buildkit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// lockedPackages are the packages of the lock whose marker holds on the platform, for the base's full Python version.
func lockedPackages(request Request, platform, python string) (map[string]string, error) {
	if request.Lock == nil {
		return map[string]string{}, nil
	}
	packages, known, err := request.Lock.Packages([]lock.Target{{Python: python, Platform: platform}})
	if err == nil && !known {
		err = &problem.Problem{Title: "Marker that a build cannot decide", Path: []any{"lock"}, Object: fmt.Sprintf("Python %s on %s", python, platform),
			Advice: "Remove markers on platform_release, platform_version and, for 32-bit platforms, platform_machine from the lock: they speak of the kernel that runs, not of the image."}
	}
	return packages, request.words().ofLock(err)
}

func samePackages(request Request, one, other map[string]string) error {
	if maps.Equal(one, other) {
		return nil
	}
	return &problem.Problem{Title: "Lock differs between platforms", Path: []any{request.words().lock}, Object: strings.Join(differences(one, other), "; "),
		Advice: fmt.Sprintf("The same packages must be installed on %s. Make the lock without markers that tell the platforms apart, or build one image for each.", strings.Join(request.Platforms, ", "))}
}

// checkInstalled holds what a new interpreter finds against what the lock says, so that `packages` is what is there. A
// package whose marker is false may be in the base all the same.
func checkInstalled(request Request, locked, installed map[string]string) error {
	found := maps.Clone(installed)
	maps.DeleteFunc(found, func(name, _ string) bool { _, wanted := locked[name]; return !wanted })
	// A lock may say 2.0 of what calls itself 2.0.0.
	if maps.EqualFunc(locked, found, lock.SameVersion) {
		return nil
	}
	return &problem.Problem{Title: "Installed packages differ from the lock", Path: []any{request.words().lock}, Object: request.Base.String(), Cause: fmt.Errorf("%s", strings.Join(differences(locked, found), "; ")),
		Advice: "The base shadows a locked package with a copy that comes first on its sys.path. Remove that copy from the base, or lock its version."}
}

func differences(want, got map[string]string) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if found, ok := got[name]; !ok {
			lines = append(lines, fmt.Sprintf("%s %s is missing", name, want[name]))
		} else if !lock.SameVersion(found, want[name]) {
			lines = append(lines, fmt.Sprintf("%s is %s, not %s", name, found, want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			lines = append(lines, fmt.Sprintf("%s %s is not expected", name, got[name]))
		}
	}
	return lines
}

package environment

import (
	"fmt"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

var (
	aptName = lazyregexp.New(`^[a-z0-9][a-z0-9+.-]+$`)
	// apt takes wildcards in a version too, which would let it move.
	aptVersion = lazyregexp.New(`^[A-Za-z0-9.+:~-]+$`)
)

// ValidateAptPackages checks the Debian packages; Paths start at "apt_packages".
func ValidateAptPackages(packages []string) problem.List {
	var faults problem.List
	seen := map[string]int{}
	for i, entry := range packages {
		at := []any{"apt_packages", i}
		if advice := aptPackageFault(entry); advice != "" {
			faults = append(faults, &problem.Problem{Title: "Invalid Debian package", Path: at, Object: fmt.Sprintf("%q", entry), Advice: advice})
			continue
		}
		name, _, _ := strings.Cut(entry, "=")
		if first, twice := seen[name]; twice {
			faults = append(faults, &problem.Problem{Title: "Debian package listed twice", Path: at, Object: fmt.Sprintf("%q is also apt_packages[%d]", name, first), Advice: "Keep one of them."})
		}
		seen[name] = i
	}
	return faults
}

// aptPackageFault says what to write in place of an entry that is refused, or "".
func aptPackageFault(entry string) string {
	name, version, pinned := strings.Cut(entry, "=")
	bare, _, suffixed := strings.Cut(name, ":")
	switch {
	case strings.HasSuffix(entry, "-") || strings.HasSuffix(name, "-"):
		return `apt takes a "-" at the end for an order to remove the package, and packages are only ever installed here. Remove the "-".`
	case suffixed && aptName.MatchString(bare):
		advice := "Foreign architectures are not supported: a package is always that of the platform built for."
		if right := bare + entry[len(name):]; aptPackageFault(right) == "" {
			advice += fmt.Sprintf(" Write %q.", right)
		}
		return advice
	case !aptName.MatchString(name):
		return `Write "name" or "name=version". A name has two characters or more: lower-case letters, digits, "+", "-" and ".".`
	case pinned && (!aptVersion.MatchString(version) || strings.HasSuffix(version, "+")):
		return `Write "name=version" with one whole version as apt-cache policy prints it, such as "curl=7.88.1-10+deb12u12": no wildcards, no ranges, and no "+" at the end, which apt would drop.`
	}
	return ""
}

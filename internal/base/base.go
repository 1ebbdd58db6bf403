// Package base describes what determines the content of a base image: the Spec, the parts that sandbox-contract/v1 asks
// for, the kernel stack that a release ships, and the cache key. It is pure: no network, no clock.
package base

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// DefaultFrom is the image that a base is made on where nothing else is said. It is a tag, so it is resolved to a digest
// when a base is created, and never again for it.
const DefaultFrom = "docker.io/library/python:3.13-slim-bookworm"

// Where the Python of a base comes from.
const (
	// PythonImage takes the one that the image has.
	PythonImage = "image"
	// PythonApt installs Debian's.
	PythonApt = "apt"
)

// Labels that a base carries beside environment.LabelContract and environment.LabelPython, so that it can be recognised
// and imported, and so that a lock can be held against it. The cache key never covers them.
const (
	LabelCacheKey = environment.LabelPrefix + "base.cache-key"
	// LabelFromDigest, LabelKernelLockDigest and LabelDoctorDigest are what the key was made of: "sha256:<64 hex>".
	LabelFromDigest       = environment.LabelPrefix + "base.from-digest"
	LabelKernelLockDigest = environment.LabelPrefix + "base.kernel-lock-digest"
	LabelDoctorDigest     = environment.LabelPrefix + "base.doctor-digest"
	// LabelPackages is the kernel stack: "name==version", sorted, separated by spaces.
	LabelPackages = environment.LabelPrefix + "base.packages"
	// LabelSitePackages are the system's site-packages, in the order of sys.path, separated by colons.
	LabelSitePackages = environment.LabelPrefix + "base.site-packages"
	// LabelLibc is the C library of its Python, as lock.Libc writes it: "glibc 2.36". Bases of earlier releases lack it.
	LabelLibc = environment.LabelPrefix + "base.libc"
)

// Spec is what a base is made of beside the image it is made on and its kernel lock.
type Spec struct {
	// Python is PythonImage or PythonApt.
	Python string
	// Doctor is the program that holds a sandbox against the contract.
	Doctor []byte
}

// AptPackages are the Debian packages of the base, sorted.
func (s Spec) AptPackages() []string {
	packages := []string{"ca-certificates", "tini"}
	if s.Python == PythonApt {
		packages = append(packages, "python3", "python3-pip")
	}
	slices.Sort(packages)
	return packages
}

// Env are the variables that every process of the base sees.
func Env() map[string]string {
	return map[string]string{"HOME": environment.Home, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
}

// Entrypoint reaps orphans, passes SIGTERM on and runs what the launcher gives; Cmd keeps the container up where it gives nothing.
var (
	Entrypoint = []string{"/usr/bin/tini", "--"}
	Cmd        = []string{"sleep", "infinity"}
)

// PackagesLabel is the text of LabelPackages.
func PackagesLabel(packages map[string]string) string {
	var pins []string
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		pins = append(pins, name+"=="+packages[name])
	}
	return strings.Join(pins, " ")
}

// ParsePackagesLabel reads the text of LabelPackages; what is not a pin is an error. An empty text has no packages.
func ParsePackagesLabel(text string) (map[string]string, error) {
	packages := map[string]string{}
	for _, pin := range strings.Fields(text) {
		name, version, found := strings.Cut(pin, "==")
		if !found || name == "" || version == "" {
			return nil, fmt.Errorf("label %s: %q is not name==version", LabelPackages, pin)
		}
		packages[name] = version
	}
	return packages, nil
}

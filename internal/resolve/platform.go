package resolve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// Platforms are uv's names of the targets that a lock can be resolved for: Linux, which environments run on.
var Platforms = platforms()

// glibc are the versions of glibc 2 that uv has a platform for, ascending.
var glibc = []int{17, 28, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40}

func platforms() []string {
	names := []string{"linux", "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "riscv64-unknown-linux", "x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"}
	for _, machine := range []string{"x86_64", "aarch64"} {
		names = append(names, machine+"-manylinux2014")
		for _, minor := range glibc {
			names = append(names, fmt.Sprintf("%s-manylinux_2_%d", machine, minor))
		}
	}
	return names
}

// ValidatePlatform holds a name against Platforms.
func ValidatePlatform(name string) error {
	if slices.Contains(Platforms, name) {
		return nil
	}
	advice := "Write one of uv's names of a Linux target: " + strings.Join(Platforms, ", ") + "."
	if spelling := otherSpelling(name); slices.Contains(Platforms, spelling) {
		advice = fmt.Sprintf("Write %q. ", spelling) + advice
	}
	return &problem.Problem{Title: "Unknown python_platform", Object: strconv.Quote(name), Advice: advice}
}

// otherSpelling is uv's name for a wheel's tag (manylinux_2_28_x86_64) or an OCI platform.
func otherSpelling(name string) string {
	if oci, ok := machines[name]; ok {
		return oci + "-manylinux_2_28"
	}
	for _, machine := range []string{"x86_64", "aarch64"} {
		if tag, ok := strings.CutSuffix(name, "_"+machine); ok {
			return machine + "-" + tag
		}
	}
	return ""
}

// machines are the machines of OCI platforms as uv names them.
var machines = map[string]string{"linux/amd64": "x86_64", "linux/arm64": "aarch64", "linux/riscv64": "riscv64"}

// OCIPlatform is the OCI platform that uv's platform is of.
func OCIPlatform(platform string) string {
	for oci, machine := range machines {
		if platform == machine || strings.HasPrefix(platform, machine+"-") {
			return oci
		}
	}
	return "linux/amd64" // "linux" is x86_64 by uv's definition.
}

// platformOf is the platform of a base: the newest that its C library can run.
func platformOf(oci string, libc lock.Libc) (string, error) {
	machine, ok := machines[oci]
	switch {
	case !ok:
		return "", fmt.Errorf("uv knows no target for %s", oci)
	case machine == "riscv64":
		return "riscv64-unknown-linux", nil
	case libc.Name == lock.Musl:
		return machine + "-unknown-linux-musl", nil
	}
	minor, err := libc.GlibcMinor()
	if err != nil {
		return "", err
	}
	best := 0
	for _, known := range glibc {
		if known <= minor {
			best = known
		}
	}
	if best == 0 {
		return "", fmt.Errorf("its %s is older than any that wheels are made for", libc)
	}
	return fmt.Sprintf("%s-manylinux_2_%d", machine, best), nil
}

// runsOn tells why wheels for the platform do not run on a base; nil if they do.
func runsOn(platform, oci string, libc lock.Libc) error {
	if own := OCIPlatform(platform); own != oci {
		return fmt.Errorf("it is for %s, and the base is %s", own, oci)
	}
	return libc.Runs(platform)
}

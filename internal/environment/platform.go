package environment

import (
	"fmt"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// Platforms that an image can be built for, in OCI spelling. The contract knows linux/amd64 alone.
var Platforms = []string{"linux/amd64", "linux/arm64", "linux/386", "linux/arm/v7", "linux/ppc64le", "linux/riscv64", "linux/s390x"}

// DefaultPlatform is the platform of the contract.
const DefaultPlatform = "linux/amd64"

var platformSpellings = map[string]string{
	"amd64": "linux/amd64", "x86_64": "linux/amd64", "x86-64": "linux/amd64", "x64": "linux/amd64", "linux": "linux/amd64",
	"arm64": "linux/arm64", "aarch64": "linux/arm64", "arm64/v8": "linux/arm64", "aarch64/v8": "linux/arm64",
	"i386": "linux/386", "386": "linux/386", "i686": "linux/386", "x86": "linux/386",
	"arm": "linux/arm/v7", "armv7": "linux/arm/v7", "armv7l": "linux/arm/v7", "armhf": "linux/arm/v7",
	"ppc64le": "linux/ppc64le", "riscv64": "linux/riscv64", "s390x": "linux/s390x",
}

// ValidatePlatforms checks a list of platforms; Paths start at "platforms".
func ValidatePlatforms(platforms []string) problem.List {
	if len(platforms) == 0 {
		return problem.List{{Title: "No platform to build for", Path: []any{"platforms"}, Object: "platforms = []", Advice: `Name at least one, or remove the argument to build for "linux/amd64".`}}
	}
	var faults problem.List
	seen := map[string]int{}
	for i, p := range platforms {
		at := []any{"platforms", i}
		if first, twice := seen[p]; twice {
			faults = append(faults, &problem.Problem{Title: "Platform listed twice", Path: at, Object: fmt.Sprintf("%q is also platforms[%d]", p, first), Advice: "Keep one of them."})
		}
		seen[p] = i
		if knownPlatform(p) {
			continue
		}
		advice := "A platform is one of " + strings.Join(Platforms, ", ") + "."
		if right, ok := platformSpellings[strings.TrimPrefix(strings.ToLower(strings.TrimSpace(p)), "linux/")]; ok {
			advice += fmt.Sprintf(" Write %q.", right)
		}
		faults = append(faults, &problem.Problem{Title: "Unknown platform", Path: at, Object: fmt.Sprintf("%q", p), Advice: advice})
	}
	return faults
}

func knownPlatform(p string) bool {
	for _, known := range Platforms {
		if p == known {
			return true
		}
	}
	return false
}

package base

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// KernelLock is the kernel stack that this release ships: a hash-locked requirements file with ipykernel, jupyter_client,
// jupyter_server and all that they need, for CPython 3.11 to 3.14 on Linux. tools/kernel-lock.sh makes it from kernel.in.
//
//go:embed kernel.lock
var KernelLock string

// CheckKernelLock says what of the kernel stack a lock surely does not install on one of the targets; none is one of which
// nothing is known but that it is Linux. The Path is "kernel_lock".
func CheckKernelLock(locked *lock.Lock, targets ...lock.Target) error {
	if len(targets) == 0 {
		targets = []lock.Target{{}}
	}
	for _, target := range targets {
		missing := slices.Clone(environment.KernelPackages)
		for _, requirement := range locked.Requirements() {
			if !requirement.Excluded(target) {
				missing = slices.DeleteFunc(missing, func(name string) bool { return name == requirement.Name })
			}
		}
		if len(missing) == 0 {
			continue
		}
		where := "on Linux"
		if target != (lock.Target{}) {
			where = "on " + target.String()
		}
		return &problem.Problem{Title: "Kernel lock is not a whole kernel stack", Path: []any{"kernel_lock"}, Cause: fmt.Errorf("it lacks %s %s", strings.Join(missing, ", "), where),
			Advice: "Lock " + strings.Join(environment.KernelPackages, ", ") + " with all that they need (`uv pip compile --generate-hashes`), or remove the argument to take the provider's own lock. A requirement whose marker does not hold there does not count."}
	}
	return nil
}

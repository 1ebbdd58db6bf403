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

// CheckKernelLock says what of the kernel stack a lock lacks; the Path is "kernel_lock".
func CheckKernelLock(locked *lock.Lock) error {
	missing := slices.Clone(environment.KernelPackages)
	for _, requirement := range locked.Requirements() {
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == requirement.Name })
	}
	if len(missing) == 0 {
		return nil
	}
	return &problem.Problem{Title: "Kernel lock is not a whole kernel stack", Path: []any{"kernel_lock"}, Cause: fmt.Errorf("it lacks %s", strings.Join(missing, ", ")),
		Advice: "Lock " + strings.Join(environment.KernelPackages, ", ") + " with all that they need (`uv pip compile --generate-hashes`), or remove the argument to take the provider's own lock."}
}

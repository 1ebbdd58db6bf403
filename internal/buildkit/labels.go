package buildkit

import (
	"cmp"
	"slices"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// checkLabels holds what an environment asks for against what the base's labels say, before anything is built: its
// Python, C library and kernel stack, on each platform. A base without labels is judged by the build.
func checkLabels(request Request, from *image.Image) error {
	if request.BaseImage != nil {
		return nil
	}
	var faults problem.List
	for _, platform := range slices.Sorted(slices.Values(request.Platforms)) {
		labels := from.Configs[platform].Labels
		known := environment.Known{Python: labels[environment.LabelPython], Platforms: request.Platforms, Libc: lock.ParseLibc(labels[base.LabelLibc])}
		if known.Python != "" && request.Python != "" && known.Python != request.Python {
			return pythonMismatch(request, known.Python)
		}
		packages, err := base.ParsePackagesLabel(labels[base.LabelPackages])
		if err != nil {
			return unsuitableBase(request, err)
		}
		if request.Lock == nil {
			continue
		}
		// The packages are those of one platform: a marker for another says nothing of them.
		here := environment.Known{Python: cmp.Or(known.Python, request.Python), Platforms: []string{platform}, Packages: packages}
		for _, fault := range append(known.CheckLock(request.Lock), here.CheckKernelStack(request.Lock)...) {
			if !slices.ContainsFunc(faults, func(p *problem.Problem) bool { return p.Error() == fault.Error() }) {
				faults = append(faults, fault)
			}
		}
	}
	return faults.Err()
}

// checkHeader holds what the lock's own comments say that it was made for against the Python that was found in the base
// and its C library, so that a stale lock is not left to pip, which says that files are missing, or installs what does not run.
func checkHeader(request Request, found python) error {
	if request.Lock == nil {
		return nil
	}
	known := environment.Known{Python: found.Python, Platforms: request.Platforms, Libc: lock.ParseLibc(found.Libc)}
	return request.words().ofLock(known.CheckLock(request.Lock).Err())
}

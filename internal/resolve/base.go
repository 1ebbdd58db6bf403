package resolve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Base is the image that a lock is for, pinned by digest.
type Base struct {
	Reference reference.Reference
	// Registry reads it.
	Registry *image.Client
}

// inspect reads the image and decides which of its platforms is meant.
func (b Base) inspect(ctx context.Context, platform string) (oci string, config image.Config, err error) {
	found, err := b.Registry.Inspect(ctx, b.Reference)
	if withheld := image.CredentialProblem(err, "base"); withheld != nil {
		return "", image.Config{}, withheld
	}
	if err != nil {
		return "", image.Config{}, buildkit.UnreadableBase(b.Reference, err)
	}
	has := slices.Sorted(maps.Keys(found.Configs))
	switch {
	case platform != "":
		oci = OCIPlatform(platform)
	case slices.Contains(has, environment.DefaultPlatform) || len(has) != 1:
		oci = environment.DefaultPlatform
	default:
		oci = has[0]
	}
	config, ok := found.Configs[oci]
	if !ok {
		return "", config, b.misfit("python_platform", fmt.Errorf("it has %s, not %s", strings.Join(has, ", "), oci), "Take a base that has the platform, or set python_platform to one of those.")
	}
	return oci, config, nil
}

func (b Base) misfit(attribute string, cause error, advice string) error {
	return &problem.Problem{Title: "Base does not fit the lock", Path: []any{attribute}, Object: b.Reference.String(), Cause: cause, Advice: advice}
}

// target is the platform that a lock on the base is for: the one asked for, which its C library must run, or "" for the newest
// that it runs.
func (b Base) target(asked, oci string, libc lock.Libc) (string, error) {
	if asked == "" {
		platform, err := platformOf(oci, libc)
		if err != nil {
			return "", b.misfit("python_platform", err, "Take another base, or set python_platform to the target's name.")
		}
		return platform, nil
	}
	if err := runsOn(asked, oci, libc); err != nil {
		return "", b.misfit("python_platform", fmt.Errorf("python_platform is %s: %w", asked, err), "Change one of the two; without python_platform the lock is for what the base runs.")
	}
	return asked, nil
}

// held completes the request with what the base tells: its Python ("3.13.5" or "3.13") and its kernel stack.
func (b Base) held(request Request, python string, kernel map[string]string) (Request, error) {
	if short := lock.MajorMinor(python); request.Python != "" && lock.MajorMinor(request.Python) != short {
		return request, b.misfit("python_version", fmt.Errorf("python_version is %s, and the base has %s", request.Python, short), "Change one of the two; without python_version the lock is for the Python of the base.")
	}
	request.Python = python
	request.Constraints = slices.Clone(request.Constraints)
	for _, name := range slices.Sorted(maps.Keys(kernel)) {
		if slices.Contains(environment.KernelPackages, name) {
			request.Constraints = append(request.Constraints, name+"=="+kernel[name])
		}
	}
	return request, nil
}

const byBuildkit = "Set runner = \"buildkit\", which looks into the base itself, or "

// byLabels completes the request with what the labels of the base say: its own provider writes them.
func (b Base) byLabels(ctx context.Context, request Request) (Request, error) {
	oci, config, err := b.inspect(ctx, request.Platform)
	if err != nil {
		return request, err
	}
	python := config.Labels[environment.LabelPython]
	if python == "" {
		python = request.Python
	}
	if python == "" {
		return request, b.misfit("python_version", errors.New("its labels do not tell its Python"), byBuildkit+"set python_version.")
	}
	libc := lock.ParseLibc(config.Labels[base.LabelLibc])
	if libc == (lock.Libc{}) && request.Platform == "" {
		// Neither a base of somebody else nor one of an earlier release tells it: this is what every Debian of today runs.
		libc = lock.Libc{Name: lock.Glibc, Version: "2.28"}
	}
	if request.Platform, err = b.target(request.Platform, oci, libc); err != nil {
		return request, err
	}
	label, labelled := config.Labels[base.LabelPackages]
	kernel, err := base.ParsePackagesLabel(label)
	if err != nil {
		return request, b.misfit("base", err, byBuildkit+"take a base whose labels are whole.")
	}
	if missing := unpinned(request.Constraints); !labelled && len(missing) > 0 {
		return request, b.misfit("constraints", fmt.Errorf("its labels do not tell its kernel stack, and constraints do not pin %s", strings.Join(missing, ", ")), byBuildkit+"pin them in constraints at the versions of the base, as \"ipykernel==7.1.0\".")
	}
	return b.held(request, python, kernel)
}

// unpinned are the packages of the kernel stack that no constraint pins.
func unpinned(constraints []string) []string {
	var missing []string
	for _, name := range environment.KernelPackages {
		pinned := slices.ContainsFunc(constraints, func(text string) bool {
			wanted, err := lock.ParseWanted(text)
			return err == nil && wanted != nil && strings.HasPrefix(wanted.Text, name+"==") && !strings.ContainsAny(wanted.Text, ",*;")
		})
		if !pinned {
			missing = append(missing, name)
		}
	}
	return missing
}

package resolve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
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
		return "", image.Config{}, err
	}
	has := slices.Sorted(maps.Keys(found.Configs))
	switch {
	case platform != "":
		oci = ociPlatform(platform)
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

// held completes the request with what the base tells: its Python ("3.13.5" or "3.13") and its kernel stack.
func (b Base) held(request Request, python string, kernel map[string]string) (Request, error) {
	if short := majorMinor(python); request.Python != "" && majorMinor(request.Python) != short {
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
	if request.Platform == "" {
		machine, ok := machines[oci]
		if !ok {
			return request, b.misfit("python_platform", fmt.Errorf("uv knows no target for %s", oci), "Take a base of another platform.")
		}
		// The labels do not tell the C library: this is what every Debian of today runs.
		request.Platform = machine + "-manylinux_2_28"
		if machine == "riscv64" {
			request.Platform = "riscv64-unknown-linux"
		}
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

func majorMinor(version string) string {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

package buildkit

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/pb"
	"github.com/moby/buildkit/util/system"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
)

//go:embed steps/system.sh
var systemProgram string

// defaultPath is what the steps of a build get where the image says nothing.
const defaultPath = system.DefaultPathEnvUnix

// baseRecipe is the content of a base image: what sandbox-contract/v1 asks for, on a plain image. Debian packages come
// first, so that the Python that the lock is installed into is there, and so that another lock finds them in the cache.
type baseRecipe struct{ recipe }

// check reads the files of the plain image that tell its system and its accounts.
func (r baseRecipe) check(ctx context.Context, daemon gateway.Client) error {
	state, err := r.base()
	if err != nil {
		return err
	}
	ref, err := evaluate(ctx, daemon, state)
	if err != nil {
		return err
	}
	var found base.System
	for path, into := range map[string]*string{"/etc/passwd": &found.Passwd, "/etc/group": &found.Group, "/etc/os-release": &found.OSRelease} {
		text, err := ref.ReadFile(ctx, gateway.ReadRequest{Filename: path})
		switch {
		case err == nil:
			*into = string(text)
		case !strings.Contains(err.Error(), "no such file or directory"):
			return fmt.Errorf("read %s of %s: %w", path, r.request.Base, err)
		}
	}
	if err := found.Check(); err != nil {
		return unsuitableBase(r.request, err)
	}
	return nil
}

// prepared is the plain image where it brings its own Python, so that one without fails before anything is installed.
func (r baseRecipe) prepared() (llb.State, error) {
	if r.request.BaseImage.Python == base.PythonImage {
		return r.base()
	}
	return r.debian()
}

func (r baseRecipe) debian() (llb.State, error) {
	state, err := r.base()
	if err != nil {
		return llb.State{}, err
	}
	return r.aptStep(state, r.request.BaseImage.AptPackages()), nil
}

// fits refuses a Python of the image that goes before Debian's on the PATH.
func (r baseRecipe) fits() error {
	if r.request.BaseImage.Python == base.PythonApt && r.python.Prefix != "/usr" {
		return unsuitableBase(r.request, fmt.Errorf("python is %q, and its own Python %s in %s comes before Debian's on the PATH: write python = %q", base.PythonApt, r.python.Python, r.python.Prefix, base.PythonImage))
	}
	return nil
}

func (r baseRecipe) image() (root llb.State, report *llb.State, err error) {
	state, err := r.debian()
	if err != nil {
		return llb.State{}, nil, err
	}
	state = state.Run(llb.Args([]string{"/bin/sh", programFolder + "/system.sh"}), programs(map[string]string{"system.sh": systemProgram}),
		sourceDateEpoch(), noByteCode(), llb.Network(pb.NetMode_NONE), llb.WithCustomName(stepSystem)).Root()
	state, report = r.lockStep(state)
	state = state.File(llb.Mkfile(doctor.Path, doctor.Mode, r.request.BaseImage.Doctor, llb.WithUIDGID(0, 0), created), llb.WithCustomName(stepWrite+doctor.Path))
	return state, report, nil
}

// configure drops what a service may not know (volumes, triggers, a signal of its own) and what speaks of the image's
// own command: its health check, and the arguments that it took. Labels of an environment would make the base one.
func (r baseRecipe) configure(config map[string]any) {
	for _, name := range []string{"Volumes", "OnBuild", "StopSignal", "Healthcheck", "ArgsEscaped", "Shell"} {
		delete(config, name)
	}
	if labels, ok := config["Labels"].(map[string]any); ok {
		maps.DeleteFunc(labels, func(name string, _ any) bool { return strings.HasPrefix(name, environment.LabelPrefix) })
	}
	labels := map[string]string{
		environment.LabelPython: lock.MajorMinor(r.python.Python),
		base.LabelPackages:      base.PackagesLabel(r.packages),
		base.LabelSitePackages:  strings.Join(r.python.SitePackages, ":"),
	}
	if libc := lock.ParseLibc(r.python.Libc); libc != (lock.Libc{}) {
		labels[base.LabelLibc] = libc.String()
	}
	r.label(config, labels)
	config["Env"] = mergeEnv(config["Env"], base.Env())
	if env, _ := config["Env"].([]string); !slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, "PATH=") }) {
		config["Env"] = append([]string{"PATH=" + defaultPath}, env...)
	}
	config["Entrypoint"], config["Cmd"] = base.Entrypoint, base.Cmd
	config["User"] = fmt.Sprintf("%d:%d", environment.UID, environment.GID)
	config["WorkingDir"] = environment.WorkDir
}

func (r baseRecipe) layers() []string {
	return []string{stepApt + ": " + strings.Join(r.request.BaseImage.AptPackages(), " "), stepSystem, stepLock, stepWrite + doctor.Path}
}

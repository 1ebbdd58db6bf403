package buildkit

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/pb"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
)

// environmentRecipe is the content of an environment: Debian packages, the lock, files and commands on a base.
type environmentRecipe struct{ recipe }

func (r environmentRecipe) check(context.Context, gateway.Client) error { return nil }

func (r environmentRecipe) prepared() (llb.State, error) { return r.base() }

func (r environmentRecipe) fits() error { return nil }

func (r environmentRecipe) image() (root llb.State, report *llb.State, err error) {
	state, err := r.base()
	if err != nil {
		return llb.State{}, nil, err
	}
	spec := r.request.Spec.Normalize()
	if len(spec.AptPackages) > 0 {
		state = r.aptStep(state, spec.AptPackages, append(r.buildSecrets(0, 0), r.trigger()...)...)
	}
	if r.request.Lock != nil {
		state, report = r.lockStep(state)
	}
	state = state.File(llb.Mkdir(environment.WorkDir, 0o755, llb.WithParents(true), owner, created), llb.WithCustomName(stepWorkDir))
	state, err = writeFiles(state, spec.Files)
	if err != nil {
		return llb.State{}, nil, err
	}
	return r.postInstall(state, spec), report, nil
}

func (r environmentRecipe) postInstall(state llb.State, spec environment.Spec) llb.State {
	for i, command := range spec.PostInstall {
		options := []llb.RunOption{
			llb.Args([]string{"/bin/sh", "-c", command.Command}), llb.Dir(environment.WorkDir), llb.User(fmt.Sprintf("%d:%d", environment.UID, environment.GID)),
			llb.AddEnv("HOME", environment.Home), sourceDateEpoch(), noByteCode(),
			llb.WithCustomName(fmt.Sprintf("%s[%d]", stepPostInstall, i)),
		}
		if command.Network != nil && *command.Network {
			options = append(append(options, r.networked()...), r.trigger()...)
		} else {
			options = append(options, llb.Network(pb.NetMode_NONE))
		}
		options = append(options, r.buildSecrets(environment.UID, environment.GID)...)
		for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
			options = append(options, llb.AddEnv(name, spec.Env[name]))
		}
		state = state.Run(options...).Root()
	}
	return state
}

var (
	owner   = llb.WithUIDGID(environment.UID, environment.GID)
	created = llb.WithCreatedTime(epoch)
)

func writeFiles(state llb.State, files []environment.File) (llb.State, error) {
	for _, f := range files {
		mode, err := strconv.ParseUint(f.Mode, 8, 32)
		if err != nil {
			return llb.State{}, fmt.Errorf("mode of %s: %w", f.Path, err)
		}
		action := llb.Mkdir(path.Dir(f.Path), 0o755, llb.WithParents(true), owner, created).
			Mkfile(f.Path, os.FileMode(mode), f.Content, owner, created)
		state = state.File(action, llb.WithCustomName(stepWrite+f.Path))
	}
	return state, nil
}

func (r environmentRecipe) configure(config map[string]any) {
	r.label(config, map[string]string{environment.LabelPython: lock.MajorMinor(r.python.Python)})
	config["Env"] = mergeEnv(config["Env"], r.request.Spec.Env)
	config["User"] = fmt.Sprintf("%d:%d", environment.UID, environment.GID)
	config["WorkingDir"] = environment.WorkDir
}

func (r environmentRecipe) layers() []string {
	spec := r.request.Spec.Normalize()
	var texts []string
	if len(spec.AptPackages) > 0 {
		texts = append(texts, stepApt+": "+strings.Join(spec.AptPackages, " "))
	}
	if r.request.Lock != nil {
		texts = append(texts, stepLock)
	}
	texts = append(texts, stepWorkDir)
	for _, f := range spec.Files {
		texts = append(texts, stepWrite+f.Path)
	}
	for i, command := range spec.PostInstall {
		texts = append(texts, fmt.Sprintf("%s[%d]: %s", stepPostInstall, i, command.Command))
	}
	return texts
}

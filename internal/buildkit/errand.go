package buildkit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/pb"
	"github.com/moby/buildkit/util/grpcerrors"
	"google.golang.org/grpc/codes"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// Errand is work in throw-away steps on an image, done for what the steps write into their folders: no image comes of it.
type Errand struct {
	Image    reference.Reference
	Platform string
	// Env is the image's own. The steps get its PATH and no more.
	Env []string
	// Credentials are asked while the daemon pulls.
	Credentials image.Credentials
	// Secrets are what steps may be given, by id. Masked are the values that no log line and no error may show.
	Secrets map[string][]byte
	Masked  []secret.Value
}

// ErrandStep is one process, as root.
type ErrandStep struct {
	Name string
	Args []string
	// Files are in the folder in which the step starts, and into which it writes.
	Files map[string]string
	// Env is all of the environment beside PATH; SecretEnv is variable to the id of a secret.
	Env, SecretEnv map[string]string
	// SecretFiles is path to the id of a secret, Folders path to what an earlier step wrote, to be read alone.
	SecretFiles map[string]string
	Folders     map[string]*ErrandFolder
	// KnownBy are texts by which the daemon tells the step from others that look the same, and Login a secret that does so
	// for as long as this process lives. Steps that it takes for the same are run once, with the secrets of one of them.
	KnownBy []string
	Login   secret.Value
	// Network gives the step the daemon's network. Fresh runs it for this errand alone, though the daemon has its outcome from
	// before or runs the same for somebody else.
	Network, Fresh bool
}

// ErrandFolder is what a step left in its folder.
type ErrandFolder struct {
	state llb.State
	ref   gateway.Reference
}

// Read gives a file.
func (f *ErrandFolder) Read(ctx context.Context, name string) ([]byte, error) {
	return f.ref.ReadFile(ctx, gateway.ReadRequest{Filename: "/" + name})
}

// StepFailed says that a process of an errand ended with another status than 0.
type StepFailed struct {
	// Step is its name, Lines what it printed, masked.
	Step  string
	Lines []string
	Err   error
}

// Error is the name with the daemon's words.
func (f *StepFailed) Error() string { return fmt.Sprintf("step %q: %s", f.Step, f.Err) }

// Unwrap gives the daemon's words.
func (f *StepFailed) Unwrap() error { return f.Err }

// ErrandRun is an errand that is being done.
type ErrandRun struct {
	errand   Errand
	platform llb.ConstraintsOpt
	daemon   gateway.Client
}

// Errand runs do, which runs the steps. The error is do's own *problem.Problem, a *StepFailed, or a *problem.Problem that says
// what else went wrong. Ending ctx ends the steps.
func (d *Daemon) Errand(ctx context.Context, errand Errand, do func(context.Context, *ErrandRun) error) error {
	parsed, err := platforms.Parse(errand.Platform)
	if err != nil {
		return err
	}
	logins := Request{Base: errand.Image, Repository: errand.Image.Repository, Credentials: errand.Credentials}.loginSecrets(ctx)
	hidden := append(logins, errand.Masked...)
	followed := newProgress(ctx, d.logger, secret.NewMasker(hidden...))
	credentials := newCredentialServer(errand.Credentials)
	statuses := make(chan *client.SolveStatus)
	done := make(chan struct{})
	go func() {
		defer close(done)
		followed.follow(statuses)
	}()
	var fault error
	_, err = d.client.Build(ctx, client.SolveOpt{Session: attachables(credentials, errand.Secrets)}, "", func(ctx context.Context, daemon gateway.Client) (*gateway.Result, error) {
		fault = do(ctx, &ErrandRun{errand: errand, platform: llb.Platform(parsed), daemon: daemon})
		return gateway.NewResult(), fault
	}, statuses)
	<-done
	if err == nil {
		return nil
	}
	return d.errandFailure(ctx, errand, followed, credentials, hidden, fault, err)
}

func (d *Daemon) errandFailure(ctx context.Context, errand Errand, followed *progress, credentials *credentialServer, hidden []secret.Value, fault, err error) error {
	var own *problem.Problem
	if errors.As(fault, &own) {
		return fault
	}
	withheld := credentials.withheld(errand.Image.Host, "base")
	refusal := credentials.refusal(errand.Image.Host)
	quoted := refusal != nil && strings.Contains(err.Error(), refusal.Error())
	if refusal != nil && !quoted {
		err = fmt.Errorf("%w\n%w", err, refusal)
	}
	masker := secret.NewMasker(append(hidden, credentials.seen()...)...)
	text := masker.Mask(shorten(err.Error()))
	say := func(title, advice string) error {
		return &problem.Problem{Title: title, Object: errand.Image.String(), Cause: errors.New(text), Advice: advice}
	}
	failed := followed.failed()
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), say("Step on the base was stopped", "What had ended by then is in the daemon's cache."))
	case diskFull.MatchString(text):
		return say("BuildKit has no disk space for a step on the base", "Free space on the daemon's machine ("+d.Address+"): `buildctl prune` empties its cache.")
	case failed != nil && processEnded.MatchString(err.Error()), failed != nil && notFoundExec.MatchString(text):
		return &StepFailed{Step: failed.name, Lines: failed.lines, Err: errors.New(text)}
	case withheld != nil && (quoted || pullFailed.MatchString(text)):
		return withheld
	case pullFailed.MatchString(text):
		return say("BuildKit cannot read the base for a step on it", "The daemon pulls it itself: it must reach the registry, and the login for that host must allow pulls.")
	case grpcerrors.Code(err) == codes.Unavailable:
		return say("Connection to BuildKit was lost during a step", "Apply again.")
	}
	return say("Step on the base failed", "")
}

// Run runs a step to its end and gives its folder.
func (r *ErrandRun) Run(ctx context.Context, step ErrandStep) (*ErrandFolder, error) {
	name := r.errand.Image.String()
	root := llb.Image(name, r.platform, llb.WithCustomName("base "+name))
	folder := llb.Scratch()
	for _, file := range slices.Sorted(maps.Keys(step.Files)) {
		folder = folder.File(llb.Mkfile("/"+file, 0o644, []byte(step.Files[file]), created), llb.WithCustomName("bring "+file))
	}
	run := root.Run(r.options(step)...)
	state := run.AddMount(reportFolder, folder)
	ref, err := evaluate(ctx, r.daemon, state)
	if err != nil {
		return nil, err
	}
	return &ErrandFolder{state: state, ref: ref}, nil
}

func (r *ErrandRun) options(step ErrandStep) []llb.RunOption {
	options := []llb.RunOption{llb.Args(step.Args), llb.Dir(reportFolder), llb.User("0:0"), llb.WithCustomName(step.Name)}
	for _, variable := range r.errand.Env {
		if path, is := strings.CutPrefix(variable, "PATH="); is {
			options = append(options, llb.AddEnv("PATH", path))
		}
	}
	for _, variable := range slices.Sorted(maps.Keys(step.Env)) {
		options = append(options, llb.AddEnv(variable, step.Env[variable]))
	}
	for _, variable := range slices.Sorted(maps.Keys(step.SecretEnv)) {
		options = append(options, llb.AddSecretWithDest(step.SecretEnv[variable], nil, llb.SecretAsEnvName(variable)))
	}
	for _, path := range slices.Sorted(maps.Keys(step.SecretFiles)) {
		options = append(options, llb.AddSecret(path, llb.SecretID(step.SecretFiles[path]), llb.SecretFileOpt(0, 0, 0o400)))
	}
	for _, path := range slices.Sorted(maps.Keys(step.Folders)) {
		options = append(options, llb.AddMount(path, step.Folders[path].state, llb.Readonly))
	}
	if !step.Network {
		options = append(options, llb.Network(pb.NetMode_NONE))
	}
	known := step.KnownBy
	if !step.Login.Empty() {
		known = append(slices.Clone(known), apart(step.Login))
	}
	if step.Fresh {
		options, known = append(options, llb.IgnoreCache), append(slices.Clone(known), alone())
	}
	if len(known) > 0 {
		options = append(options, knownBy(known...))
	}
	return options
}

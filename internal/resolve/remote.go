package resolve

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

//go:embed steps/look.py
var lookProgram string

// Names of the steps, as logs and errors give them.
const (
	stepLook    = "look at the base"
	stepInstall = "install uv"
	stepResolve = "resolve the requirements"
)

// Remote runs the uv of this release in throw-away steps on a base, on a BuildKit daemon. Nothing is pushed.
type Remote struct {
	Base Base
	// Credentials are asked while the daemon pulls the base.
	Credentials image.Credentials
	// Connect gives the daemon, Nodes those of single platforms.
	Connect func(context.Context) (*buildkit.Daemon, error)
	Nodes   map[string]func(context.Context) (*buildkit.Daemon, error)
	Logger  *slog.Logger
}

// look is the report of the first step.
type look struct {
	Python, Implementation string
	Pip                    *string
	Libc                   [2]string
	Packages               map[string]string
}

// Resolve looks at the base, installs uv by its hashes, and runs it; the last step is never taken from a cache.
func (r Remote) Resolve(ctx context.Context, request Request) (*Result, error) {
	result, err := r.resolve(ctx, request)
	if err != nil && ctx.Err() != nil {
		return nil, stopped(ctx, request, r.Base.Reference.String())
	}
	return result, err
}

func (r Remote) resolve(ctx context.Context, request Request) (*Result, error) {
	oci, config, err := r.Base.inspect(ctx, request.Platform)
	if err != nil {
		return nil, err
	}
	connect, ok := r.Nodes[oci]
	if !ok {
		connect = r.Connect
	}
	daemon, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := daemon.CanRun([]string{oci}); err != nil {
		return nil, err
	}
	release, err := daemon.Reserve(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	work := &remote{Remote: r, oci: oci, request: request}
	err = daemon.Errand(ctx, buildkit.Errand{
		Image: r.Base.Reference, Platform: oci, Env: config.Env, Credentials: r.Credentials, Secrets: work.secrets(), Masked: request.hidden(),
	}, work.do)
	if err != nil {
		return nil, work.explain(ctx, err)
	}
	return work.result, nil
}

// remote is one resolution.
type remote struct {
	Remote
	oci     string
	request Request
	result  *Result
}

func (r *remote) do(ctx context.Context, run *buildkit.ErrandRun) error {
	if err := r.look(ctx, run); err != nil {
		return err
	}
	installed, err := run.Run(ctx, r.install())
	if err != nil {
		return err
	}
	r.Logger.InfoContext(ctx, "uv resolves", "version", UVVersion, "python", r.request.Python, "platform", r.request.Platform, "requirements", len(r.request.Requirements))
	written, err := run.Run(ctx, r.compile(installed))
	if err != nil {
		return err
	}
	text, err := written.Read(ctx, lockFile)
	if err != nil {
		return err
	}
	said, err := written.Read(ctx, saidFile)
	if err != nil {
		return err
	}
	locked, err := r.request.parse(string(text))
	if err != nil {
		return err
	}
	r.result = &Result{Lock: locked, UV: UVVersion, Python: lock.MajorMinor(r.request.Python), Platform: r.request.Platform, Warnings: warnings(readable(r.request.masker().Mask(string(said))))}
	return nil
}

// look completes the request with what the base has.
func (r *remote) look(ctx context.Context, run *buildkit.ErrandRun) error {
	folder, err := run.Run(ctx, buildkit.ErrandStep{
		Name: stepLook, Args: append([]string{"python3", "-I", "look.py", "report.json"}, environment.KernelPackages...), Files: map[string]string{"look.py": lookProgram},
	})
	if err != nil {
		return err
	}
	report, err := folder.Read(ctx, "report.json")
	if err != nil {
		return err
	}
	var found look
	if err := json.Unmarshal(report, &found); err != nil {
		return fmt.Errorf("report on the base: %w", err)
	}
	switch {
	case found.Implementation != "CPython":
		return r.Base.misfit("base", fmt.Errorf("its python3 is %s %s, and only CPython is supported", found.Implementation, found.Python), "Take a base that satisfies sandbox-contract/v1.")
	case found.Pip == nil:
		return r.Base.misfit("base", fmt.Errorf("its Python %s has no pip, which installs uv", found.Python), "Take a base that has pip, which the build of an environment needs too.")
	}
	libc := lock.Libc{Name: found.Libc[0], Version: found.Libc[1]}
	if libc.Name != lock.Glibc {
		libc.Name = lock.Musl // Python tells no other until 3.14, and not that one's name.
	}
	if r.request.Platform, err = r.Base.target(r.request.Platform, r.oci, libc); err != nil {
		return err
	}
	r.request, err = r.Base.held(r.request, found.Python, found.Packages)
	return err
}

// Where the steps find what they are given.
const (
	uvFolder    = "/run/datalayer-uv"
	caPath      = "/run/secrets/datalayer-ca"
	saidFile    = "said.txt"
	caID        = "datalayer-lock-ca"
	pipIndexID  = "datalayer-lock-pip-index"
	pipExtraID  = "datalayer-lock-pip-extra"
	usernameID  = "datalayer-lock-username"
	passwordID  = "datalayer-lock-password"
	proxyPrefix = "datalayer-lock-"
)

// secrets are all that reaches the steps of login, certificates and proxies.
func (r *remote) secrets() map[string][]byte {
	secrets := map[string][]byte{}
	if pem := r.request.certificates(); len(pem) > 0 {
		secrets[caID] = pem
	}
	for name, value := range r.request.Network.Variables() {
		secrets[proxyPrefix+name] = []byte(value)
	}
	indexes := r.request.indexes()
	if index := r.request.Index; index != nil {
		address := *index.URL
		if index.Username != "" {
			address.User = url.UserPassword(index.Username, index.Password.Reveal())
			secrets[usernameID], secrets[passwordID] = []byte(index.Username), []byte(index.Password.Reveal())
		}
		indexes[0] = address.String()
	}
	secrets[pipIndexID] = []byte(indexes[0])
	if len(indexes) > 1 {
		secrets[pipExtraID] = []byte(strings.Join(indexes[1:], " "))
	}
	return secrets
}

// networked is a step that reaches the indexes.
func (r *remote) networked(step buildkit.ErrandStep) buildkit.ErrandStep {
	step.Network, step.SecretEnv = true, map[string]string{}
	for name := range r.request.Network.Variables() {
		step.SecretEnv[name] = proxyPrefix + name
	}
	if len(r.request.certificates()) > 0 {
		step.SecretFiles = map[string]string{caPath: caID}
	}
	return step
}

// install is cached by the daemon for each index, though the hashes decide what is installed: it fails by what the index
// has and whom it lets read.
func (r *remote) install() buildkit.ErrandStep {
	step := r.networked(buildkit.ErrandStep{Name: stepInstall, Files: map[string]string{"uv.txt": uvRequirement}, Env: map[string]string{"PIP_CONFIG_FILE": "/dev/null"}})
	step.Args = []string{
		"python3", "-I", "-X", "utf8", "-m", "pip", "install", "--require-hashes", "--no-deps", "--only-binary=:all:", "--target=.", "--root-user-action=ignore",
		"--no-input", "--no-cache-dir", "--no-compile", "--disable-pip-version-check", "--progress-bar=off", "-r", "uv.txt",
	}
	if step.SecretFiles != nil {
		step.Args = append(step.Args, "--cert="+caPath)
	}
	// pip masks the password of this variable in its log.
	step.SecretEnv["PIP_INDEX_URL"] = pipIndexID
	if len(r.request.indexes()) > 1 {
		step.SecretEnv["PIP_EXTRA_INDEX_URL"] = pipExtraID
	}
	if step.KnownBy = r.request.indexes(); r.request.Index != nil {
		step.KnownBy = append(step.KnownBy, r.request.Index.Username, string(r.request.Index.CACertificates))
		step.Login = r.request.Index.Password
	}
	return step
}

// compile is uv itself. A shell keeps what it says in the folder too: warnings of a good run are read from there.
func (r *remote) compile(installed *buildkit.ErrandFolder) buildkit.ErrandStep {
	step := r.networked(buildkit.ErrandStep{
		Name: stepResolve, Files: r.request.files(), Folders: map[string]*buildkit.ErrandFolder{uvFolder: installed}, Fresh: true,
		Env: map[string]string{"HOME": "/tmp/datalayer-home", "XDG_CONFIG_DIRS": "/tmp/datalayer-home", "UV_CACHE_DIR": "/tmp/datalayer-cache", "UV_NO_PROGRESS": "1", "NETRC": "/dev/null"},
	})
	step.Args = append([]string{"/bin/sh", "-c", `"$@" >/dev/null 2>` + saidFile + `; status=$?; cat ` + saidFile + ` >&2; exit $status`, "sh", uvFolder + "/bin/uv"}, r.request.arguments(lockFile)...)
	if step.SecretFiles != nil {
		step.Env["SSL_CERT_FILE"] = caPath
	}
	if login := r.request.login(); login != nil {
		for variable := range maps.Keys(login) {
			step.SecretEnv[variable] = passwordID
			if strings.HasSuffix(variable, "_USERNAME") {
				step.SecretEnv[variable] = usernameID
			}
		}
	}
	return step
}

// explain says of a failed step what it means.
func (r *remote) explain(ctx context.Context, err error) error {
	var failed *buildkit.StepFailed
	if !errors.As(err, &failed) {
		return err
	}
	lines := readable(strings.Join(failed.Lines, "\n"))
	switch failed.Step {
	case stepLook:
		// The daemon says it in the error of the step or in its log.
		if strings.Contains(failed.Err.Error()+strings.Join(lines, "\n"), "executable file not found") {
			return r.Base.misfit("base", errors.New("it has no python3 on its PATH"), "Take a base that satisfies sandbox-contract/v1, such as one that datalayer_base_image makes.")
		}
	case stepResolve:
		return explain(ctx, r.request, lines, failed.Err)
	case stepInstall:
		return &problem.Problem{Title: "uv could not be installed on the base", Path: []any{"index"}, Object: r.Base.Reference.String(), Cause: failed.Err, Logs: lines[max(0, len(lines)-20):],
			Advice: adviceOnInstall(r.request)}
	}
	return &problem.Problem{Title: "Base could not be looked at", Path: []any{"base"}, Object: r.Base.Reference.String(), Cause: failed.Err, Logs: lines[max(0, len(lines)-20):], Advice: "Check that the image starts on the daemon's machine."}
}

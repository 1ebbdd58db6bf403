package buildkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	gateway "github.com/moby/buildkit/frontend/gateway/client"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// pushAttempts bounds how often a build is tried when only its push failed for a passing reason: the daemon's cache
// then holds every step, so that another attempt is little more than the push.
const pushAttempts = 3

const pushPause = 2 * time.Second

// Reserve waits until one of the daemon's build slots is free; release gives it back.
func (d *Daemon) Reserve(ctx context.Context) (release func(), err error) {
	if err := d.slots.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("no build slot became free: %w", err)
	}
	return func() { d.slots.Release(1) }, nil
}

// Build solves the request on the daemon and pushes the image by digest. base is what the registry says of Base.
// Ending ctx ends the solve; no tag is ever put.
func (d *Daemon) Build(ctx context.Context, request Request, base *image.Image) (*Result, error) {
	for attempt := 1; ; attempt++ {
		result, err := d.build(ctx, request, base)
		if errors.Is(err, errIndexLogin) && request.PackageIndex.Username != "" && request.alone == "" {
			d.logger.InfoContext(ctx, "index refused a login, which may be that of another build with the same step: trying alone")
			request.alone = alone()
			result, err = d.build(ctx, request, base)
		}
		if err == nil || attempt == pushAttempts || !errors.Is(err, errPassing) {
			return result, err
		}
		d.logger.WarnContext(ctx, "push failed, trying again", "attempt", attempt, "error", err.Error())
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		case <-d.after(time.Duration(attempt) * pushPause):
		}
	}
}

func (d *Daemon) build(ctx context.Context, request Request, base *image.Image) (*Result, error) {
	hidden := append(request.loginSecrets(ctx), request.secrets()...)
	masker := secret.NewMasker(hidden...)
	credentials := newCredentialServer(request.Credentials)
	followed := newProgress(ctx, d.logger.With("daemon", d.Address, "platforms", strings.Join(request.Platforms, ",")), masker)
	statuses := make(chan *client.SolveStatus)
	done := make(chan struct{})
	go func() {
		defer close(done)
		followed.follow(statuses)
	}()
	s := &solve{request: request, base: base}
	response, err := d.client.Build(ctx, client.SolveOpt{
		FrontendAttrs: request.Attestations.attributes(),
		CacheExports:  request.Cache.exports(),
		Session:       attachables(credentials, request.mounts()),
		Exports: []client.ExportEntry{{Type: client.ExporterImage, Attrs: map[string]string{
			string(exptypes.OptKeyName): request.Repository.String(), string(exptypes.OptKeyPush): "true",
			string(exptypes.OptKeyPushByDigest): "true", string(exptypes.OptKeyNameCanonical): "true",
			string(exptypes.OptKeyOCITypes): "true", "rewrite-timestamp": "true",
			"source-date-epoch": strconv.FormatInt(epoch.Unix(), 10),
		}}},
	}, "", s.run, statuses)
	<-done
	if err != nil {
		// The daemon sends the error of the build function back as text: the function's own says more.
		err = errors.Join(s.fault, err)
		return nil, buildFailure{
			request: request, daemon: d, step: followed.failed(), masker: secret.NewMasker(append(hidden, credentials.seen()...)...), logins: credentials,
		}.explain(ctx, err)
	}
	s.result.Unexported = followed.cacheFaults()
	s.result.Digest = response.ExporterResponse[exptypes.ExporterImageDigestKey]
	return &s.result, nil
}

// solve is one run of the build function on the daemon.
type solve struct {
	request Request
	base    *image.Image
	result  Result
	// fault is the problem that the build function itself found.
	fault error
}

func (s *solve) run(ctx context.Context, daemon gateway.Client) (*gateway.Result, error) {
	built, err := s.build(ctx, daemon)
	var found *problem.Problem
	if errors.As(err, &found) {
		s.fault = found
	}
	return built, err
}

func (s *solve) build(ctx context.Context, daemon gateway.Client) (*gateway.Result, error) {
	built := gateway.NewResult()
	var listed exptypes.Platforms
	for _, platform := range s.request.Platforms {
		parsed, err := platforms.Parse(platform)
		if err != nil {
			return nil, err
		}
		r := recipe{request: s.request, platform: platform, baseConfig: s.base.Configs[platform].Raw}
		if err := r.content().check(ctx, daemon); err != nil {
			return nil, err
		}
		if r.python, err = s.python(ctx, daemon, r); err != nil {
			return nil, err
		}
		if r.packages, err = s.locked(r); err != nil {
			return nil, err
		}
		ref, err := s.platform(ctx, daemon, r)
		if err != nil {
			return nil, err
		}
		config, err := r.imageConfig()
		if err != nil {
			return nil, err
		}
		suffix := ""
		if len(s.request.Platforms) > 1 {
			built.AddRef(platform, ref)
			suffix = "/" + platform
		} else {
			built.SetRef(ref)
		}
		built.AddMeta(exptypes.ExporterImageConfigKey+suffix, config)
		// It tells the exporter which layers are the base's, so that their bytes and times are left alone.
		built.AddMeta(exptypes.ExporterImageBaseConfigKey+suffix, r.baseConfig)
		listed.Platforms = append(listed.Platforms, exptypes.Platform{ID: platform, Platform: parsed})
	}
	encoded, err := json.Marshal(listed)
	if err != nil {
		return nil, err
	}
	built.AddMeta(exptypes.ExporterPlatformsKey, encoded)
	return built, nil
}

// python runs the probe; what it tells must agree with what the request expects and between platforms.
func (s *solve) python(ctx context.Context, daemon gateway.Client, r recipe) (python, error) {
	state, err := r.probe()
	if err != nil {
		return python{}, err
	}
	if err := s.readReport(ctx, daemon, state, &r.python); err != nil {
		return python{}, err
	}
	found := r.python
	short := lock.MajorMinor(found.Python)
	switch {
	case found.Implementation != "CPython":
		err = unsuitableBase(s.request, fmt.Errorf("its python3 is %s %s, and only CPython is supported", found.Implementation, found.Python))
	case found.Pip == nil && s.request.Lock != nil:
		err = unsuitableBase(s.request, fmt.Errorf("its Python %s has no pip, which installs the lock", found.Python))
	case s.request.Python != "" && short != s.request.Python:
		err = pythonMismatch(s.request, short)
	case s.result.Python != "" && s.result.Python != short:
		err = unsuitableBase(s.request, fmt.Errorf("it has Python %s on one platform and %s on another", s.result.Python, short))
	default:
		if err = r.content().fits(); err == nil {
			err = checkHeader(s.request, found)
		}
	}
	if libc := lock.ParseLibc(found.Libc).String(); s.result.Python == "" {
		s.result.Libc = libc
	} else if s.result.Libc != libc {
		s.result.Libc = ""
	}
	s.result.Python = short
	return found, err
}

// locked are the packages that the lock gives on the platform, which must be those of the platforms before.
func (s *solve) locked(r recipe) (map[string]string, error) {
	expected, err := lockedPackages(s.request, r.platform, r.python.Python)
	if err == nil && s.request.BaseImage != nil {
		err = base.CheckKernelLock(s.request.Lock, lock.Target{Python: r.python.Python, Platform: r.platform})
	}
	if err == nil && s.result.Packages != nil {
		err = samePackages(s.request, s.result.Packages, expected)
	}
	s.result.Packages = expected
	return expected, err
}

// platform solves the image of one platform and holds what pip installed against what the lock says.
func (s *solve) platform(ctx context.Context, daemon gateway.Client, r recipe) (gateway.Reference, error) {
	root, report, err := r.content().image()
	if err != nil {
		return nil, err
	}
	ref, err := evaluate(ctx, daemon, root, s.request.Cache.imports()...)
	if err != nil || report == nil {
		return ref, err
	}
	var installed struct{ Installed map[string]string }
	if err := s.readReport(ctx, daemon, *report, &installed); err != nil {
		return nil, err
	}
	return ref, checkInstalled(s.request, r.packages, installed.Installed)
}

func evaluate(ctx context.Context, daemon gateway.Client, state llb.State, caches ...gateway.CacheOptionsEntry) (gateway.Reference, error) {
	definition, err := state.Marshal(ctx)
	if err != nil {
		return nil, err
	}
	solved, err := daemon.Solve(ctx, gateway.SolveRequest{Definition: definition.ToPB(), Evaluate: true, CacheImports: caches})
	if err != nil {
		return nil, err
	}
	return solved.SingleRef()
}

func (s *solve) readReport(ctx context.Context, daemon gateway.Client, state llb.State, into any) error {
	ref, err := evaluate(ctx, daemon, state, s.request.Cache.imports()...)
	if err != nil {
		return err
	}
	text, err := ref.ReadFile(ctx, gateway.ReadRequest{Filename: "/" + reportFile})
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

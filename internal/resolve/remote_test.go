package resolve_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	oras "oras.land/oras-go/v2/registry/remote"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/resolve"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// remote is the runner on the shared engine, and an index that only has what its test needs: uv comes from the real one.
type remote struct {
	resolve.Remote
	index *enginetest.Index
	log   *bytes.Buffer
	env   *enginetest.Env
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	env := enginetest.Engine(t)
	r := &remote{index: enginetest.StartIndex(t), log: &bytes.Buffer{}, env: env}
	logger := slog.New(slog.NewTextHandler(r.log, nil))
	daemon, err := buildkit.Connect(t.Context(), env.BuildkitAddress, 1, logger)
	if err != nil {
		t.Fatal(err)
	}
	base, err := reference.ParsePinned(env.BaseReference)
	if err != nil {
		t.Fatal(err)
	}
	r.Remote = resolve.Remote{Base: resolve.Base{Reference: base, Registry: image.New(image.Options{})}, Credentials: credential.NewResolver(nil), Logger: logger,
		Connect: func(context.Context) (*buildkit.Daemon, error) { return daemon, nil }}
	t.Cleanup(func() {
		_ = daemon.Close()
		for _, hidden := range []string{canary, url.QueryEscape(canary), url.PathEscape(canary)} {
			if strings.Contains(r.log.String(), hidden) {
				t.Errorf("the log holds the password: %s", r.log)
			}
		}
	})
	return r
}

// request leaves Python and platform to the base.
func (r *remote) request(t *testing.T, requirements ...string) resolve.Request {
	t.Helper()
	request := at(r.index, requirements...)
	request.Python, request.Platform = "", ""
	pypi, err := url.Parse(resolve.DefaultIndex)
	if err != nil {
		t.Fatal(err)
	}
	request.ExtraIndexes = []*url.URL{pypi}
	request.Index.CACertificates = append(bytes.Clone(request.Index.CACertificates), enginetest.CABundle(t)...)
	return request
}

// withKernel makes the base one that has ipykernel 6.1.0, of which the index has a newer one too.
func (r *remote) withKernel(t *testing.T) {
	t.Helper()
	kernel := "ipykernel==6.1.0 --hash=sha256:" + r.index.Add(t, "ipykernel", "6.1.0", "py3-none-any")
	r.index.Add(t, "ipykernel", "7.0", "py3-none-any")
	request := buildkit.Request{
		Base: r.Base.Reference, Platforms: []string{environment.DefaultPlatform}, Lock: parsedLock(t, kernel), Credentials: r.Credentials,
		Repository: reference.Repository{Host: enginetest.StartRegistry(t).Host, Path: "team/base"}, PackageIndex: at(r.index).Index,
		// What a base says of uv and pip must not count.
		Spec: environment.Spec{Env: map[string]string{"UV_OFFLINE": "1", "UV_INDEX_URL": "https://localhost:1/simple", "PIP_INDEX_URL": "https://localhost:1/simple", "PIP_NO_INDEX": "1"}},
	}
	publisher := &buildkit.Publisher{Registry: r.Base.Registry, Connect: r.Connect, Logger: r.Logger, Now: time.Now}
	published, err := publisher.Publish(t.Context(), request, "v1-0badcafe", func(buildkit.Published) {})
	if err != nil {
		t.Fatal(err)
	}
	r.Base.Reference = published.Reference(request.Repository)
}

func TestRemote_TakesTargetAndKernelStackFromTheBase(t *testing.T) {
	r := newRemote(t)
	r.withKernel(t)
	request := r.request(t, "private-tool", "ipykernel")
	result, err := r.Resolve(t.Context(), request)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.log)
	}
	packages, _, err := result.Lock.Packages(nil)
	if err != nil || packages["private-tool"] != r.index.Version || packages["ipykernel"] != "6.1.0" || !strings.Contains(result.Lock.Canonical(), r.index.Lock) {
		t.Errorf("got %v, %v: %s", packages, err, result.Lock.Canonical())
	}
	if result.Python != r.env.BasePython || !regexp.MustCompile(`^(x86_64|aarch64)-manylinux_2_\d+$`).MatchString(result.Platform) || result.UV != resolve.UVVersion {
		t.Errorf("got Python %s on %s by uv %s", result.Python, result.Platform, result.UV)
	}
	_, err = r.Resolve(t.Context(), r.request(t, "ipykernel>6.1.0"))
	failed(t, err, "Requirements cannot be resolved", "ipykernel==6.1.0", "Because", "kernel stack")
}

func TestRemote_IsNeverStale(t *testing.T) {
	r := newRemote(t)
	request := r.request(t, "private-tool")
	for _, version := range []string{"9999999999.0", "9999999999.1"} {
		r.index.Add(t, "private-tool", version, "py3-none-any")
		result, err := r.Resolve(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(result.Lock.Canonical(), "private-tool=="+version+" ") {
			t.Errorf("the resolution is stale: %s", result.Lock.Canonical())
		}
	}
	request.Prior = parsedLock(t, r.index.Lock)
	if result, err := r.Resolve(t.Context(), request); err != nil || result.Lock.Canonical() != r.index.Lock {
		t.Errorf("the locked version moved: %v, %v", result, err)
	}
}

func TestRemote_Failures(t *testing.T) {
	r := newRemote(t)
	fails := func(request resolve.Request, title string, phrases ...string) {
		t.Helper()
		_, err := r.Resolve(t.Context(), request)
		failed(t, err, title, phrases...)
	}
	fails(r.request(t, "private-tool<1"), "Requirements cannot be resolved", "private-tool<1")

	wrong := r.request(t, "private-tool")
	wrong.Index.Password = secret.New("cnry-wrong")
	fails(wrong, "Package index refused uv", "index.password_wo", r.index.URL)

	other := r.request(t, "private-tool")
	other.Python = "3.8"
	fails(other, "Base does not fit the lock", "python_version is 3.8, and the base has "+r.env.BasePython)

	other = r.request(t, "private-tool")
	other.Platform = "aarch64-manylinux_2_28"
	fails(other, "Base does not fit the lock", "linux/amd64, not linux/arm64")
	other.Platform = "x86_64-unknown-linux-musl"
	fails(other, "Base does not fit the lock", "it is for musl, and the base has glibc 2.")

	plain, err := reference.ParsePinned(r.env.PlainDebianReference)
	if err != nil {
		t.Fatal(err)
	}
	r.Base.Reference = plain
	fails(r.request(t, "private-tool"), "Base does not fit the lock", "no python3 on its PATH", "datalayer_base_image")
}

func TestRemote_EndsWithItsContext(t *testing.T) {
	r := newRemote(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	logger := slog.New(onMessage{text: "uv resolves", then: cancel})
	r.Logger = logger
	_, err := r.Resolve(ctx, r.request(t, "private-tool"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	failed(t, err, "Resolution was stopped", r.Base.Reference.String(), "No lock was made.")
}

type onMessage struct {
	slog.Handler
	text string
	then func()
}

func (h onMessage) Enabled(context.Context, slog.Level) bool { return true }

func (h onMessage) Handle(_ context.Context, record slog.Record) error {
	if record.Message == h.text {
		h.then()
	}
	return nil
}

// TestRemote_BaseBehindALogin has the daemon log in for the base, in each way in which a registry asks for that.
func TestRemote_BaseBehindALogin(t *testing.T) {
	const password, wrong = "cnry-base-password", "cnry-wrong-base-password"
	for name, guard := range map[string]func(http.Handler) http.Handler{
		"as it is":    enginetest.BasicAuth(map[string]string{"reader": password}, nil),
		"for a token": enginetest.NewTokenService("reader", password).Middleware,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRemote(t)
			var guarded atomic.Bool
			registry := enginetest.StartRegistry(t, func(next http.Handler) http.Handler {
				behind := guard(next)
				return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
					if guarded.Load() {
						behind.ServeHTTP(w, q)
					} else {
						next.ServeHTTP(w, q)
					}
				})
			})
			r.Base.Reference = newBase(t, registry)
			guarded.Store(true)
			with := func(password string) *credential.Resolver {
				return credential.NewResolver(nil).With(registry.Host, image.Credential{Username: "reader", Password: secret.New(password), Source: "a test"})
			}
			r.Base.Registry = image.New(image.Options{Credentials: with(password)})
			r.Credentials = with(wrong)
			_, err := r.Resolve(t.Context(), r.request(t, "private-tool"))
			failed(t, err, "BuildKit cannot read the base for a step on it", registry.Host)
			if strings.Contains(err.Error()+r.log.String(), wrong) {
				t.Errorf("the password shows in %v", err)
			}
			r.Credentials = with(password)
			if result, err := r.Resolve(t.Context(), r.request(t, "private-tool")); err != nil || result.Lock.Canonical() != r.index.Lock {
				t.Errorf("got %v, %v", result, err)
			}
		})
	}
}

// newBase is the shared base with a label, so that no daemon has its manifest: what it has it would not log in for.
func newBase(t *testing.T, registry *enginetest.Registry) reference.Reference {
	t.Helper()
	base, err := reference.ParsePinned(registry.PushBase(t))
	if err != nil {
		t.Fatal(err)
	}
	repository, err := oras.NewRepository(base.Repository.String())
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP = true
	fetch := func(described ocispec.Descriptor, into any) {
		text, err := content.FetchAll(t.Context(), repository, described)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	push := func(mediaType string, document any) ocispec.Descriptor {
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		described := content.NewDescriptorFromBytes(mediaType, text)
		if err := repository.Push(t.Context(), described, bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		return described
	}
	found, err := repository.Resolve(t.Context(), base.Digest)
	if err != nil {
		t.Fatal(err)
	}
	var manifest ocispec.Manifest
	var config ocispec.Image
	fetch(found, &manifest)
	fetch(manifest.Config, &config)
	config.Config.Labels = map[string]string{"test": rand.Text()}
	manifest.Config = push(manifest.Config.MediaType, config)
	return base.WithDigest(push(found.MediaType, manifest).Digest.String())
}

package buildkit_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// bench is a daemon, a registry of the test's own, and a publisher that uses both.
type bench struct {
	*enginetest.Env
	registry  *enginetest.Registry
	daemon    *buildkit.Daemon
	images    *image.Client
	publisher *buildkit.Publisher
	tagged    string
}

const target = "team/env"

func newBench(t *testing.T, middleware ...func(http.Handler) http.Handler) *bench {
	t.Helper()
	env := enginetest.Engine(t)
	b := &bench{Env: env, registry: enginetest.StartRegistry(t, middleware...), tagged: "v1-0badcafe"}
	logger := slog.New(slog.DiscardHandler)
	daemon, err := buildkit.Connect(t.Context(), env.BuildkitAddress, 2, logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Close() })
	b.daemon = daemon
	b.images = image.New(image.Options{Credentials: credential.NewResolver(nil), UserAgent: "test"})
	b.publisher = &buildkit.Publisher{Registry: b.images, Logger: logger, Now: time.Now,
		Connect: func(context.Context) (*buildkit.Daemon, error) { return daemon, nil }}
	return b
}

// request asks for an image of this lock, which is a file in testdata or, with a line break in it, the text itself.
func (b *bench) request(t *testing.T, locked string) buildkit.Request {
	t.Helper()
	base, err := reference.ParsePinned(b.BaseReference)
	if err != nil {
		t.Fatal(err)
	}
	request := buildkit.Request{
		Base: base, Platforms: []string{environment.DefaultPlatform}, Repository: reference.Repository{Host: b.registry.Host, Path: target},
		Labels: map[string]string{environment.LabelCacheKey: "sha256:test"}, Credentials: credential.NewResolver(nil),
	}
	if b.CABundle != "" {
		if request.Network.CABundle, err = os.ReadFile(b.CABundle); err != nil {
			t.Fatal(err)
		}
	}
	if locked != "" {
		request.Lock = parsed(t, locked)
	}
	return request
}

func parsed(t *testing.T, locked string) *lock.Lock {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", locked))
	if err != nil {
		text = []byte(locked)
	}
	l, err := lock.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (b *bench) publish(ctx context.Context, request buildkit.Request) (*buildkit.Published, error) {
	return b.publisher.Publish(ctx, request, b.tagged, func(buildkit.Published) {})
}

// onLine gives a logger that calls then once a step prints the line.
func onLine(line string, then func()) *slog.Logger {
	return slog.New(recordHandler{wanted: func(record slog.Record) bool { return record.Message == line }, then: then})
}

// onStep gives a logger that calls then when the step begins.
func onStep(step string, then func()) *slog.Logger {
	return slog.New(recordHandler{then: then, wanted: func(record slog.Record) (begun bool) {
		record.Attrs(func(a slog.Attr) bool {
			begun = begun || record.Message == "step started" && a.Key == "step" && strings.Contains(a.Value.String(), step)
			return !begun
		})
		return begun
	}})
}

type recordHandler struct {
	slog.Handler
	wanted func(slog.Record) bool
	then   func()
}

func (h recordHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h recordHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h recordHandler) Handle(_ context.Context, record slog.Record) error {
	if h.wanted(record) {
		h.then()
	}
	return nil
}

// manifest reads a manifest of a registry that asks for no login.
func (b *bench) manifest(t *testing.T, host, repository, digest string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/v2/"+repository+"/manifests/"+digest, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header["Accept"] = []string{"application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json"}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", request.URL, response.Status, err)
	}
	return content
}

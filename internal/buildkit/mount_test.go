package buildkit_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// baseBeside puts the base into the target's own registry, and gives its layers.
func (b *bench) baseBeside(t *testing.T, request *buildkit.Request) []string {
	t.Helper()
	base, err := reference.ParsePinned(b.registry.PushBase(t))
	if err != nil {
		t.Fatal(err)
	}
	found, err := b.images.Inspect(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	layers := found.Layers[environment.DefaultPlatform]
	if len(layers) == 0 {
		t.Fatal("the base has no layers")
	}
	request.Base = base
	b.registry.ResetRequests()
	return layers
}

// uploadsOf gives the POSTs for uploads and, of the layers, the requests that sent bytes.
func (b *bench) uploadsOf(layers []string) (started, sent []enginetest.Request) {
	sessions := map[string]bool{}
	requests := b.registry.Requests()
	for _, r := range requests {
		query, _ := url.ParseQuery(r.Query)
		if r.Method == http.MethodPut && slices.Contains(layers, query.Get("digest")) {
			sessions[path.Base(r.Path)] = true
		}
	}
	for _, r := range requests {
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/blobs/uploads/"):
			started = append(started, r)
		case sessions[path.Base(r.Path)]:
			sent = append(sent, r)
		}
	}
	return started, sent
}

func TestBaseLayersAreMountedByTheProbe(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "six.lock")
	layers := b.baseBeside(t, &request)
	if _, err := b.publish(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	started, sent := b.uploadsOf(layers)
	if len(sent) > 0 {
		t.Errorf("base layers were uploaded: %v", sent)
	}
	query, err := url.ParseQuery(started[0].Query)
	if err != nil || started[0].Status != http.StatusCreated || query.Get("mount") != layers[0] || query.Get("from") != request.Base.Path {
		t.Errorf("the first upload is %s, want the mount of %s", started[0], layers[0])
	}
	for _, r := range started[1:] {
		if query, err := url.ParseQuery(r.Query); err != nil || slices.Contains(layers, query.Get("mount")) {
			t.Errorf("a layer is mounted again: %s", r)
		}
	}
	for _, r := range b.registry.Requests() {
		if r.Method == http.MethodDelete {
			t.Errorf("the probe cost a request of its own: %s", r)
		}
	}
}

func TestBaseInAnotherRegistryIsProbedAndUploaded(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "six.lock")
	found, err := b.images.Inspect(t.Context(), request.Base)
	if err != nil {
		t.Fatal(err)
	}
	layers := found.Layers[environment.DefaultPlatform]
	if _, err := b.publish(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	started, sent := b.uploadsOf(layers)
	if len(sent) == 0 || started[0].Query != "" || started[0].Status != http.StatusAccepted {
		t.Errorf("started %v, sent %v", started, sent)
	}
}

func TestBaseThatMustNotBeMountedIsProbedAllTheSame(t *testing.T) {
	var refused atomic.Bool
	b := newBench(t, enginetest.Fault(func(r *http.Request) *enginetest.FaultResponse {
		// The daemon may try a mount of its own later.
		if !r.URL.Query().Has("mount") || !refused.CompareAndSwap(false, true) {
			return nil
		}
		return &enginetest.FaultResponse{Status: http.StatusForbidden, Body: `{"errors":[{"code":"DENIED","message":"no pull for mounts"}]}`}
	}))
	log := &bytes.Buffer{}
	b.images = image.New(image.Options{Credentials: credential.NewResolver(nil), Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	b.publisher.Registry = b.images
	request := b.request(t, "six.lock")
	layers := b.baseBeside(t, &request)
	if _, err := b.publish(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	started, _ := b.uploadsOf(layers)
	if started[0].Status != http.StatusForbidden || started[1].Query != "" || started[1].Status != http.StatusAccepted {
		t.Errorf("uploads began with %v, want a mount refused and a probe", started[:2])
	}
	if !strings.Contains(log.String(), "base layers cannot be mounted") || !strings.Contains(log.String(), "no pull for mounts") {
		t.Errorf("nothing says why:\n%s", log)
	}
}

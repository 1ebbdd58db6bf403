package buildkit_test

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// twoPlatforms pushes an index of the base for linux/amd64 and linux/386: an amd64 machine runs both without an emulator.
func (b *bench) twoPlatforms(t *testing.T) reference.Reference {
	t.Helper()
	base, err := reference.ParsePinned(b.registry.PushBase(t))
	if err != nil {
		t.Fatal(err)
	}
	repository, err := remote.NewRepository(base.Repository.String())
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP = true
	fetch := func(descriptor ocispec.Descriptor, into any) {
		raw, err := content.FetchAll(t.Context(), repository, descriptor)
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	push := func(mediaType string, document any) ocispec.Descriptor {
		raw, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		descriptor := content.NewDescriptorFromBytes(mediaType, raw)
		if err := repository.Push(t.Context(), descriptor, bytes.NewReader(raw)); err != nil {
			t.Fatal(err)
		}
		return descriptor
	}
	amd64, err := repository.Resolve(t.Context(), base.Digest)
	if err != nil {
		t.Fatal(err)
	}
	var manifest ocispec.Manifest
	fetch(amd64, &manifest)
	var config map[string]any
	fetch(manifest.Config, &config)
	config["architecture"] = "386"
	manifest.Config = push(ocispec.MediaTypeImageConfig, config)
	i386 := push(ocispec.MediaTypeImageManifest, manifest)
	amd64.Platform, i386.Platform = &ocispec.Platform{OS: "linux", Architecture: "amd64"}, &ocispec.Platform{OS: "linux", Architecture: "386"}
	index := push(ocispec.MediaTypeImageIndex, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{amd64, i386}})
	return base.WithDigest(index.Digest.String())
}

func TestSeveralPlatformsBecomeOneIndex(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "six.lock")
	request.Base = b.twoPlatforms(t)
	request.Platforms = []string{"linux/386", "linux/amd64"}
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if published.Image.MediaType != ocispec.MediaTypeImageIndex || published.Image.Digest != published.Digest {
		t.Errorf("pushed %s %s, want an index with digest %s", published.Image.MediaType, published.Image.Digest, published.Digest)
	}
	if len(published.Image.Manifests) != 2 || published.Image.Manifests["linux/386"] == published.Image.Manifests["linux/amd64"] {
		t.Errorf("manifests are %v, want one for each platform", published.Image.Manifests)
	}
	for platform, config := range published.Image.Configs {
		if config.User != "1000:100" || config.Labels[environment.LabelCacheKey] == "" {
			t.Errorf("%s has user %q and labels %v", platform, config.User, config.Labels)
		}
	}
	output, err := b.daemon.Run(t.Context(), buildkit.Process{Image: published.Reference(request.Repository), Platform: "linux/386",
		Args: []string{"python3", "-c", "import six; print(six.__version__)"}, Env: published.Image.Configs["linux/386"].Env, Cwd: "/", User: "1000:100"}, request.Credentials)
	if err != nil || strings.TrimSpace(output.Stdout) != "1.17.0" {
		t.Errorf("the container says %+v, %v", output, err)
	}
	removed, err := b.images.Remove(t.Context(), image.Removal{Repository: request.Repository, Digest: published.Digest, Tags: []string{b.tagged}, RequireLabel: environment.LabelCacheKey})
	if err != nil || !removed.DigestDeleted {
		t.Fatalf("removal gives %+v, %v", removed, err)
	}
	for _, left := range b.registry.Left(t) {
		if strings.HasPrefix(left, target) {
			t.Errorf("%s is left", left)
		}
	}
}

// TestProxyReachesTheStepsAndNoLayer has a proxy that refuses everything: the step must ask it, and fail.
func TestProxyReachesTheStepsAndNoLayer(t *testing.T) {
	b := newBench(t)
	var asked []string
	var mutex sync.Mutex
	proxy := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		asked = append(asked, r.Method+" "+r.Host)
		http.Error(w, "not through here", http.StatusForbidden)
	})}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = proxy.Serve(listener) }()
	t.Cleanup(func() { _ = proxy.Close() })
	request := b.request(t, "")
	request.Network = buildkit.Network{HTTPProxy: "http://" + listener.Addr().String(), HTTPSProxy: "http://" + listener.Addr().String()}
	request.Spec = environment.Spec{AptPackages: []string{"hello"}}
	if _, err = b.publish(t.Context(), request); err == nil || !strings.Contains(err.Error(), "Debian packages were not installed") {
		t.Fatalf("error is %v", err)
	}
	mutex.Lock()
	defer mutex.Unlock()
	if len(asked) == 0 {
		t.Error("the step did not ask the proxy")
	}
	request.Spec.AptPackages = nil
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if env := published.Image.Configs[environment.DefaultPlatform].Env; slices.ContainsFunc(env, func(v string) bool { return strings.Contains(strings.ToLower(v), "proxy") }) {
		t.Errorf("the proxy is in the image: %v", env)
	}
}

package buildkit_test

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// twoPlatforms is a base for linux/amd64 and linux/386 in the test's own registry.
func (b *bench) twoPlatforms(t *testing.T) reference.Reference {
	t.Helper()
	base, err := reference.ParsePinned(b.registry.PushBaseOfTwoPlatforms(t))
	if err != nil {
		t.Fatal(err)
	}
	return base
}

func TestSeveralPlatformsBecomeOneIndex(t *testing.T) {
	b := newBench(t, enginetest.ImmutableTags)
	request := b.request(t, "six.lock")
	request.Base = b.twoPlatforms(t)
	request.Platforms = []string{"linux/386", "linux/amd64"}
	request.Attestations = b.allAttestations(t)
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
	b.putTheTagOnce(t, published)
	b.attested(t, request, published)
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

// putTheTagOnce checks how the target's manifests went up: the tag once, for the index, and all else by digest.
func (b *bench) putTheTagOnce(t *testing.T, published *buildkit.Published) {
	t.Helper()
	var put []string
	for _, request := range b.registry.Requests() {
		name, ours := strings.CutPrefix(request.Path, "/v2/"+target+"/manifests/")
		if !ours || request.Method != http.MethodPut {
			continue
		}
		if request.Status != http.StatusCreated {
			t.Errorf("%s", request)
		}
		put = append(put, name)
	}
	byDigest := slices.DeleteFunc(slices.Clone(put), func(name string) bool { return !strings.HasPrefix(name, "sha256:") })
	if want := append(slices.Clone(byDigest), b.tagged); !slices.Equal(put, want) {
		t.Errorf("manifests were put as %v, want all by digest and then %s once", put, b.tagged)
	}
	for _, digest := range append(published.Image.Children, published.Digest) {
		if !slices.Contains(byDigest, digest) {
			t.Errorf("%s was not put by digest: %v", digest, put)
		}
	}
}

// allAttestations asks for all that there are, of the project's own generator.
func (b *bench) allAttestations(t *testing.T) buildkit.Attestations {
	t.Helper()
	generator, err := reference.ParsePinned(b.GeneratorReference)
	if err != nil {
		t.Fatal(err)
	}
	return buildkit.Attestations{SBOM: true, SBOMGenerator: generator, Provenance: "max"}
}

// attested checks that each platform has an SBOM that names what the lock installs, and a provenance that names the base.
func (b *bench) attested(t *testing.T, request buildkit.Request, published *buildkit.Published) {
	t.Helper()
	found := map[string]string{}
	for _, one := range published.Attestations {
		found[one.Platform+" "+one.PredicateType] += b.statement(t, request, one)
	}
	if len(published.Attestations) != 2*len(request.Platforms) || len(found) != len(published.Attestations) {
		t.Errorf("attestations are %+v, want an SBOM and a provenance for each of %v", published.Attestations, request.Platforms)
	}
	for _, platform := range request.Platforms {
		if !strings.Contains(found[platform+" "+image.PredicateSPDX], "pkg:pypi/six@1.17.0") {
			t.Errorf("the SBOM of %s does not name six", platform)
		}
		_, digest, _ := strings.Cut(request.Base.Digest, ":")
		if !strings.Contains(found[platform+" "+image.PredicateProvenance], digest) {
			t.Errorf("the provenance of %s does not name the base", platform)
		}
	}
	// What a provenance is of is the platform's manifest, which is what its descriptor in the index says too.
	for _, one := range published.Attestations {
		_, digest, _ := strings.Cut(published.Image.Manifests[one.Platform], ":")
		if !strings.Contains(found[one.Platform+" "+one.PredicateType], digest) {
			t.Errorf("the subject of the %s statement for %s is not %s", one.PredicateType, one.Platform, digest)
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

package buildkit_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// withNode gives the bench a second daemon, which builds linux/386, and a request for both platforms.
func (b *bench) withNode(t *testing.T, address string) buildkit.Request {
	t.Helper()
	b.publisher.Nodes = map[string]func(context.Context) (*buildkit.Daemon, error){"linux/386": func(ctx context.Context) (*buildkit.Daemon, error) {
		daemon, err := buildkit.Connect(ctx, address, 1, b.publisher.Logger, buildkit.FromArgument(`buildkit.nodes["linux/386"]`))
		if err == nil {
			t.Cleanup(func() { _ = daemon.Close() })
		}
		return daemon, err
	}}
	request := b.request(t, "six.lock")
	request.Base = b.twoPlatforms(t)
	request.Platforms = []string{"linux/386", environment.DefaultPlatform}
	return request
}

// ours is what the registry has of the target.
func (b *bench) ours(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(b.registry.Left(t), func(name string) bool { return !strings.HasPrefix(name, target) })
}

func TestPlatformsOfSeveralDaemonsBecomeOneIndex(t *testing.T) {
	node := enginetest.StartPlainRemote(t)
	for name, attested := range map[string]bool{"without attestations": false, "with SBOM and provenance": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, enginetest.ImmutableTags)
			request := b.withNode(t, node)
			if attested {
				request.Attestations = b.allAttestations(t)
			}
			published, err := b.publish(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if published.Unread != nil || published.Image.MediaType != ocispec.MediaTypeImageIndex || published.Image.Digest != published.Digest {
				t.Fatalf("pushed %+v, unread %v; want an index", published.Image, published.Unread)
			}
			if len(published.Image.Manifests) != 2 || published.Image.Manifests["linux/386"] == published.Image.Manifests["linux/amd64"] {
				t.Errorf("manifests are %v, want one for each platform", published.Image.Manifests)
			}
			b.putTheTagOnce(t, published)
			if attested {
				b.attested(t, request, published)
			}
			// The index, what it lists, and the tag: none of the daemons' own indexes.
			want := []string{target + ":" + b.tagged, target + "@" + published.Digest}
			for _, child := range published.Image.Children {
				want = append(want, target+"@"+child)
			}
			slices.Sort(want)
			left := b.ours(t)
			slices.Sort(left)
			if !slices.Equal(left, want) {
				t.Errorf("in the registry: %v, want %v", left, want)
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
			if left := b.ours(t); len(left) > 0 {
				t.Errorf("left in the registry: %v", left)
			}
		})
	}
}

func TestIndexThatIsRefusedLeavesNoPart(t *testing.T) {
	node := enginetest.StartPlainRemote(t)
	refuse := false
	b := newBench(t, enginetest.Fault(func(r *http.Request) *enginetest.FaultResponse {
		if refuse && r.Method == http.MethodPut && r.Header.Get("Content-Type") == ocispec.MediaTypeImageIndex {
			return &enginetest.FaultResponse{Status: http.StatusForbidden, Body: `{"errors":[{"code":"DENIED","message":"no indexes here"}]}`}
		}
		return nil
	}))
	request := b.withNode(t, node)
	refuse = true
	_, err := b.publish(t.Context(), request)
	var found *problem.Problem
	if !errors.As(err, &found) || found.Title != "Index of the platforms was refused by the registry" || !strings.Contains(found.Detail(), "no indexes here") {
		t.Fatalf("error is %v", err)
	}
	if left := b.ours(t); len(left) > 0 {
		t.Errorf("left in the registry: %v", left)
	}
}

func TestNodeThatFailsStopsTheOthers(t *testing.T) {
	b := newBench(t)
	node := enginetest.StartPlainRemote(t)
	request := b.withNode(t, node)
	request.Spec.PostInstall = []environment.Command{{Command: "exit 7"}}
	logged := &strings.Builder{}
	b.daemon.SetLogger(slog.New(slog.NewTextHandler(logged, nil)))
	_, err := b.publish(t.Context(), request)
	var found *problem.Problem
	if !errors.As(err, &found) || found.Title != "Post-install command failed" {
		t.Fatalf("error is %v", err)
	}
	if !strings.Contains(found.Object, "for linux/386 on "+node) && !strings.Contains(found.Object, "for linux/amd64 on "+b.BuildkitAddress) {
		t.Errorf("neither daemon nor platform is in %q", found.Object)
	}
	if !strings.Contains(logged.String(), "platforms=linux/amd64") || !strings.Contains(logged.String(), "daemon="+b.BuildkitAddress) {
		t.Errorf("the log does not say where its steps run:\n%s", logged)
	}
	if left := b.ours(t); len(left) > 0 {
		t.Errorf("left in the registry: %v", left)
	}
}

func TestNodeThatIsNotThereIsNamed(t *testing.T) {
	b := newBench(t)
	_, err := b.publish(t.Context(), b.withNode(t, "tcp://127.0.0.1:1"))
	if err == nil || !strings.Contains(err.Error(), "BuildKit daemon does not answer: tcp://127.0.0.1:1") {
		t.Fatalf("error is %v", err)
	}
	if detail := problem.From(err, "")[0].Detail(); !strings.Contains(detail, `buildkit.nodes["linux/386"]`) || strings.Contains(detail, "buildkit.address") {
		t.Errorf("the detail does not name the node:\n%s", detail)
	}
	if left := b.ours(t); len(left) > 0 {
		t.Errorf("left in the registry: %v", left)
	}
}

package buildkit_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/client"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// prunable gives the bench a daemon of the test's own, whose cache may be pruned, and the log of its builds.
func (b *bench) prunable(t *testing.T) (prune func(), log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	address := b.ownDaemon(t, filepath.Join(t.TempDir(), "buildkit"))
	b.daemon.SetLogger(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	return func() {
		t.Helper()
		c, err := client.New(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if err := c.Prune(t.Context(), nil, client.PruneAll); err != nil {
			t.Fatal(err)
		}
		left, err := c.DiskUsage(t.Context())
		if err != nil || len(left) > 0 {
			t.Fatalf("a prune left %d records, %v", len(left), err)
		}
		log.Reset()
	}, log
}

func (b *bench) cacheAt(path string) reference.Reference {
	return reference.Repository{Host: b.registry.Host, Path: path}.WithTag("main")
}

// hasLine tells whether a line of a log has all these parts.
func hasLine(log string, parts ...string) bool {
	for line := range strings.Lines(log) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return true
		}
	}
	return false
}

const installs = "Successfully installed six"

func TestRegistryCacheHitsAfterAPrune(t *testing.T) {
	b := newBench(t)
	prune, log := b.prunable(t)
	request := b.request(t, "six.lock")
	request.Cache.Export = b.cacheAt("team/cache")
	first, err := b.publish(t.Context(), request)
	if err != nil || first.Unexported != nil {
		t.Fatal(err, first.Unexported)
	}
	if !strings.Contains(log.String(), installs) {
		t.Fatalf("nothing was installed:\n%s", log)
	}
	if left := b.registry.Left(t); !slices.Contains(left, "team/cache:main") {
		t.Errorf("no cache was exported: %v", left)
	}
	prune()
	again := request
	again.Repository.Path = "team/other"
	again.Cache = buildkit.Cache{Imports: []reference.Reference{b.cacheAt("team/absent"), b.cacheAt("team/cache")}}
	second, err := b.publish(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), installs) || !hasLine(log.String(), `msg="step was cached"`, `step="install the locked packages`) {
		t.Errorf("the lock was installed again:\n%s", log)
	}
	if !hasLine(log.String(), `msg="build cache was not imported"`, "cache="+b.registry.Host+"/team/absent:main") {
		t.Errorf("nothing tells of the cache that is not there:\n%s", log)
	}
	platform := environment.DefaultPlatform
	if one, other := first.Image.Manifests[platform], second.Image.Manifests[platform]; one != other {
		t.Errorf("the cache made another image: %s, then %s, of config %s", one, other, second.Image.Configs[platform].Raw)
	}
}

func TestCacheThatCannotBeExportedFailsNoBuild(t *testing.T) {
	b := newBench(t, enginetest.Fault(func(r *http.Request) *enginetest.FaultResponse {
		if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, "/team/cache/") {
			return nil
		}
		return &enginetest.FaultResponse{Status: http.StatusForbidden, Body: `{"errors":[{"code":"DENIED","message":"the cache is closed"}]}`}
	}))
	request := b.request(t, "six.lock")
	request.Cache.Export = b.cacheAt("team/cache")
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if published.Unexported == nil || !strings.Contains(published.Unexported.Error(), "denied: the cache is closed") {
		t.Errorf("the cache was not exported because of %v", published.Unexported)
	}
	if left := b.registry.Left(t); !slices.Contains(left, target+":"+b.tagged) {
		t.Errorf("the image is not there: %v", left)
	}
}

func TestCacheIsNeverTheCauseOfAFailure(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	request.Cache.Imports = []reference.Reference{b.cacheAt("team/absent")}
	request.Spec.PostInstall = []environment.Command{{Command: "false"}}
	_, err := b.publish(t.Context(), request)
	var found *problem.Problem
	if !errors.As(err, &found) || found.Title != "Post-install command failed" {
		t.Errorf("error is %v", err)
	}
}

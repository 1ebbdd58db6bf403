package buildkit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// in runs a shell command in a published image.
func (b *bench) in(t *testing.T, request buildkit.Request, published *buildkit.Published, command string) string {
	t.Helper()
	return b.inImage(t, request, published.Reference(request.Repository), command)
}

func (b *bench) inImage(t *testing.T, request buildkit.Request, image reference.Reference, command string) string {
	t.Helper()
	output, err := b.daemon.Run(t.Context(), buildkit.Process{Image: image, Platform: environment.DefaultPlatform,
		Args: []string{"/bin/sh", "-c", command}, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Cwd: "/", User: "0:0"}, request.Credentials)
	if err != nil || output.ExitCode != 0 {
		t.Fatalf("%s: %+v, %v", command, output, err)
	}
	return strings.TrimSpace(output.Stdout)
}

func TestAptStepLeavesNoListsCachesAndLogs(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	request.Spec.AptPackages = []string{"hello"}
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if said := b.in(t, request, published, "hello"); said != "Hello, world!" {
		t.Errorf("the package says %q", said)
	}
	const traces = "find /var/lib/apt/lists /var/cache /var/log /tmp /run -type f 2>/dev/null | sort"
	before := strings.Fields(b.inImage(t, request, request.Base, traces))
	for _, path := range strings.Fields(b.in(t, request, published, traces)) {
		if !slices.Contains(before, path) && !strings.HasPrefix(path, "/var/cache/debconf/") {
			t.Errorf("%s is in the image and not in the base", path)
		}
	}
	// What is left of all of it is the same for the same packages.
	b.ownDaemon(t, filepath.Join(t.TempDir(), "state"))
	again, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if one, other := published.Image.Manifests[environment.DefaultPlatform], again.Image.Manifests[environment.DefaultPlatform]; one != other {
		t.Errorf("the platform manifests are %s and %s", one, other)
	}
}

// TestPipSettingsOfTheBaseChangeNothing has a base whose pip, left to it, would ask another index and install elsewhere.
func TestPipSettingsOfTheBaseChangeNothing(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "six.lock")
	base, err := reference.ParsePinned(b.registry.PushBaseVariant(t, func(document map[string]any) {
		config, _ := document["config"].(map[string]any)
		env, _ := config["Env"].([]any)
		config["Env"] = append(env, "PIP_INDEX_URL=http://127.0.0.1:9/simple", "PIP_TARGET=/srv/elsewhere", "PIP_NO_DEPS=0", "UV_INDEX_URL=http://127.0.0.1:9/simple")
	}))
	if err != nil {
		t.Fatal(err)
	}
	request.Base = base
	t.Setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if where := b.in(t, request, published, "ls -d /srv/elsewhere 2>/dev/null; python3 -c 'import six; print(six.__file__)'"); !strings.HasPrefix(where, "/usr/local/lib/python3") {
		t.Errorf("six is in %s", where)
	}
}

func TestPostInstallReachesTheNetworkOnlyWhereItMay(t *testing.T) {
	b := newBench(t)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = fmt.Fprintf(w, "from the network %d", time.Now().UnixNano())
	}))
	t.Cleanup(server.Close)
	get := fmt.Sprintf("import urllib.request as u; print(u.urlopen(%q, timeout=5).read().decode())", server.URL)
	request := b.request(t, "")
	request.Spec.PostInstall = []environment.Command{
		{Command: `python3 -c '` + get + `' > got`, Network: new(true)},
		{Command: `! python3 -c '` + get + `' 2> refused`},
	}
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.in(t, request, published, "cat "+environment.WorkDir+"/got"); asked.Load() != 1 || !strings.HasPrefix(got, "from the network") {
		t.Errorf("the server was asked %d times; the file says %q", asked.Load(), got)
	}
}

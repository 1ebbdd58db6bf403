package steps_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/steps"
)

// askIndex runs what tells a refused login from an absent package, for the index at the address.
func askIndex(t *testing.T, address string, environment ...string) string {
	t.Helper()
	folder := t.TempDir()
	program, index := filepath.Join(folder, "install.py"), filepath.Join(folder, "index")
	for path, text := range map[string]string{program: steps.Install, index: address} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const ask = "import sys; sys.path.insert(0, sys.argv[1]); import install; install.INDEX = sys.argv[2]; install.ask_index(['six==1.17.0 --hash=sha256:00'])"
	cmd := exec.CommandContext(t.Context(), "python3", "-I", "-B", "-c", ask, folder, index)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environment...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return string(said)
}

// recorder is a server that notes what it is asked for, and with which of the two logins.
type recorder struct {
	*httptest.Server
	mutex sync.Mutex
	asked []string
}

func record(t *testing.T, answer http.HandlerFunc) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mutex.Lock()
		r.asked = append(r.asked, fmt.Sprintf("%s login=%t proxy=%t", request.URL.Path, request.Header.Get("Authorization") != "", request.Header.Get("Proxy-Authorization") != ""))
		r.mutex.Unlock()
		answer(w, request)
	}))
	t.Cleanup(r.Close)
	return r
}

// was holds what was asked since the last time against what was to be.
func (r *recorder) was(t *testing.T, want ...string) {
	t.Helper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !slices.Equal(r.asked, want) {
		t.Errorf("asked %q, want %q", r.asked, want)
	}
	r.asked = nil
}

// TestIndexLoginStaysWithItsHost: an index may send on to a store of files of somebody else.
func TestIndexLoginStaysWithItsHost(t *testing.T) {
	elsewhere := record(t, http.NotFound)
	index := record(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/own/six/":
			http.Redirect(w, r, "/own/six/index.html", http.StatusMovedPermanently)
		case "/port/six/":
			http.Redirect(w, r, elsewhere.URL+"/six/", http.StatusFound)
		case "/name/six/":
			http.Redirect(w, r, strings.Replace("http://"+r.Host, "127.0.0.1", "localhost", 1)+"/own/six/index.html", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
	login := func(path string) string { return strings.Replace(index.URL, "://", "://ci:cnry-pw@", 1) + path }
	for _, test := range []struct {
		path        string
		here, there []string
	}{
		{"/own", []string{"/own/six/ login=true proxy=false", "/own/six/index.html login=true proxy=false"}, nil},
		{"/port", []string{"/port/six/ login=true proxy=false"}, []string{"/six/ login=false proxy=false"}},
		{"/name", []string{"/name/six/ login=true proxy=false", "/own/six/index.html login=false proxy=false"}, nil},
	} {
		if said := askIndex(t, login(test.path)); !strings.Contains(said, "index answered 404 Not Found for six") {
			t.Errorf("%s: it says %q", test.path, said)
		}
		index.was(t, test.here...)
		elsewhere.was(t, test.there...)
	}
}

// TestProxyLoginStaysWithTheProxy: a redirect may lead to an address that no proxy is asked for.
func TestProxyLoginStaysWithTheProxy(t *testing.T) {
	elsewhere := record(t, http.NotFound)
	proxy := record(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/six/", http.StatusFound)
	})
	askIndex(t, "http://ci:cnry-pw@index.example.com/simple", "http_proxy="+strings.Replace(proxy.URL, "://", "://proxy:cnry-proxy@", 1), "no_proxy=127.0.0.1")
	proxy.was(t, "/simple/six/ login=true proxy=true")
	elsewhere.was(t, "/six/ login=false proxy=false")
}

// TestIndexLoginFollowsToHTTPS is pip's one exception.
func TestIndexLoginFollowsToHTTPS(t *testing.T) {
	const ask = `import sys; sys.path.insert(0, sys.argv[1]); import install, urllib.request
for after in sys.argv[3:]:
    request = urllib.request.Request(sys.argv[2], headers={"Authorization": "Basic eA=="})
    print(install.Redirects().redirect_request(request, None, 302, "Found", {}, after).has_header("Authorization"))`
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "install.py"), []byte(steps.Install), 0o600); err != nil {
		t.Fatal(err)
	}
	for before, rows := range map[string][][2]string{
		"http://index.example.com/": {
			{"https://index.example.com/", "True"}, {"https://INDEX.example.com:443/a", "True"}, {"http://index.example.com:80/", "True"},
			{"https://index.example.com:8443/", "False"}, {"http://index.example.com:443/", "False"}, {"https://example.com/", "False"}, {"http://files.index.example.com/", "False"},
		},
		"http://index.example.com:8080/": {{"https://index.example.com/", "False"}},
		"https://index.example.com/":     {{"http://index.example.com/", "False"}, {"https://index.example.com:443/", "True"}},
	} {
		var after, want []string
		for _, row := range rows {
			after, want = append(after, row[0]), append(want, row[1])
		}
		said, err := exec.CommandContext(t.Context(), "python3", append([]string{"-I", "-B", "-c", ask, folder, before}, after...)...).CombinedOutput()
		if got := strings.Fields(string(said)); err != nil || !slices.Equal(got, want) {
			t.Errorf("from %s to %q the login goes along: %q, %v; want %q", before, after, got, err, want)
		}
	}
}

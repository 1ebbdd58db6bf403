package resolve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/resolve"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

const canary = enginetest.IndexPassword

// machine is where uv runs in a test: a home of its own, so that nothing is left in the user's.
type machine struct {
	uv, home string
	log      *bytes.Buffer
}

func newMachine(t *testing.T) machine {
	t.Helper()
	m := machine{uv: enginetest.UV(t), home: t.TempDir(), log: &bytes.Buffer{}}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Cleanup(func() {
		left, err := os.ReadDir(temporary)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the temporary folder: %v, %v", left, err)
		}
		for _, path := range filesWith(t, m.home, canary) {
			t.Errorf("%s holds the password", path)
		}
		if strings.Contains(m.log.String(), canary) {
			t.Errorf("the log holds the password: %s", m.log)
		}
	})
	return m
}

func (m machine) runner() resolve.Local {
	return resolve.Local{Path: m.uv, Logger: slog.New(slog.NewTextHandler(m.log, nil)), Getenv: func(name string) string {
		switch name {
		case "PATH":
			return os.Getenv("PATH")
		case "HOME":
			return m.home
		}
		return ""
	}}
}

func filesWith(t *testing.T, folder, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func requestOf(requirements ...string) resolve.Request {
	return resolve.Request{Requirements: requirements, Python: "3.13", Platform: "x86_64-manylinux_2_28", OnlyBinary: true}
}

// at asks the test's index.
func at(index *enginetest.Index, requirements ...string) resolve.Request {
	request := requestOf(requirements...)
	address, _ := url.Parse(index.URL)
	request.Index = &buildkit.PackageIndex{URL: address, CACertificates: []byte(index.CA.PEM), Username: index.Username, Password: secret.New(canary)}
	return request
}

func parsedLock(t *testing.T, text string) *lock.Lock {
	t.Helper()
	parsed, err := lock.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func (m machine) resolve(t *testing.T, request resolve.Request) *resolve.Result {
	t.Helper()
	result, err := m.runner().Resolve(t.Context(), request)
	if err != nil {
		t.Fatalf("%v\n%s", err, problem.From(err, "")[0].Detail())
	}
	return result
}

// fails gives the problem that a resolution ends in. It must show no secret and no path of this machine.
func (m machine) fails(t *testing.T, request resolve.Request, title string, phrases ...string) {
	t.Helper()
	_, err := m.runner().Resolve(t.Context(), request)
	failed(t, err, title, phrases...)
	for _, path := range []string{m.home, os.TempDir(), "datalayer-lock-"} {
		if text := problem.From(err, "")[0].Detail(); strings.Contains(text, path) {
			t.Errorf("the error shows %s: %s", path, text)
		}
	}
}

func failed(t *testing.T, err error, title string, phrases ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", title)
	}
	p := problem.From(err, "")[0]
	if p.Title != title {
		t.Errorf("got %q, want %q: %s", p.Title, title, p.Detail())
	}
	for _, phrase := range phrases {
		if !strings.Contains(p.Detail(), phrase) {
			t.Errorf("%q is not in the error: %s", phrase, p.Detail())
		}
	}
	if text := fmt.Sprintf("%s %s %v", p.Title, p.Detail(), err); strings.Contains(text, canary) || strings.Contains(text, url.QueryEscape(canary)) || strings.Contains(text, "\x1b") {
		t.Errorf("the error shows the password or colours: %s", text)
	}
}

func TestLocal_ResolvesToTheCanonicalForm(t *testing.T) {
	m, index := newMachine(t), enginetest.StartIndex(t)
	result := m.resolve(t, at(index, "private-tool"))
	if got := result.Lock.Canonical(); got != index.Lock {
		t.Errorf("got %q, want %q", got, index.Lock)
	}
	if result.UV != resolve.UVVersion || result.Python != "3.13" || len(result.Warnings) > 0 {
		t.Errorf("got %+v", result)
	}
}

func TestLocal_RealIndex(t *testing.T) {
	m := newMachine(t)
	request := requestOf("python-dateutil<3")
	request.Network.CABundle = enginetest.CABundle(t)
	result := m.resolve(t, request)
	packages, _, err := result.Lock.Packages(nil)
	if err != nil || packages["six"] == "" || packages["python-dateutil"] == "" {
		t.Errorf("got %v, %v", packages, err)
	}
	kept := "six==1.16.0"
	request.Constraints = []string{kept}
	older := m.resolve(t, request)
	if packages, _, _ := older.Lock.Packages(nil); packages["six"] != "1.16.0" {
		t.Errorf("the constraint did not hold: %v", packages)
	}
	// What is locked stays though newer versions are there, with the hashes that the index has; an upgrade moves it.
	request.Constraints, request.Prior = nil, older.Lock
	request.Requirements = append(request.Requirements, "idna")
	if kept := m.resolve(t, request); !strings.Contains(kept.Lock.Canonical(), older.Lock.Canonical()[strings.Index(older.Lock.Canonical(), "six=="):]) || !strings.Contains(kept.Lock.Canonical(), "idna==") {
		t.Errorf("the locked version moved: %s", kept.Lock.Canonical())
	}
	request.Prior, request.Upgrade = nil, true
	if packages, _, _ := m.resolve(t, request).Lock.Packages(nil); packages["six"] == "1.16.0" {
		t.Error("an upgrade kept the locked version")
	}
}

func TestLocal_LoginGoesToItsHostAlone(t *testing.T) {
	m, index := newMachine(t), enginetest.StartIndex(t)
	var asked, withLogin atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "" {
			withLogin.Add(1)
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(other.Close)
	request := at(index, "private-tool", "elsewhere")
	extra, err := url.Parse(other.URL + "/simple/")
	if err != nil {
		t.Fatal(err)
	}
	request.ExtraIndexes = []*url.URL{extra}
	m.fails(t, request, "Requirements cannot be resolved", "elsewhere was not found")
	if asked.Load() == 0 || withLogin.Load() > 0 {
		t.Errorf("the second index was asked %d times, %d with a login", asked.Load(), withLogin.Load())
	}
	// What the first index has is not asked of the second: nobody can put one of the same name in its place.
	before := asked.Load()
	request.Requirements = []string{"private-tool"}
	if got := m.resolve(t, request).Lock.Canonical(); got != index.Lock || asked.Load() != before {
		t.Errorf("the second index was asked for what the first has: %s", got)
	}
}

func TestLocal_ExcludeNewerNeedsATime(t *testing.T) {
	m, index := newMachine(t), enginetest.StartIndex(t)
	request := at(index, "private-tool")
	request.ExcludeNewer = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	m.fails(t, request, "Requirements cannot be resolved", "private-tool", "exclude_newer (2026-11-01T00:00:00Z) leaves out", "does not tell when", "Set a later time")

	request = requestOf("six")
	request.Network.CABundle, request.ExcludeNewer = enginetest.CABundle(t), time.Date(2020, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))
	if got := m.resolve(t, request).Lock.Canonical(); !strings.HasPrefix(got, "six==1.13.0 ") {
		t.Errorf("got %s", got)
	}
}

func TestLocal_WarnsOfAYankedVersion(t *testing.T) {
	m, index := newMachine(t), enginetest.StartIndex(t)
	index.Yank("private-tool", "it was broken")
	result := m.resolve(t, at(index, "private-tool=="+index.Version))
	if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "it was broken") {
		t.Errorf("got the warnings %q", result.Warnings)
	}
}

func TestLocal_StrayConfigurationChangesNothing(t *testing.T) {
	m, index := newMachine(t), enginetest.StartIndex(t)
	for path, text := range map[string]string{
		".config/uv/uv.toml": "no-index = true\n", ".config/pip/pip.conf": "[global]\nindex-url = https://localhost:1/simple\n",
		".pip/pip.conf": "[global]\nno-index = true\n", ".netrc": "machine localhost login wrong password wrong\n", "uv.toml": "no-index = true\n",
		"pyproject.toml": "[tool.uv]\nno-index = true\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(m.home, path)), 0o755), os.WriteFile(filepath.Join(m.home, path), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(m.home)
	for name, value := range map[string]string{
		"UV_INDEX_URL": "https://localhost:1/simple", "UV_DEFAULT_INDEX": "https://localhost:1/simple", "UV_INDEX": "https://localhost:1/simple",
		"UV_NO_BINARY": "1", "UV_EXCLUDE_NEWER": "2001-01-01", "UV_CONSTRAINT": "/nowhere", "UV_OVERRIDE": "/nowhere", "UV_CONFIG_FILE": filepath.Join(m.home, "uv.toml"),
		"UV_OFFLINE": "1", "UV_PRERELEASE": "allow", "UV_RESOLUTION": "lowest", "UV_INDEX_DATALAYER_PASSWORD": "wrong", "UV_CACHE_DIR": "/nowhere/cache", "UV_PYTHON": "/nowhere",
		"PIP_INDEX_URL": "https://localhost:1/simple", "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": filepath.Join(m.home, ".pip/pip.conf"), "NETRC": filepath.Join(m.home, ".netrc"),
		"HOME": m.home, "XDG_CONFIG_HOME": filepath.Join(m.home, ".config"), "SSL_CERT_FILE": "/nowhere", "VIRTUAL_ENV": "/nowhere", "ALL_PROXY": "http://localhost:1",
	} {
		t.Setenv(name, value)
	}
	runner := m.runner()
	runner.Getenv = os.Getenv
	result, err := runner.Resolve(t.Context(), at(index, "private-tool"))
	if err != nil {
		t.Fatal(err, problem.From(err, "")[0].Detail())
	}
	if got := result.Lock.Canonical(); got != index.Lock {
		t.Errorf("got %q, want %q", got, index.Lock)
	}
}

// TestLocal_NetrcOfTheMachineIsNotRead: it has the right login, and the request has none.
func TestLocal_NetrcOfTheMachineIsNotRead(t *testing.T) {
	m, index := newMachine(t), enginetest.StartIndex(t)
	home := t.TempDir()
	netrc := filepath.Join(home, ".netrc")
	if err := os.WriteFile(netrc, []byte("machine localhost login "+index.Username+" password "+canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("NETRC", netrc)
	runner := m.runner()
	runner.Getenv = os.Getenv
	request := at(index, "private-tool")
	request.Index.Username, request.Index.Password = "", secret.Value{}
	_, err := runner.Resolve(t.Context(), request)
	failed(t, err, "Package index refused uv")
}

// TestLocal_UVGetsThisAndNothingElse holds each layer of the isolation by itself: another one hides that it is gone.
func TestLocal_UVGetsThisAndNothingElse(t *testing.T) {
	m := newMachine(t)
	fake, told := filepath.Join(t.TempDir(), "uv"), filepath.Join(m.home, "told")
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = --version ] && { echo uv %s; exit; }\n{ pwd; printf '%%s\\n' \"$@\"; env; } >%s\nexit 1\n", resolve.UVVersion, told)
	if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("UV_OFFLINE", "1")
	t.Setenv("PIP_NO_INDEX", "1")
	runner := m.runner()
	runner.Path = fake
	request := requestOf("six")
	request.Index = &buildkit.PackageIndex{URL: &url.URL{Scheme: "https", Host: "index.example.com", Path: "/simple/"}, Username: "reader", Password: secret.New("cnry-other")}
	_, err := runner.Resolve(t.Context(), request)
	failed(t, err, "uv could not resolve the requirements")
	content, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	folder, rest, _ := strings.Cut(string(content), "\n")
	want := []string{
		"pip", "compile", "requirements", "--output-file", "lock.txt", "--generate-hashes", "--no-header", "--no-annotate", "--no-config", "--no-python-downloads", "--python", "cpython",
		"--keyring-provider", "disabled", "--color", "never", "--python-version", "3.13", "--python-platform", "x86_64-manylinux_2_28", "--only-binary", ":all:",
		"--default-index", "datalayer=https://index.example.com/simple/",
		"HOME=" + folder, "NETRC=/dev/null", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + folder, "UV_CACHE_DIR=" + filepath.Join(m.home, ".cache/uv"),
		"UV_INDEX_DATALAYER_PASSWORD=cnry-other", "UV_INDEX_DATALAYER_USERNAME=reader", "UV_NATIVE_TLS=true", "UV_NO_PROGRESS=1", "UV_PYTHON_INSTALL_DIR=" + filepath.Join(m.home, ".local/share/uv/python"),
		"UV_SYSTEM_CERTS=true", "XDG_CONFIG_DIRS=" + folder, "XDG_CONFIG_HOME=" + folder, "XDG_DATA_HOME=" + folder,
	}
	got := strings.Split(strings.TrimSpace(rest), "\n")
	got = slices.DeleteFunc(got, func(line string) bool {
		return strings.HasPrefix(line, "PWD=") || strings.HasPrefix(line, "OLDPWD=") || strings.HasPrefix(line, "_=") || strings.HasPrefix(line, "SHLVL=")
	}) // The shell's own.
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("uv gets %q, want %q", got, want)
	}
}

// TestLocal_UpgradeAsksTheIndexAnew: uv's cache answers for an index that it asked a moment ago.
func TestLocal_UpgradeAsksTheIndexAnew(t *testing.T) {
	m, index := newMachine(t), enginetest.StartIndex(t)
	index.StaysFresh()
	index.Add(t, "tool", "1.0", "py3-none-any")
	request := at(index, "tool")
	for _, step := range []struct {
		upgrade bool
		want    string
	}{{false, "1.0"}, {false, "1.0"}, {true, "2.0"}} {
		request.Upgrade = step.upgrade
		packages, _, err := m.resolve(t, request).Lock.Packages(nil)
		if err != nil || packages["tool"] != step.want {
			t.Errorf("with upgrade %t: %v, %v, want %s", step.upgrade, packages, err, step.want)
		}
		index.Add(t, "tool", "2.0", "py3-none-any")
	}
}

// TestLocal_PriorOfSeveralTargets: of an imported lock for several Pythons, the target's version is kept.
func TestLocal_PriorOfSeveralTargets(t *testing.T) {
	m, index := newMachine(t), enginetest.StartIndex(t)
	var prior strings.Builder
	for version, marker := range map[string]string{"1.0": "python_full_version < '3.13'", "2.0": "python_full_version >= '3.13'"} {
		prior.WriteString("tool==" + version + " ; " + marker + " --hash=sha256:" + index.Add(t, "tool", version, "py3-none-any") + "\n")
	}
	index.Add(t, "tool", "3.0", "py3-none-any")
	request := at(index, "tool")
	request.Prior = parsedLock(t, prior.String())
	for python, want := range map[string]string{"3.12": "1.0", "3.13": "2.0"} {
		request.Python = python
		if packages, _, err := m.resolve(t, request).Lock.Packages(nil); err != nil || packages["tool"] != want {
			t.Errorf("for Python %s: %v, %v, want %s", python, packages, err, want)
		}
	}
}

// TestLocal_WheelsOfOtherTargets is case C36: a package without a file for the target is an error when the lock is made, and the
// target decides what is locked, wherever uv runs.
func TestLocal_WheelsOfOtherTargets(t *testing.T) {
	m, index := newMachine(t), enginetest.StartIndex(t)
	index.Add(t, "plat", "1.0", "cp313-cp313-macosx_11_0_arm64")
	index.Add(t, "lin", "1.0", "cp313-cp313-manylinux_2_17_x86_64")
	index.Add(t, "old", "1.0", "cp311-cp311-manylinux_2_17_x86_64")
	index.Add(t, "new-glibc", "1.0", "cp313-cp313-manylinux_2_36_x86_64")
	for _, name := range []string{"plat", "old", "new-glibc"} {
		m.fails(t, at(index, name), "Package has no wheel for the target", name+"==1.0", "Python 3.13 on x86_64-manylinux_2_28", "only_binary = false", "as root in the build", "the build backend", "a compiler")
	}
	for name, tt := range map[string]struct{ python, platform string }{
		"old": {"3.11", "x86_64-manylinux_2_28"}, "new-glibc": {"3.13", "x86_64-manylinux_2_36"}, "lin": {"3.13", "x86_64-manylinux_2_17"},
	} {
		request := at(index, name, "appnope ; sys_platform == 'darwin'")
		request.Python, request.Platform = tt.python, tt.platform
		if got := m.resolve(t, request).Lock.Canonical(); !strings.HasPrefix(got, name+"==1.0 --hash=sha256:") || strings.Contains(got, "appnope") {
			t.Errorf("%s: got %s", name, got)
		}
	}
	// One version has a wheel, and a constraint rules it out.
	index.Add(t, "old", "2.0", "cp313-cp313-manylinux_2_17_x86_64")
	bounded := at(index, "old")
	bounded.Constraints = []string{"old<2"}
	m.fails(t, bounded, "Package has no wheel for the target", "requirements, constraints and the kernel stack of base", "loosen what bounds that package, or another that needs it")

	elsewhere := at(index, "lin")
	elsewhere.Platform = "aarch64-manylinux_2_28"
	m.fails(t, elsewhere, "Package has no wheel for the target", "lin==1.0", "aarch64-manylinux_2_28")
	m.fails(t, at(index, "appnope ; sys_platform == 'darwin'"), "Resolution without a package")
}

func TestLocal_Failures(t *testing.T) {
	m, index := newMachine(t), enginetest.StartIndex(t)
	m.fails(t, at(index, "private-tool<1", "private-tool>1"), "Requirements cannot be resolved", "Because", "private-tool<1", "Python 3.13 on x86_64-manylinux_2_28")
	m.fails(t, at(index, "no-such-thing"), "Requirements cannot be resolved", "no-such-thing was not found", "index.url", "Asked: "+index.URL)

	wrong := at(index, "private-tool")
	wrong.Index.Password = secret.New("cnry-wrong")
	m.fails(t, wrong, "Package index refused uv", "index.password_wo", index.URL)
	wrong.Index.Username, wrong.Index.Password = "", secret.Value{}
	m.fails(t, wrong, "Package index refused uv")

	// A requirement by URL is not the index's fault.
	nobody := "https://localhost:1/app-1.0-py3-none-any.whl"
	m.fails(t, at(index, "private-tool", "app @ "+nobody), "File of a URL requirement could not be fetched", nobody, "is on localhost:1, and no index is asked")
	absent := strings.Replace(index.URL, "/simple/", "/files/app-1.0-py3-none-any.whl", 1)
	m.fails(t, at(index, "app @ "+absent), "File of a URL requirement could not be fetched", absent, "404 Not Found")

	untrusted := at(index, "private-tool")
	untrusted.Index.CACertificates = []byte(enginetest.NewCA(t).PEM)
	m.fails(t, untrusted, "Certificate of the package index is not trusted by uv", "index.ca_certificates")

	noSuch := m.runner()
	noSuch.Path = "/nowhere/uv"
	_, err := noSuch.Resolve(t.Context(), requestOf("six"))
	failed(t, err, "uv is not at uv_path", "/nowhere/uv")

	other := m.runner()
	other.Version = "0.1.2"
	_, err = other.Resolve(t.Context(), requestOf("six"))
	failed(t, err, "uv has another version", "0.1.2", resolve.UVVersion)

	other.Path, err = exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	_, err = other.Resolve(t.Context(), requestOf("six"))
	failed(t, err, "uv does not start", "it calls itself \"true")

	bare := m.runner()
	bare.Getenv = func(string) string { return "" }
	_, err = bare.Resolve(t.Context(), at(index, "private-tool"))
	failed(t, err, "uv found no Python to run with", "python3")

	// A shim of a version manager without a version ends like this.
	broken := m.runner()
	shims := filepath.Join(t.TempDir(), "alice")
	if err := errors.Join(os.Mkdir(shims, 0o755), os.WriteFile(filepath.Join(shims, "python3"), []byte("#!/bin/sh\necho $0: no version >&2\nexit 127\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	broken.Getenv = func(name string) string { return map[string]string{"PATH": shims}[name] }
	_, err = broken.Resolve(t.Context(), at(index, "private-tool"))
	failed(t, err, "uv found no Python to run with", "`python3`", "python3: no version", "starts")
	if text := problem.From(err, "")[0].Detail(); strings.Contains(text, "alice") {
		t.Errorf("the error shows a path: %s", text)
	}

	t.Setenv("PATH", "/nowhere")
	missing := m.runner()
	missing.Path = ""
	_, err = missing.Resolve(t.Context(), requestOf("six"))
	failed(t, err, "uv is not on this machine", "uv=="+resolve.UVVersion, "uv_path")
}

func TestLocal_HashesThatNoLockTakes(t *testing.T) {
	m, index := newMachine(t), enginetest.StartIndex(t)
	index.HashByMD5()
	m.fails(t, at(index, "private-tool"), "Package index gives hashes that no lock takes", index.URL, "private-tool=="+index.Version+" by md5", "#sha256=")
	_, err := m.runner().Resolve(t.Context(), at(index, "private-tool"))
	if found := problem.From(err, ""); len(found) != 1 || !slices.Equal(found[0].Path, []any{"index"}) {
		t.Errorf("the problems are %v", found)
	}
}

func TestLocal_NothingOutlivesACancel(t *testing.T) {
	m := newMachine(t)
	// A uv that answers for its version, and then waits with a child of its own.
	fake, pids := filepath.Join(t.TempDir(), "uv"), filepath.Join(m.home, "pids")
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = --version ] && { echo uv %s; exit; }\nsleep 600 &\necho $$ $! >%s.new; mv %s.new %s; wait\n", resolve.UVVersion, pids, pids, pids)
	if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	runner := m.runner()
	runner.Path = fake
	ended := make(chan error)
	go func() {
		_, err := runner.Resolve(ctx, requestOf("six"))
		ended <- err
	}()
	processes := waitForFile(t, pids)
	cancel(context.Canceled)
	err := <-ended
	failed(t, err, "Resolution was stopped", "No lock was made.")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error does not say that it was cancelled: %v", err)
	}
	for _, pid := range strings.Fields(processes) {
		if state, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(state), ") Z ") {
			t.Errorf("process %s is left: %s", pid, state)
		}
	}
}

func waitForFile(t *testing.T, path string) string {
	t.Helper()
	for range time.Tick(10 * time.Millisecond) {
		if content, err := os.ReadFile(path); err == nil {
			return string(content)
		}
		if t.Context().Err() != nil {
			break
		}
	}
	t.Fatal("the program did not start")
	return ""
}

func TestPlatforms_AreThoseOfUV(t *testing.T) {
	help, err := exec.CommandContext(t.Context(), enginetest.UV(t), "pip", "compile", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	said := strings.FieldsFunc(string(help), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == ']' })
	for _, name := range resolve.Platforms {
		if !slices.Contains(said, name) {
			t.Errorf("uv has no platform %s", name)
		}
	}
	for _, name := range said {
		if strings.Contains(name, "manylinux") && !slices.Contains(resolve.Platforms, name) {
			t.Errorf("%s is missing", name)
		}
	}
}

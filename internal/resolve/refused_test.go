package resolve

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// A version may hold the number of a status.
func TestExplain_NumbersOfAVersionAreNoStatus(t *testing.T) {
	for said, title := range map[string]string{
		"error: No solution found when resolving dependencies\n  Because only tool==1.1401403 is available and you require tool<1": "Requirements cannot be resolved",
		"error: Failed to fetch: `https://h.example/simple/tool/`\n  HTTP status client error (401 Unauthorized)":                  "Package index refused uv",
		"error: No solution found when resolving dependencies\n  hint: lack of valid authentication credentials (403 Forbidden)":   "Package index refused uv",
	} {
		err := explain(t.Context(), Request{}, strings.Split(said, "\n"), errors.New("exit status 1"))
		if got := problem.From(err, "")[0].Title; got != title {
			t.Errorf("%q is explained by %q, want %q", said, got, title)
		}
	}
}

// A login goes to one host, and nothing may say that it reads the others.
func TestExplain_LoginIsForTheFirstIndex(t *testing.T) {
	first, further := &url.URL{Scheme: "https", Host: "own.example", Path: "/simple/"}, &url.URL{Scheme: "https", Host: "other.example", Path: "/simple/"}
	request := Request{Index: &buildkit.PackageIndex{URL: first, Username: "ci"}, ExtraIndexes: []*url.URL{further}}
	err := explain(t.Context(), request, []string{"error: Failed to fetch: `https://own.example/simple/tool/`", "  HTTP status client error (401 Unauthorized)"}, errors.New("exit status 1"))
	const want = "that the login may read https://own.example/simple/. It goes to that host alone: elsewhere index.extra_urls (https://other.example/simple/) must answer without one."
	if got := problem.From(err, "")[0].Advice; !strings.HasSuffix(got, want) {
		t.Errorf("the advice is %q, want %q at its end", got, want)
	}
}

// pip tells nobody that an index refused its login.
func TestExplain_InstallOfUVSpeaksOfTheLogin(t *testing.T) {
	address := &url.URL{Scheme: "https", Host: "own.example", Path: "/simple/"}
	for _, tt := range []struct{ username, want string }{{"ci", "A login that is refused looks the same: check index.username and index.password_wo."}, {"", "An index that asks for a login answers pip in the same way: give index.username and index.password_wo."}} {
		failed := &remote{request: Request{Index: &buildkit.PackageIndex{URL: address, Username: tt.username}}}
		err := failed.explain(t.Context(), &buildkit.StepFailed{Step: stepInstall, Err: errors.New("exit code: 1"), Lines: []string{"ERROR: No matching distribution found for uv"}})
		p := problem.From(err, "")[0]
		if p.Title != "uv could not be installed on the base" || !strings.HasSuffix(p.Advice, tt.want) {
			t.Errorf("the login of %q gives %q / %q, want %q at its end", tt.username, p.Title, p.Advice, tt.want)
		}
	}
}

// What uv wrote is in no file that a person sees.
func TestParse_SpeaksOfUVAndNotOfALock(t *testing.T) {
	_, err := Request{}.parse("six>=1\n")
	found := problem.From(err, "")
	if len(found) != 1 || found[0].Title != "uv wrote a lock that cannot be read" || found[0].Path[0] != "requirements" || !strings.Contains(found[0].Detail(), "six") {
		t.Errorf("the problems are %v", found)
	}
}

func TestWeakHashesAreNamedOncePerPackage(t *testing.T) {
	const text = "six==1.17.0 ; python_version < '4' \\\n    --hash=md5:11 \\\n    --hash=md5:22\nidna==3.10 \\\n    --hash=sha256:33\nfoo==1.0 \\\n    --hash=sha256:44 \\\n    --hash=sha1:55\n"
	if got, want := strings.Join(weakHashes(text), ", "), "six==1.17.0 by md5, foo==1.0 by sha1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFoldersAreLeftOutOfPathsAlone(t *testing.T) {
	runner := Local{Getenv: func(name string) string {
		return map[string]string{"HOME": "/home/alice", "PATH": "/usr/bin:/opt/caf\xe9/bin:/home/alice/.pyenv/shims:relative:/"}[name]
	}}
	for text, want := range map[string]string{
		"at `/usr/bin/python3`": "at `python3`", "/home/alice/.pyenv/shims/python3: 3": "python3: 3", "(/home/alice/x)": "(x)",
		"https://index.example.com/usr/bin/simple": "https://index.example.com/usr/bin/simple", "https://h:80/home/alice/x": "https://h:80/home/alice/x", "/home/alicen/x": "/home/alicen/x",
	} {
		if got := runner.folders()(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

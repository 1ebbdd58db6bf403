package reference

import (
	"errors"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParseReadsEachPart(t *testing.T) {
	tests := map[string]Reference{
		"ghcr.io/team/env":              {Repository: Repository{"ghcr.io", "team/env"}},
		"ghcr.io/team/env:v1":           {Repository: Repository{"ghcr.io", "team/env"}, Tag: "v1"},
		"ghcr.io/team/env@" + digest:    {Repository: Repository{"ghcr.io", "team/env"}, Digest: digest},
		"ghcr.io/env:v1@" + digest:      {Repository: Repository{"ghcr.io", "env"}, Tag: "v1", Digest: digest},
		"localhost:6000/team/env":       {Repository: Repository{"localhost:6000", "team/env"}},
		"localhost:6000/env:Latest":     {Repository: Repository{"localhost:6000", "env"}, Tag: "Latest"},
		"localhost/env":                 {Repository: Repository{"localhost", "env"}},
		"[::1]:5000/env":                {Repository: Repository{"[::1]:5000", "env"}},
		"r.example.com/a--b":            {Repository: Repository{"r.example.com", "a--b"}},
		"r.example.com/a":               {Repository: Repository{"r.example.com", "a"}},
		"docker.io/python:3.13":         {Repository: Repository{"docker.io", "library/python"}, Tag: "3.13"},
		"docker.io/library/python":      {Repository: Repository{"docker.io", "library/python"}},
		"index.docker.io/team/env":      {Repository: Repository{"docker.io", "team/env"}},
		"ghcr.io/ghcr/env":              {Repository: Repository{"ghcr.io", "ghcr/env"}},
		"r.example.com/" + long(255-14): {Repository: Repository{"r.example.com", long(255 - 14)}},
	}
	for text, want := range tests {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	tests := map[string]struct{ text, title, words string }{
		"empty":                 {"", "Empty image reference", "host/path"},
		"leading blank":         {" ghcr.io/team/env", "White space in an image reference", "Remove"},
		"line end":              {"ghcr.io/team/env\n", "White space in an image reference", "Remove"},
		"scheme":                {"https://ghcr.io/team/env", "Image reference with a scheme", `Drop the scheme: write "ghcr.io/team/env"`},
		"no host, digest":       {"python@" + digest, "Image reference without a registry host", "docker.io/library/python@sha256:"},
		"no host, tag":          {"python:3.13", "Image reference without a registry host", "docker.io/library/python:3.13"},
		"no host, bare name":    {"base", "Image reference without a registry host", `with its registry and namespace, as in "registry.example.com/team/base"`},
		"no host, path":         {"team/env:v1", "Image reference without a registry host", "docker.io/team/env:v1"},
		"host only":             {"ghcr.io", "Image reference without a registry host", "add the path"},
		"host and port only":    {"localhost:5000", "Image reference without a registry host", "add the path"},
		"upper case":            {"ghcr.io/Team/Env", "Upper-case letters in a repository name", `"TE"`},
		"doubled host":          {"ghcr.io/ghcr.io/env", "Registry host given twice", `"ghcr.io"`},
		"doubled host, port":    {"localhost:5000/localhost:5000/env", "Registry host given twice", `"localhost:5000"`},
		"doubled host, no port": {"r.example.com:5000/r.example.com/env", "Registry host given twice", `"r.example.com"`},
		"doubled host, case":    {"r.example.com/R.example.com/env", "Registry host given twice", `"R.example.com"`},
		"doubled hub alias":     {"index.docker.io/docker.io/env", "Registry host given twice", `"docker.io"`},
		"too long":              {"r.example.com/" + long(256-14), "Repository name too long", "255"},
		"mangled digest":        {"ghcr.io/team/env:" + digest, "Mangled image digest", `"@"`},
		"mangled digest, tag":   {"ghcr.io/team/env:v1:" + digest, "Mangled image digest", `"@"`},
		"short digest":          {"ghcr.io/env@sha256:0123", "Image digest not understood", `"sha256:0123"`},
		"upper-case digest":     {"ghcr.io/env@" + strings.ToUpper(digest), "Image digest not understood", "lower-case"},
		"sha512":                {"ghcr.io/env@sha512:" + strings.Repeat("0", 128), "Image digest not understood", "sha256"},
		"two digests":           {"ghcr.io/env@" + digest + "@" + digest, "Image digest not understood", "64"},
		"empty digest":          {"ghcr.io/env@", "Image digest not understood", `""`},
		"empty tag":             {"ghcr.io/env:", "Image tag not understood", `""`},
		"bad tag":               {"ghcr.io/env:-x", "Image tag not understood", `"-x"`},
		"long tag":              {"ghcr.io/env:" + strings.Repeat("t", 129), "Image tag not understood", "128"},
		"empty component":       {"ghcr.io/team//env", "Image reference not understood", "components"},
		"trailing slash":        {"ghcr.io/team/", "Image reference not understood", "components"},
		"dot dot":               {"ghcr.io/../env", "Image reference not understood", "components"},
		"port out of range":     {"localhost:70000/env", "Registry port out of range", "65535"},
		"port zero":             {"localhost:0/env", "Registry port out of range", "65535"},
		"host that is no host":  {"./env", "Image reference not understood", "components"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tt.text)
			p := asProblem(t, err)
			if p.Title != tt.title || !strings.Contains(p.Detail(), tt.words) {
				t.Errorf("got %q / %q, want %q and %q", p.Title, p.Detail(), tt.title, tt.words)
			}
			if got != (Reference{}) || len(p.Path) != 0 {
				t.Errorf("got %+v and path %v with the error", got, p.Path)
			}
			if tt.text != "" && !strings.Contains(p.Detail(), strings.TrimSpace(tt.text)) {
				t.Errorf("%q does not show the value", p.Detail())
			}
		})
	}
}

func TestParse_ShowsNoLogin(t *testing.T) {
	for text, want := range map[string][2]string{
		"https://user:cnry@r.example.com/team/env":                      {"Image reference with a user name", `"https://…@r.example.com/team/env"`},
		"https://user:cnry@r.example.com/team/env:v1":                   {"Image reference with a user name", "r.example.com"},
		"user:cnry@r.example.com/team/env@" + digest:                    {"Image reference with a user name", `"…@r.example.com/team/env"`},
		"user:cnry@r.example.com:5000/team/env":                         {"Image reference with a user name", "r.example.com:5000"},
		"user:cn/ry@r.example.com/team/env":                             {"Image reference with a user name", "r.example.com"},
		"user:cn@ry@r.example.com/team/env":                             {"Image reference with a user name", "r.example.com"},
		"user:cnry@https://r.example.com/team/env":                      {"Image reference with a user name", "r.example.com"},
		"https://user:cn ry@r.example.com/team/env\n":                   {"Image reference with a user name", "r.example.com"},
		"r.example.com/user:cnry@r.example.com/env":                     {"Image reference with a user name", "r.example.com/env"},
		"user:cnry@registry":                                            {"Image reference with a user name", `comes "sha256:"`},
		"user:cnry@localhost:5000":                                      {"Image reference with a user name", "localhost:5000"},
		"https://user:cn/ry@r.example.com":                              {"Image digest not understood", `found "r.example.com"`},
		"r.example.com/team/env@latest":                                 {"Image digest not understood", `"r.example.com/team/env@latest"`},
		"localhost:5000/team/env:v1@latest":                             {"Image digest not understood", `"localhost:5000/team/env:v1@latest"`},
		"python@3.12":                                                   {"Image digest not understood", `found "3.12"`},
		"cnry@r.example.com":                                            {"Image digest not understood", `"…@r.example.com"`},
		"https://r.example.com/team/env?token=cnry":                     {"Image reference with a query", `"https://r.example.com/team/env?…"`},
		"r.example.com/team/env:v1#cnry":                                {"Image reference with a query", "r.example.com/team/env:v1#…"},
		"https://user:cn?ry@r.example.com/team/env":                     {"Image reference with a query", "https://…"},
		"https://user:cnry@r.example.com/team/env?token=cnry@" + digest: {"Image reference with a query", "https://…"},
	} {
		_, err := Parse(text)
		p := asProblem(t, err)
		if p.Title != want[0] || !strings.Contains(p.Detail(), want[1]) || strings.Contains(p.Error()+p.Detail(), "cn") || strings.Contains(p.Error()+p.Detail(), "user:") {
			t.Errorf("%s: got %q / %q, want %q and %q", text, p.Title, p.Detail(), want[0], want[1])
		}
	}
}

func TestParseRepositoryNamesWhatToRemove(t *testing.T) {
	if got, err := ParseRepository("localhost:5000/team/env"); err != nil || got != (Repository{"localhost:5000", "team/env"}) {
		t.Errorf("got %v, %v", got, err)
	}
	for text, extra := range map[string]string{
		"localhost:5000/team/env:v1":           `remove ":v1"`,
		"localhost:5000/team/env@" + digest:    `remove "@` + digest + `"`,
		"localhost:5000/team/env:v1@" + digest: `remove ":v1@` + digest + `"`,
		"docker.io/python:3":                   `remove ":3"`,
	} {
		_, err := ParseRepository(text)
		if p := asProblem(t, err); p.Title != "Repository with a tag or digest" || !strings.Contains(p.Advice, extra) {
			t.Errorf("ParseRepository(%q): %s: %s", text, p.Title, p.Advice)
		}
	}
	if _, err := ParseRepository("team/env"); err == nil {
		t.Error("a repository without a host was accepted")
	}
}

func TestParsePinnedWantsADigest(t *testing.T) {
	got, err := ParsePinned("ghcr.io/team/env:v1@" + digest)
	if err != nil || got.Digest != digest || got.Tag != "v1" {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = ParsePinned("ghcr.io/team/env:v1")
	p := asProblem(t, err)
	for _, words := range []string{"ghcr.io/team/env@sha256:…", "imagetools inspect ghcr.io/team/env:v1", "A tag moves"} {
		if !strings.Contains(p.Advice, words) {
			t.Errorf("%q does not say %q", p.Advice, words)
		}
	}
	_, err = ParsePinned("localhost:5000/env")
	if p := asProblem(t, err); !strings.Contains(p.Advice, "localhost:5000/env:TAG") {
		t.Errorf("the port was taken for a tag: %q", p.Advice)
	}
}

func TestWithDigestAndTagReplaceBoth(t *testing.T) {
	r := Repository{"localhost:5000", "env"}
	if got := r.WithTag("v1").WithDigest(digest).String(); got != "localhost:5000/env@"+digest {
		t.Error(got)
	}
	if got := r.WithTag("v1").String(); got != "localhost:5000/env:v1" {
		t.Error(got)
	}
	if got := (Repository{}).String(); got != "" {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"ghcr.io/team/env:v1@" + digest, "localhost:5000/env", "docker.io/python", "index.docker.io/docker.io/x",
		"[::1]:5000/a__b", "python:3", "h./x", "a.b/c:d:e",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := Parse(text)
		if err != nil {
			_ = asProblem(t, err)
			return
		}
		again, err := Parse(ref.String())
		if err != nil || again != ref {
			t.Errorf("Parse(%q) = %+v, whose text %q gives %+v, %v", text, ref, ref.String(), again, err)
		}
	})
}

func asProblem(t *testing.T, err error) *problem.Problem {
	t.Helper()
	var p *problem.Problem
	if !errors.As(err, &p) {
		t.Fatalf("got %v, want a problem", err)
	}
	return p
}

func long(n int) string { return strings.Repeat("a", n) }

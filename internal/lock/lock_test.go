package lock

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

var update = flag.Bool("update", false, "rewrite the canonical forms in testdata")

var (
	hashA   = "--hash=sha256:" + strings.Repeat("a", 64)
	hashB   = "--hash=sha256:" + strings.Repeat("b", 64)
	hash384 = "--hash=sha384:" + strings.Repeat("c", 96)
	hash512 = "--hash=sha512:" + strings.Repeat("d", 128)
)

func mustParse(t *testing.T, text string) *Lock {
	t.Helper()
	l, err := Parse(text)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return l
}

func parseProblems(t *testing.T, text string) problem.List {
	t.Helper()
	l, err := Parse(text)
	if err == nil {
		t.Fatalf("Parse(%q) gives %q; want an error", text, l.Canonical())
	}
	var list problem.List
	if !errors.As(err, &list) || len(list) == 0 {
		t.Fatalf("Parse(%q) gives a %T, not a problem.List", text, err)
	}
	return list
}

func TestCanonicalFormsOfCompiledLocks(t *testing.T) {
	for _, name := range []string{"uv", "uv-universal", "pip-compile"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			got := mustParse(t, string(text)).Canonical()
			golden := filepath.Join("testdata", name+".canonical.txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("canonical form (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCanonicalFormOfOneRequirement(t *testing.T) {
	long := "\\\n    " + hashA
	for name, test := range map[string]struct{ text, want string }{
		"as compiled":                   {"attrs==23.1.0 " + long, "attrs==23.1.0 " + hashA},
		"name is normalized":            {"Zope._Interface==6.0 " + hashA, "zope-interface==6.0 " + hashA},
		"blanks vanish":                 {"  attrs  ==\t23.1.0   " + hashA + "  ", "attrs==23.1.0 " + hashA},
		"version is normalized":         {"attrs==v1.0.0-RC.1 " + hashA, "attrs==1.0.0rc1 " + hashA},
		"local version is kept":         {"jupyter-server==2.21.0+Datalayer-01 " + hashA, "jupyter-server==2.21.0+datalayer.1 " + hashA},
		"epoch is kept":                 {"attrs==1!2.0 " + hashA, "attrs==1!2.0 " + hashA},
		"hashes are sorted and unique":  {"attrs==1 " + hashB + " " + hashA + " " + hashB, "attrs==1 " + hashA + " " + hashB},
		"upper-case hex is folded":      {"attrs==1 " + "--hash=sha256:" + strings.Repeat("A", 64), "attrs==1 " + hashA},
		"sha384 and sha512":             {"attrs==1 " + hash512 + " " + hash384, "attrs==1 " + hash384 + " " + hash512},
		"hash after a blank":            {"attrs==1 --hash sha256:" + strings.Repeat("a", 64), "attrs==1 " + hashA},
		"extras are sorted":             {"attrs[Tests_x, dev,dev]==1 " + hashA, "attrs[dev,tests-x]==1 " + hashA},
		"empty extras":                  {"attrs[]==1 " + hashA, "attrs==1 " + hashA},
		"marker spelling":               {`attrs==1;python_version<"3.13"and(os.name=="posix") ` + hashA, "attrs==1 ; python_version < '3.13' and os_name == 'posix' " + hashA},
		"C33 extras and marker":         {`attrs[tests]==23.1.0 ; python_version < "3.13" ` + hashA, "attrs[tests]==23.1.0 ; python_version < '3.13' " + hashA},
		"comment after a requirement":   {"attrs==1 " + hashA + " # via app \\\n# x", "attrs==1 " + hashA},
		"C16 C backslash then comment":  {"six==1.16.0 \\\n    " + hashA + " \\\n    # via app\n", "six==1.16.0 " + hashA},
		"backslash then blank line":     {"six==1.16.0 " + hashA + " \\\n\n", "six==1.16.0 " + hashA},
		"backslash at the end":          {"six==1.16.0 " + hashA + " \\", "six==1.16.0 " + hashA},
		"byte order mark and CRLF":      {"\ufeffattrs==1 \\\r\n    " + hashA + "\r\n", "attrs==1 " + hashA},
		"CRLF whose LF a shell cut":     {"attrs==1 \\\r\n    " + hashA + "\r", "attrs==1 " + hashA},
		"text of any script in comment": {"# é 日本\nattrs==1 " + hashA, "attrs==1 " + hashA},
		"variable in a comment":         {"# ${HOME}\nattrs==1 " + hashA, "attrs==1 " + hashA},
		"wheel URL": {
			"attrs @ HTTPS://files.example/p/attrs-23.1.0-py3-none-any.whl " + hashA,
			"attrs @ https://files.example/p/attrs-23.1.0-py3-none-any.whl " + hashA,
		},
		"URL with its hash": {
			"attrs@https://files.example/attrs-23.1.0.tar.gz#sha256=" + strings.Repeat("A", 64) + " ; os_name == 'posix' " + hashA,
			"attrs @ https://files.example/attrs-23.1.0.tar.gz ; os_name == 'posix' " + hashA,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := mustParse(t, test.text)
			if got := l.Canonical(); got != test.want+"\n" {
				t.Errorf("canonical form of %q:\n got %q\nwant %q", test.text, got, test.want+"\n")
			}
			again := mustParse(t, l.Canonical())
			if !Equal(l, again) || l.Digest() != again.Digest() {
				t.Errorf("the canonical form parses to %q", again.Canonical())
			}
		})
	}
}

func TestDigestIsThatOfTheCanonicalForm(t *testing.T) {
	l := mustParse(t, "attrs==1 "+hashA)
	const want = "sha256:39642a17974faf8091631f8a0bacf2ba03c0a6ebc7f261e67007c7cb2c66b7ab"
	if got := l.Digest(); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestEqualIgnoresWhatDoesNotAlterContent(t *testing.T) {
	plain := mustParse(t, "attrs==1 "+hashA+" "+hashB+"\nsix==2 "+hashA+"\n")
	for name, test := range map[string]struct {
		text  string
		equal bool
	}{
		"comments":        {"# head\nattrs==1 " + hashA + " " + hashB + " # x\nsix==2 " + hashA, true},
		"order":           {"six==2 " + hashA + "\nattrs==1 " + hashB + " " + hashA, true},
		"CRLF":            {"attrs==1 " + hashA + " " + hashB + "\r\nsix==2 " + hashA + "\r\n", true},
		"one hash less":   {"attrs==1 " + hashA + "\nsix==2 " + hashA, false},
		"another version": {"attrs==1 " + hashA + " " + hashB + "\nsix==3 " + hashA, false},
		"a marker":        {"attrs==1 " + hashA + " " + hashB + "\nsix==2 ; os_name == 'posix' " + hashA, false},
	} {
		t.Run(name, func(t *testing.T) {
			other := mustParse(t, test.text)
			if got := Equal(plain, other); got != test.equal {
				t.Errorf("Equal is %t, want %t", got, test.equal)
			}
			if same := plain.Digest() == other.Digest(); same != test.equal {
				t.Errorf("digests are the same: %t, want %t", same, test.equal)
			}
		})
	}
	if Equal(plain, nil) || !Equal(nil, nil) {
		t.Error("a missing lock equals only a missing lock")
	}
}

func TestRequirementsGiveEveryPart(t *testing.T) {
	l := mustParse(t, "# head\nsix @ https://files.example/six-1.16.0.zip "+hashB+"\nAttrs[dev]==1.0 ; os_name == \"posix\" \\\n  "+hash384+" \\\n  "+hashA+"\n")
	want := []Requirement{
		{Name: "attrs", Extras: []string{"dev"}, Version: "1.0", Marker: "os_name == 'posix'", Hashes: []string{hashA[7:], hash384[7:]}, Line: 3},
		{Name: "six", URL: "https://files.example/six-1.16.0.zip", Hashes: []string{hashB[7:]}, Line: 2},
	}
	if diff := cmp.Diff(want, l.Requirements(), cmpopts.IgnoreUnexported(Requirement{})); diff != "" {
		t.Errorf("requirements (-want +got):\n%s", diff)
	}
	l.Requirements()[0].Hashes[0] = "changed"
	if l.Requirements()[0].Hashes[0] != hashA[7:] {
		t.Error("a caller can change the lock")
	}
}

func TestTitlesAreUnique(t *testing.T) {
	title := regexp.MustCompile(`(?m)reason\{"([^"]+)"|Title:\s+"([^"]+)"`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, match := range title.FindAllStringSubmatch(string(text), -1) {
			titles = append(titles, match[1]+match[2])
		}
	}
	slices.Sort(titles)
	if len(titles) < 35 {
		t.Fatalf("found %d titles only", len(titles))
	}
	for i := 1; i < len(titles); i++ {
		if titles[i] == titles[i-1] {
			t.Errorf("two problems have the title %q", titles[i])
		}
	}
}

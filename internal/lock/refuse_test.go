package lock

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// summary is "title | object" of each problem.
func summary(t *testing.T, text string) []string {
	t.Helper()
	var lines []string
	for _, p := range parseProblems(t, text) {
		if diff := cmp.Diff([]any{"lock"}, p.Path); diff != "" {
			t.Errorf("path of %q (-want +got):\n%s", p.Title, diff)
		}
		if p.Cause == nil || p.Cause.Error() == "" || p.Advice == "" {
			t.Errorf("%q has no cause or no advice: %+v", p.Title, p)
		}
		lines = append(lines, p.Title+" | "+p.Object)
	}
	return lines
}

func TestRefusedLines(t *testing.T) {
	const sha = "0123456789012345678901234567890123456789"
	for name, test := range map[string]struct {
		line  string
		why   reason
		name  string
		cause string
	}{
		"nested file":                {"-r other.txt", nestedFile, "", "-r is"},
		"nested file glued":          {"-rother.txt", nestedFile, "", "-r is"},
		"nested file long":           {"--requirement=other.txt", nestedFile, "", "--requirement is"},
		"constraints":                {"-c other.txt", nestedFile, "", "-c is"},
		"editable":                   {"-e .", editable, "", "-e is"},
		"editable long":              {"--editable git+https://git.example/x", editable, "", "--editable is"},
		"index":                      {"--index-url https://pypi.example/simple", indexOption, "", "--index-url is"},
		"index short":                {"-i https://pypi.example/simple", indexOption, "", "-i is"},
		"extra index":                {"--extra-index-url https://${TOKEN}@x/simple", indexOption, "", "--extra-index-url is"},
		"find links":                 {"--find-links wheels", indexOption, "", "--find-links is"},
		"find links short":           {"-f wheels", indexOption, "", "-f is"},
		"no index":                   {"--no-index", indexOption, "", "--no-index is"},
		"trusted host":               {"--trusted-host x", indexOption, "", "--trusted-host is"},
		"pre":                        {"--pre", fileOption, "", "--pre is"},
		"no binary":                  {"--no-binary :all:", fileOption, "", "--no-binary is"},
		"only binary":                {"--only-binary=:all:", fileOption, "", "--only-binary is"},
		"require hashes":             {"--require-hashes", fileOption, "", "--require-hashes is"},
		"unknown option":             {"--frobnicate=1", unknownOption, "", "--frobnicate is"},
		"unknown short option":       {"-zx", unknownOption, "", "-z is"},
		"global option":              {"attrs==1 --global-option=x " + hashA, lineOption, "attrs", "--global-option is"},
		"config settings":            {"attrs==1 " + hashA + " --config-settings x=y", lineOption, "attrs", "--config-settings is"},
		"abbreviated hash":           {"attrs==1 --has=sha256:" + strings.Repeat("a", 64), lineOption, "attrs", "--has is"},
		"variable in a name":         {"${PKG}==1 " + hashA, unreadable, "", "does not begin with"},
		"variable in a version":      {"attrs==${V} " + hashA, environmentVar, "attrs", "not expanded"},
		"variable in a marker":       {"attrs==1 ; os_name == '${V}' " + hashA, environmentVar, "attrs", "not expanded"},
		"variable in a URL":          {"attrs @ https://${TOKEN}@x/attrs-1.zip " + hashA, environmentVar, "attrs", "not expanded"},
		"relative path":              {"./local_pkg", localPath, "", `"./local_pkg" is a path`},
		"parent path":                {"../local_pkg", localPath, "", "is a path"},
		"absolute path":              {"/srv/pkg", localPath, "", "is a path"},
		"home path":                  {"~/pkg", localPath, "", "is a path"},
		"bare directory":             {"dir/pkg", localPath, "", "is a path"},
		"bare wheel":                 {"attrs-1-py3-none-any.whl " + hashA, localPath, "", "is a path"},
		"Windows path":               {`C:\pkg`, localPath, "", "is a path"},
		"file URL":                   {"file:///srv/pkg", localPath, "", "is a path"},
		"file URL of a name":         {"attrs @ file:///srv/attrs-1.zip " + hashA, localPath, "attrs", "is a path"},
		"path of a name":             {"attrs @ ./attrs-1.zip " + hashA, localPath, "attrs", "is a path"},
		"VCS by branch":              {"mylib @ git+https://git.example/x.git@main", vcsBranch, "mylib", `"main" is not a fixed commit`},
		"VCS by default branch":      {"mylib @ git+ssh://git@git.example/x.git", vcsBranch, "mylib", "default branch is not a fixed commit"},
		"VCS by short commit":        {"mylib @ git+https://git.example/x.git@0123abc#egg=x", vcsBranch, "mylib", "not a fixed commit"},
		"VCS by commit":              {"mylib2 @ git+ssh://git@git.example/x.git@" + sha, vcsCommit, "mylib2", "hash-checking mode"},
		"VCS by commit with a hash":  {"mylib2 @ git+https://git.example/x.git@" + sha + " " + hashA, vcsCommit, "mylib2", "hash-checking mode"},
		"VCS without a name":         {"hg+https://hg.example/x@" + sha, vcsCommit, "", "hash-checking mode"},
		"URL without a name":         {"https://files.example/attrs-1.zip " + hashA, namelessURL, "", "URL"},
		"URL without a hash":         {"attrs @ https://files.example/attrs-1.zip", noHash, "attrs", "no --hash"},
		"URL over http":              {"attrs @ http://files.example/attrs-1.zip " + hashA, badURL, "attrs", `"http"`},
		"URL with a user":            {"attrs @ https://hunter2@files.example/attrs-1.zip " + hashA, badURL, "attrs", "user or password"},
		"URL with a query":           {"attrs @ https://files.example/attrs-1.zip?sig=hunter2 " + hashA, badURL, "attrs", "query"},
		"URL with another hash":      {"attrs @ https://files.example/attrs-1.zip#sha256=" + strings.Repeat("e", 64) + " " + hashA, badURL, "attrs", "not among"},
		"URL with a fragment":        {"attrs @ https://files.example/attrs-1.zip#egg=attrs " + hashA, badURL, "attrs", "fragment"},
		"URL without a host":         {"attrs @ https:///attrs-1.zip " + hashA, badURL, "attrs", "no host"},
		"URL with bad encoding":      {"attrs @ https://files.example/attrs-1%zz.zip " + hashA, badURL, "attrs", "percent-encoding"},
		"URL with a raw character":   {"attrs @ https://files.example/ä/attrs-1.zip " + hashA, badURL, "attrs", "percent-encoded"},
		"URL too long":               {"attrs @ https://files.example/" + strings.Repeat("x", maxURL) + ".zip " + hashA, badURL, "attrs", "at most 2048"},
		"URL missing":                {"attrs @ " + hashA, badURL, "attrs", "no URL"},
		"URL then text":              {"attrs @ https://files.example/attrs-1.zip x " + hashA, unreadable, "attrs", "not a marker"},
		"URL of another package":     {"whl @ https://files.example/w-1.0-py3-none-any.whl " + hashA, urlFile, "whl", `wheel of "w", not of whl`},
		"URL of a bad wheel":         {"w @ https://files.example/w-1.0.whl " + hashA, urlFile, "w", "not the name of a wheel"},
		"URL of an unknown version":  {"w @ https://files.example/archive/main.zip " + hashA, urlFile, "w", "does not begin with w-"},
		"URL of another kind":        {"w @ https://files.example/w-1.0.exe " + hashA, urlFile, "w", "neither a wheel"},
		"no version":                 {"attrs " + hashA, unpinned, "attrs", "no version"},
		"range":                      {"attrs>=1 " + hashA, rangeSpecifier, "attrs", `">=1"`},
		"compatible release":         {"attrs~=1.0 " + hashA, rangeSpecifier, "attrs", `"~=1.0"`},
		"wildcard":                   {"attrs==1.* " + hashA, wildcard, "attrs", `"==1.*"`},
		"arbitrary equality":         {"attrs===1.0 " + hashA, arbitrary, "attrs", `"===1.0"`},
		"two specifiers":             {"attrs==1,<2 " + hashA, twoSpecifiers, "attrs", `"==1,<2"`},
		"parentheses":                {"attrs (==1) " + hashA, unreadable, "attrs", `"(==1)"`},
		"not a version":              {"attrs==one " + hashA, badVersion, "attrs", `"one"`},
		"not a version, in Unicode":  {"attrs==1.0po\u017ft1 " + hashA, badVersion, "attrs", "not a version"},
		"missing version":            {"attrs== " + hashA, badVersion, "attrs", `""`},
		"two on one line":            {"attrs==1 six==2 " + hashA, unreadable, "attrs", "text after the version"},
		"single equals sign":         {"attrs=1 " + hashA, unreadable, "attrs", `"=1"`},
		"not a name":                 {"=1.0 " + hashA, unreadable, "", "does not begin"},
		"name that ends in a hyphen": {"attrs-==1 " + hashA, unreadable, "attrs", `"-==1"`},
		"open extras":                {"attrs[dev==1 " + hashA, badExtras, "attrs", `"[dev==1"`},
		"bad extras":                 {"attrs[dev,]==1 " + hashA, badExtras, "attrs", `"[dev,]==1"`},
		"no hash":                    {"attrs==1", noHash, "attrs", `"attrs==1"`},
		"md5":                        {"attrs==1 --hash=md5:" + strings.Repeat("a", 32), weakHash, "attrs", "md5"},
		"sha1":                       {"attrs==1 --hash=sha1:" + strings.Repeat("a", 40), weakHash, "attrs", "sha1"},
		"sha224":                     {"attrs==1 --hash=sha224:" + strings.Repeat("a", 56), weakHash, "attrs", "sha224"},
		"upper-case algorithm":       {"attrs==1 --hash=SHA256:" + strings.Repeat("a", 64), unknownHash, "attrs", `"SHA256"`},
		"short hash":                 {"attrs==1 --hash=sha256:" + strings.Repeat("a", 63), malformedHash, "attrs", "63 characters"},
		"long hash":                  {"attrs==1 --hash=sha256:" + strings.Repeat("a", 65), malformedHash, "attrs", "65 characters"},
		"hash with a letter":         {"attrs==1 --hash=sha256:" + strings.Repeat("g", 64), malformedHash, "attrs", "64 hex digits"},
		"hash without algorithm":     {"attrs==1 --hash=" + strings.Repeat("a", 64), malformedHash, "attrs", "not an algorithm"},
		"hash without value":         {"attrs==1 --hash", malformedHash, "attrs", "not an algorithm"},
		"requirement after hashes":   {"attrs==1 " + hashA + " \\\nsix==2", afterHashes, "attrs", `"six==2"`},
		"marker without an end":      {"attrs==1 ; os_name == 'posix " + hashA, badMarker, "attrs", "not closed"},
		"empty marker":               {"attrs==1 ; " + hashA, badMarker, "attrs", "comparison is missing"},
		"marker on extra":            {"attrs==1 ; extra == 'x' " + hashA, badMarker, "attrs", "`extra`"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "# head\n" + test.line + "\nzz==1 " + hashA + "\n"
			list := parseProblems(t, text)
			place := "line 2"
			if strings.Contains(test.line, "\nsix") {
				place = "line 3"
			}
			if test.name != "" {
				place += " (" + test.name + ")"
			}
			if diff := cmp.Diff([]string{test.why.title + " | " + place}, summary(t, text)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if !strings.Contains(list[0].Detail(), test.cause) {
				t.Errorf("the detail %q does not say %q", list[0].Detail(), test.cause)
			}
			for _, secret := range []string{"hunter2", "TOKEN"} {
				if strings.Contains(list.Error(), secret) {
					t.Errorf("%q shows what may be a credential", list.Error())
				}
			}
		})
	}
}

// The lines of case C16: a lost backslash, a blank after one, one before a comment, one at the end of the file.
func TestLostBackslashesAreAllReported(t *testing.T) {
	text := strings.Join([]string{
		"attrs==23.1.0",
		"    " + hashA,
		`idna==3.7 \ `,
		"    " + hashB,
		`six==1.16.0 \`,
		"    " + hashA + ` \`,
		"    # via app",
		`packaging==24.0 \`,
	}, "\n")
	want := []string{
		orphanHash.title + " | line 2 (attrs)",
		brokenLine.title + " | line 3 (idna)",
		noHash.title + " | line 8 (packaging)",
	}
	if diff := cmp.Diff(want, summary(t, text)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	for i, p := range parseProblems(t, text)[:2] {
		if !strings.Contains(p.Cause.Error(), "hash has no requirement") {
			t.Errorf("problem %d: %q does not say that the hash has no requirement", i, p.Cause)
		}
	}
}

func TestLostBackslashVariants(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"hash on the first line":       {hashA + "\nsix==1 " + hashA, []string{orphanHash.title + " | line 1"}},
		"lost between two hashes":      {"attrs==1 \\\n  " + hashA + "\n  " + hashB, []string{orphanHash.title + " | line 3 (attrs)"}},
		"comment between":              {"attrs==1 \\\n # x\n  " + hashA, []string{orphanHash.title + " | line 3 (attrs)"}},
		"backslash within a comment":   {"attrs==1 # x \\\n  " + hashA, []string{orphanHash.title + " | line 2 (attrs)"}},
		"backslash, blank and comment": {"attrs==1 \\ # x\n  " + hashA, []string{brokenLine.title + " | line 1 (attrs)"}},
		"blank after a later hash":     {"attrs==1 \\\n  " + hashA + " \\\t\n  " + hashB, []string{brokenLine.title + " | line 2 (attrs)"}},
		"hash below a refused line":    {"attrs==1 " + hashA + "\n-e .\n  " + hashB, []string{editable.title + " | line 2", orphanHash.title + " | line 3"}},
		"two unhashed":                 {"attrs==1\nsix==2\n", []string{noHash.title + " | line 1 (attrs)", noHash.title + " | line 2 (six)"}},
		"bad hash on its own line":     {"attrs==1 \\\n  " + hashA + " \\\n  --hash=sha256:00", []string{malformedHash.title + " | line 3 (attrs)"}},
		"CRLF counts as one line":      {"# x\r\n\r\nattrs==1\r\n", []string{noHash.title + " | line 3 (attrs)"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, summary(t, test.text)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// The lines of case C33, each with its verdict, all in one go.
func TestEveryOffendingLineIsReportedAtOnce(t *testing.T) {
	text := strings.Join([]string{
		"-e .",
		"mylib @ git+https://git.example/x.git@main",
		"mylib2 @ git+ssh://git@git.example/x.git@0123456789012345678901234567890123456789",
		"whl @ https://files.example/w-1.0-py3-none-any.whl",
		"./local_pkg",
		"-r other.txt",
		"--index-url https://pypi.example/simple",
		"--extra-index-url https://${TOKEN}@x/simple",
		"--trusted-host x",
		`attrs[tests]==23.1.0 ; python_version < "3.13" ` + hashA,
	}, "\n")
	want := []string{
		editable.title + " | line 1",
		vcsBranch.title + " | line 2 (mylib)",
		vcsCommit.title + " | line 3 (mylib2)",
		urlFile.title + " | line 4 (whl)",
		noHash.title + " | line 4 (whl)",
		localPath.title + " | line 5",
		nestedFile.title + " | line 6",
		indexOption.title + " | line 7",
		indexOption.title + " | line 8",
		indexOption.title + " | line 9",
	}
	if diff := cmp.Diff(want, summary(t, text)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestRefusedTexts(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":           {"", []string{empty.title + " | "}},
		"only comments":     {"# x\n\n  # y\n", []string{empty.title + " | "}},
		"only a backslash":  {"\\\n\\", []string{empty.title + " | "}},
		"too large":         {strings.Repeat("#", maxSize+1), []string{tooLarge.title + " | "}},
		"NUL":               {"attrs==1\x00 " + hashA, []string{control.title + " | line 1"}},
		"control bytes":     {"# a\x1b\nattrs==1 " + hashA + "\n# b\u2028", []string{control.title + " | line 1", control.title + " | line 3"}},
		"lone CR":           {"attrs==1 " + hashA + "\r# x", []string{control.title + " | line 1"}},
		"second mark":       {"\ufeff\ufeffattrs==1 " + hashA, []string{control.title + " | line 1"}},
		"invalid UTF-8":     {"# ok\nattrs==1\xff " + hashA, []string{notUTF8.title + " | line 2"}},
		"poetry.lock":       {"# x\n[[package]]\nname = \"a\"\n[metadata]\nlock-version = \"2.1\"\n", []string{notAList.title + " | line 2"}},
		"uv.lock":           {"version = 1\nrevision = 3\nrequires-python = \">=3.11\"\n", []string{notAList.title + " | line 1"}},
		"Pipfile.lock":      {"{\n  \"_meta\": {}\n}\n", []string{notAList.title + " | line 1"}},
		"duplicate":         {"A.b==1 " + hashA + "\na_B==1 " + hashA, []string{duplicate.title + " | line 2 (a-b)"}},
		"duplicate, marked": {"a==1 " + hashA + "\na==2 ; os_name == 'posix' " + hashA, []string{duplicate.title + " | line 2 (a)"}},
		"duplicate marker":  {"a==1;os_name=='posix' " + hashA + "\na==2 ; os_name == \"posix\" " + hashA, []string{duplicate.title + " | line 2 (a)"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, summary(t, test.text)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAdviceOnIndexesNamesWhatThisReleaseHas(t *testing.T) {
	for _, line := range []string{
		"--index-url https://pypi.example/simple", "--extra-index-url=https://pypi.example/simple", "-i https://pypi.example/simple", "--find-links wheels",
		"--no-index", "--trusted-host x", "attrs @ https://${TOKEN}@x/attrs-1.zip " + hashA,
	} {
		advice := parseProblems(t, "six==1 "+hashA+"\n"+line)[0].Advice
		if !strings.Contains(advice, "the base's pip configuration") || !strings.Contains(advice, "package_index") {
			t.Errorf("%q: the advice is %q", line, advice)
		}
	}
}

func TestTextOfTheGreatestSizeIsRead(t *testing.T) {
	line := "attrs==1 " + hashA + "\n#"
	mustParse(t, line+strings.Repeat("x", maxSize-len(line)))
}

func TestOffendingLinesAreCappedWithAWord(t *testing.T) {
	for bad, want := range map[int]string{
		maxShown:         "line 10 (p9): no --hash follows \"p9==1\"",
		maxShown + 1:     "line 11 and below: the first 10 problems are shown, and 1 more are not",
		maxFindings:      "line 11 and below: the first 10 problems are shown, and 190 more are not",
		maxFindings + 50: "line 11 and below: the first 10 problems are shown, and 190 more are not; the rest of the text was not read",
	} {
		var b strings.Builder
		for i := range bad {
			fmt.Fprintf(&b, "p%d==1\n", i)
		}
		list := parseProblems(t, b.String())
		if len(list) != min(bad, maxShown+1) {
			t.Fatalf("%d problems of %d are shown", len(list), bad)
		}
		if last := list[len(list)-1]; !strings.HasSuffix(last.Error(), ": "+want) {
			t.Errorf("of %d the last problem is %q, want %q", bad, last.Error(), want)
		}
	}
}

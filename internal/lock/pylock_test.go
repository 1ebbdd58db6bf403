package lock

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pylockHead = "lock-version = \"1.0\"\ncreated-by = \"test\"\n"

var (
	shaA = "{sha256 = '" + strings.Repeat("a", 64) + "'}"
	shaB = "{sha256 = '" + strings.Repeat("b", 64) + "'}"
)

// attrs is the text of a pylock.toml with one package, attrs 1, and more keys of it; the package begins on line 3.
func attrs(more string) string {
	return pylockHead + "[[packages]]\nname = 'attrs'\nversion = '1'\n" + more + "\n"
}

// wheeled is attrs with a wheel as its source.
func wheeled(more string) string {
	return attrs(more + "\nwheels = [{name = 'attrs-1-py3-none-any.whl', hashes = " + shaA + "}]")
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestExportedPylockIsTheLockOfTheExportedRequirements(t *testing.T) {
	want := mustParse(t, testdata(t, "pylock.requirements.txt"))
	got := mustParse(t, testdata(t, "pylock.toml"))
	if diff := cmp.Diff(want.Canonical(), got.Canonical()); diff != "" {
		t.Errorf("canonical form (-requirements +pylock):\n%s", diff)
	}
	if !Equal(want, got) || want.Digest() != got.Digest() {
		t.Errorf("digest %s, and that of the requirements is %s", got.Digest(), want.Digest())
	}
	if n := len(got.Requirements()); n != 5 {
		t.Errorf("%d requirements, want 5", n)
	}
	for _, target := range []Target{amd64, arm64, {Python: "3.11.9", Platform: "linux/arm64"}} {
		wanted, _, err := want.Packages([]Target{target})
		if err != nil {
			t.Fatal(err)
		}
		packages, known, err := got.Packages([]Target{target})
		if err != nil || !known {
			t.Fatalf("%s: known %t, error %v", target, known, err)
		}
		if diff := cmp.Diff(wanted, packages); diff != "" {
			t.Errorf("packages on %s (-requirements +pylock):\n%s", target, diff)
		}
	}
}

// A pylock.toml that was compiled for one platform has the files of that platform only.
func TestCompiledPylock(t *testing.T) {
	hashed := mustParse(t, testdata(t, "uv.txt"))
	l := mustParse(t, testdata(t, "pylock-compiled.toml"))
	var lines []string
	for _, r := range l.Requirements() {
		lines = append(lines, fmt.Sprintf("line %d: %s %s, %d hashes", r.Line, r.Name, r.Version, len(r.Hashes)))
	}
	want := []string{
		"line 7: numpy 2.5.5, 2 hashes",
		"line 13: pandas 3.1.1, 2 hashes",
		"line 19: python-dateutil 4.0.0, 2 hashes",
		"line 25: tzdata 2026.6, 2 hashes",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("requirements (-want +got):\n%s", diff)
	}
	for _, line := range strings.Fields(l.Canonical()) {
		if strings.HasPrefix(line, "--hash=") && !strings.Contains(hashed.Canonical(), line) {
			t.Errorf("%s is not among the hashes of the requirements", line)
		}
	}
}

func TestCanonicalFormOfAPylockPackage(t *testing.T) {
	const attrs1 = "[[packages]]\nname = 'attrs'\nversion = '1'\n"
	for name, test := range map[string]struct{ text, want string }{
		"wheel":                   {wheeled(""), "attrs==1 " + hashA},
		"sdist alone":             {attrs("sdist = {name = 'attrs-1.tar.gz', hashes = " + shaB + "}"), "attrs==1 " + hashB},
		"wheels and sdist":        {wheeled("sdist = {url = 'https://files.example/attrs-1.tar.gz', hashes = " + shaB + "}"), "attrs==1 " + hashA + " " + hashB},
		"same hash twice":         {wheeled("sdist = {hashes = " + shaA + "}"), "attrs==1 " + hashA},
		"several algorithms":      {attrs("sdist = {hashes = {sha512 = '" + strings.Repeat("d", 128) + "', sha384 = '" + strings.Repeat("c", 96) + "'}}"), "attrs==1 " + hash384 + " " + hash512},
		"weak beside strong":      {attrs("sdist = {hashes = {md5 = 'x', blake2b = 'y', SHA256 = '" + strings.Repeat("A", 64) + "'}}"), "attrs==1 " + hashA},
		"version is normalized":   {strings.Replace(attrs("sdist = {hashes = "+shaA+"}"), "'1'", "'v1.0-RC1'", 1), "attrs==1.0rc1 " + hashA},
		"marker":                  {wheeled(`marker = 'python_version<"3.14"'`), "attrs==1 ; python_version < '3.14' " + hashA},
		"not of an extra":         {wheeled(`marker = "'x' not in extras and os_name == 'posix'"`), "attrs==1 ; os_name == 'posix' " + hashA},
		"extra or marker":         {wheeled(`marker = "('x' in extras or os_name == 'posix' and 'y' not in extras) and sys_platform == 'linux'"`), "attrs==1 ; os_name == 'posix' and sys_platform == 'linux' " + hashA},
		"whatever the extras":     {wheeled(`marker = "'x' in extras or 'x' not in extras"`), "attrs==1 " + hashA},
		"of a default group":      {"default-groups = ['Main_x']\n" + wheeled(`marker = "'main-x' in dependency_groups"`), "attrs==1 " + hashA},
		"empty marker":            {wheeled("marker = ''"), "attrs==1 " + hashA},
		"index is not kept":       {wheeled("index = 'https://index.example/simple'"), "attrs==1 " + hashA},
		"tools are ignored":       {pylockHead + "[tool.x]\nlock-version = 3\n" + attrs1 + "sdist = {hashes = " + shaA + "}\n[packages.tool.x]\nname = 3\n", "attrs==1 " + hashA},
		"unknown keys":            {"Packages = 1\nextras = ['x']\n" + wheeled("Name = 'six'\nsource = 'x'\ndependencies = [{name = 'x'}]"), "attrs==1 " + hashA},
		"later minor version":     {strings.Replace(wheeled("new = 2"), "1.0", "1.12", 1), "attrs==1 " + hashA},
		"CRLF":                    {strings.ReplaceAll(wheeled(""), "\n", "\r\n"), "attrs==1 " + hashA},
		"inline packages":         {"packages = [\n  {name = 'attrs', sdist = {name = 'attrs-2.zip', hashes = " + shaA + "}},\n]\n" + pylockHead, "attrs==2 " + hashA},
		"quoted key first":        {"\"created-by\" = 'x'\nlock-version = '1.0'\n" + attrs1 + "sdist = {hashes = " + shaA + "}", "attrs==1 " + hashA},
		"version from a name":     {pylockHead + "[[packages]]\nname = 'attrs'\nwheels = [{name = 'Attrs-1.0-py3-none-any.whl', hashes = " + shaA + "}]\nsdist = {name = 'attrs-1.tar.gz', hashes = " + shaB + "}", "attrs==1.0 " + hashA + " " + hashB},
		"file of a local version": {attrs("sdist = {name = 'attrs-1+cpu.tar.gz', hashes = " + shaA + "}"), "attrs==1 " + hashA},
		"file of an odd name":     {attrs("sdist = {name = 'attrs.tar.bz2', hashes = " + shaA + "}"), "attrs==1 " + hashA},
		"version from a URL":      {pylockHead + "[[packages]]\nname = 'attrs'\nsdist = {url = 'https://files.example/attrs-1%2Bx.tar.gz', hashes = " + shaA + "}", "attrs==1+x " + hashA},
		"archive":                 {attrs("archive = {url = 'https://files.example/attrs-1.0.zip', hashes = " + shaA + "}"), "attrs @ https://files.example/attrs-1.0.zip " + hashA},
		"archive with its hash":   {attrs("archive = {url = 'https://files.example/attrs-1.zip#sha256=" + strings.Repeat("a", 64) + "', hashes = " + shaA + "}"), "attrs @ https://files.example/attrs-1.zip " + hashA},
		"archive and no version":  {pylockHead + "[[packages]]\nname = 'attrs'\nmarker = \"os_name == 'posix'\"\narchive = {url = 'https://files.example/attrs-1-py3-none-any.whl', hashes = " + shaA + "}", "attrs @ https://files.example/attrs-1-py3-none-any.whl ; os_name == 'posix' " + hashA},
		"disjoint markers": {
			wheeled("marker = \"python_version < '3.12'\"") + "[[packages]]\nname = 'attrs'\nversion = '2'\nmarker = \"python_version >= '3.12'\"\nsdist = {hashes = " + shaB + "}",
			"attrs==1 ; python_version < '3.12' " + hashA + "\nattrs==2 ; python_version >= '3.12' " + hashB,
		},
		"not of the default installation": {
			wheeled("") + "[[packages]]\nname = 'Bad Name'\nmarker = \"'dev' in dependency_groups or 'x' in extras\"\ndirectory = {path = '.'}",
			"attrs==1 " + hashA,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := mustParse(t, test.text)
			if diff := cmp.Diff(test.want+"\n", l.Canonical()); diff != "" {
				t.Errorf("canonical form (-want +got):\n%s", diff)
			}
			again := mustParse(t, l.Canonical())
			if !Equal(l, again) || l.Digest() != again.Digest() {
				t.Errorf("the canonical form parses to %q", again.Canonical())
			}
		})
	}
}

func TestRefusedPylockPackages(t *testing.T) {
	const url = "https://files.example/attrs-1.zip"
	archive := func(more string) string { return attrs("archive = {" + more + ", hashes = " + shaA + "}") }
	unversioned := func(more string) string { return pylockHead + "[[packages]]\nname = 'attrs'\n" + more }
	for name, test := range map[string]struct {
		text  string
		why   reason
		place string
		cause string
	}{
		"no name":                    {pylockHead + "[[packages]]\nversion = '1'\nsdist = {hashes = " + shaA + "}", pylockKey, "line 3", "packages[0].name is missing"},
		"name that is not text":      {pylockHead + "[[packages]]\nname = 3\nversion = '1'\nsdist = {hashes = " + shaA + "}", pylockType, "line 3", "packages[0].name is an integer, not a string"},
		"name that is none":          {pylockHead + "[[packages]]\nname = 'a b'\nversion = '1'\nsdist = {hashes = " + shaA + "}", pylockName, "line 3", `"a b" is not the name`},
		"name missing, of wheels":    {pylockHead + "[[packages]]\nsdist = {name = 'a-1.zip', hashes = " + shaA + "}", pylockKey, "line 3", "packages[0].name is missing"},
		"name missing, of archive":   {pylockHead + "[[packages]]\narchive = {url = 'https://files.example/a-1.zip', hashes = " + shaA + "}", pylockKey, "line 3", "packages[0].name is missing"},
		"name not normalized":        {pylockHead + "[[packages]]\nname = 'A_b'\nversion = '1'\nsdist = {hashes = " + shaA + "}", pylockName, "line 3 (a-b)", `"A_b" is written a-b`},
		"bad version":                {strings.Replace(wheeled(""), "'1'", "'1.*'", 1), badVersion, "line 3 (attrs)", `"1.*" is not a version`},
		"version and options":        {strings.Replace(wheeled(""), "'1'", "'1 --pre'", 1), badVersion, "line 3 (attrs)", `"1 --pre" is not`},
		"version that is not text":   {strings.Replace(wheeled(""), "'1'", "1.0", 1), pylockType, "line 3 (attrs)", "packages[0].version is a float"},
		"bad marker":                 {wheeled("marker = \"os_name = 'posix'\""), badMarker, "line 3 (attrs)", "operator"},
		"marker of an extra":         {wheeled("marker = \"extra == 'x'\""), badMarker, "line 3 (attrs)", "`extra`"},
		"set compared":               {wheeled("marker = \"'x' == extras\""), badMarker, "line 3 (attrs)", "extras is a set"},
		"set on the left":            {wheeled("marker = \"dependency_groups in 'x'\""), badMarker, "line 3 (attrs)", "dependency_groups is a set"},
		"marker cut off":             {wheeled("marker = \"os_name == 'posix' 'x'\""), badMarker, "line 3 (attrs)", "out of place"},
		"marker with a bad quote":    {wheeled("marker = \"os_name == 'posix\""), badMarker, "line 3 (attrs)", "not closed"},
		"marker that is not text":    {wheeled("marker = true"), pylockType, "line 3 (attrs)", "packages[0].marker is a boolean"},
		"comment in a marker":        {wheeled("marker = \"os_name == 'a #b'\""), pylockUnportable, "line 3 (attrs)", `" #"`},
		"option in a marker":         {wheeled("marker = \"os_name == 'a --pre'\""), pylockUnportable, "line 3 (attrs)", `" -"`},
		"variable in a marker":       {wheeled("marker = \"os_name == '${V}'\""), pylockUnportable, "line 3 (attrs)", `"${"`},
		"bad requires-python":        {wheeled("requires-python = '3.13'"), pylockPython, "line 3 (attrs)", `"3.13" is not a version specifier`},
		"requires-python of nothing": {wheeled("requires-python = '>=three'"), pylockPython, "line 3 (attrs)", `">=three" is not a version specifier`},
		"no source":                  {attrs("wheels = []"), pylockSource, "line 3 (attrs)", "packages[0] has no source"},
		"two sources":                {wheeled("archive = {url = '" + url + "', hashes = " + shaA + "}"), pylockSource, "line 3 (attrs)", "packages[0] has archive and wheels or sdist"},
		"source of a wrong type":     {attrs("vcs = 2020-01-01"), pylockType, "line 3 (attrs)", "packages[0].vcs is a date or time, not a table"},
		"wheels of a wrong type":     {attrs("wheels = ['x']"), pylockType, "line 3 (attrs)", "packages[0].wheels[0] is a string, not a table"},
		"wheels that are no array":   {attrs("wheels = {}"), pylockType, "line 3 (attrs)", "packages[0].wheels is a table, not an array"},
		"commit":                     {attrs("vcs = {type = 'git', url = 'https://hunter2@git.example/x', commit-id = 'abc'}"), vcsCommit, "line 3 (attrs)", `commit "abc"`},
		"branch":                     {attrs("vcs = {type = 'git', url = 'https://hunter2@git.example/x'}"), vcsBranch, "line 3 (attrs)", "no commit-id"},
		"directory":                  {attrs("directory = {path = '.', editable = true}"), pylockDirectory, "line 3 (attrs)", `directory "."`},
		"archive without a URL":      {archive("size = 1"), pylockArchive, "line 3 (attrs)", "packages[0].archive.url is missing"},
		"archive of a path":          {archive("path = 'attrs-1.zip'"), localPath, "line 3 (attrs)", `"attrs-1.zip"`},
		"archive of path and URL":    {archive("path = 'attrs-1.zip', url = '" + url + "'"), localPath, "line 3 (attrs)", `"attrs-1.zip"`},
		"archive of a file URL":      {archive("url = 'file:///attrs-1.zip'"), localPath, "line 3 (attrs)", `"file:///attrs-1.zip"`},
		"archive over http":          {archive("url = 'http://files.example/attrs-1.zip'"), pylockArchive, "line 3 (attrs)", `"http"`},
		"archive with a user":        {archive("url = 'https://hunter2@files.example/attrs-1.zip'"), pylockArchive, "line 3 (attrs)", "user or password"},
		"archive with a query":       {archive("url = '" + url + "?sig=hunter2'"), pylockArchive, "line 3 (attrs)", "query"},
		"archive with another hash":  {archive("url = '" + url + "#sha256=" + strings.Repeat("e", 64) + "'"), pylockArchive, "line 3 (attrs)", "not among those of packages[0].archive.hashes"},
		"archive of another package": {archive("url = 'https://files.example/six-1.zip'"), urlFile, "line 3 (attrs)", "does not begin with attrs-"},
		"archive of another version": {archive("url = 'https://files.example/attrs-2.zip'"), pylockDisagrees, "line 3 (attrs)", "packages[0].version is 1, and the URL names 2"},
		"archive's subdirectory":     {archive("url = '" + url + "', subdirectory = 'src'"), pylockArchive, "line 3 (attrs)", `subdirectory "src"`},
		"archive without hashes":     {attrs("archive = {url = '" + url + "'}"), pylockHashes, "line 3 (attrs)", "packages[0].archive.hashes is missing"},
		"wheel of a path":            {attrs("wheels = [{path = './attrs-1-py3-none-any.whl', hashes = " + shaA + "}]"), localPath, "line 3 (attrs)", `packages[0].wheels[0] is "./attrs-1-py3-none-any.whl"`},
		"wheel of a file URL":        {attrs("wheels = [{url = 'file:///attrs-1-py3-none-any.whl', hashes = " + shaA + "}]"), localPath, "line 3 (attrs)", "which only this machine could read"},
		"wheel with a login":         {attrs("wheels = [{url = 'https://robot:hunter2@files.example/attrs-1-py3-none-any.whl', hashes = " + shaA + "}]"), pylockLogin, "line 3 (attrs)", "packages[0].wheels[0].url holds a user or password"},
		"sdist with a user":          {attrs("sdist = {url = 'https://hunter2@files.example/attrs-1.zip', hashes = " + shaA + "}"), pylockLogin, "line 3 (attrs)", "packages[0].sdist.url holds a user or password"},
		"index with a login":         {wheeled("index = 'https://robot:hunter2@packages.example/simple/'"), pylockLogin, "line 3 (attrs)", "packages[0].index holds a user or password"},
		"login that is no URL":       {wheeled("index = 'https://robot:hunter2%@packages.example/simple/'"), pylockLogin, "line 3 (attrs)", "packages[0].index holds a user or password"},
		"wheel without hashes":       {attrs("wheels = [{name = 'attrs-1-py3-none-any.whl', hashes = {}}]"), pylockHashes, "line 3 (attrs)", "packages[0].wheels[0].hashes is missing or empty"},
		"sdist with a weak hash":     {wheeled("sdist = {hashes = {sha1 = 'x', md5 = 'y'}}"), weakHash, "line 3 (attrs)", `packages[0].sdist.hashes has only "md5" and "sha1"`},
		"hash too short":             {attrs("sdist = {hashes = {sha256 = 'abc'}}"), pylockDigest, "line 3 (attrs)", `packages[0].sdist.hashes.sha256: "abc" is not 64 hex digits`},
		"hash that is not text":      {attrs("sdist = {hashes = {sha256 = 1}}"), pylockType, "line 3 (attrs)", "packages[0].sdist.hashes.sha256 is an integer"},
		"hashes of a wrong type":     {attrs("sdist = {hashes = 'sha256:x'}"), pylockType, "line 3 (attrs)", "packages[0].sdist.hashes is a string, not a table"},
		"no version to be had":       {unversioned("sdist = {name = 'six-1.zip', hashes = " + shaA + "}"), pylockNoVersion, "line 3 (attrs)", "packages[0].sdist does not tell it"},
		"empty version":              {unversioned("version = ''\nsdist = {hashes = " + shaA + "}"), pylockNoVersion, "line 3 (attrs)", "packages[0].version is missing"},
		"files that disagree":        {unversioned("wheels = [{name = 'attrs-1-py3-none-any.whl', hashes = " + shaA + "}]\nsdist = {name = 'attrs-2.zip', hashes = " + shaA + "}"), pylockDisagrees, "line 3 (attrs)", "packages[0].sdist is 2, and files before it are 1"},
		"file of another version":    {attrs("wheels = [{name = 'attrs-1-py3-none-any.whl', hashes = " + shaA + "}, {url = 'https://files.example/attrs-2-py3-none-any.whl', hashes = " + shaA + "}]"), pylockDisagrees, "line 3 (attrs)", "packages[0].version is 1, and packages[0].wheels[1] is 2"},
		"duplicate":                  {wheeled("") + "[[packages]]\nname = 'attrs'\nversion = '2'\nmarker = \"os_name == 'posix'\"\nsdist = {hashes = " + shaA + "}", duplicate, "line 8 (attrs)", "line 3 names it too"},
		"duplicate of a bad one":     {attrs("directory = {path = 'x'}") + "[[packages]]\nname = 'attrs'\nmarker = \"'x' in extras\"", pylockDirectory, "line 3 (attrs)", `"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{test.why.title + " | " + test.place}, summary(t, test.text)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			list := parseProblems(t, test.text)
			if !strings.Contains(list[0].Detail(), test.cause) {
				t.Errorf("the detail %q does not say %q", list[0].Detail(), test.cause)
			}
			if strings.Contains(list.Error(), "hunter2") {
				t.Errorf("%q shows what may be a credential", list.Error())
			}
		})
	}
}

func TestRefusedPylocks(t *testing.T) {
	some := "[[packages]]\nname = 'attrs'\nversion = '1'\nsdist = {hashes = " + shaA + "}\n"
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"major version":         {"lock-version = '2.0'\npackages = 'elsewhere'\n", []string{pylockVersion.title + " | line 1"}},
		"version without minor": {"lock-version = '1'\n", []string{pylockVersion.title + " | line 1"}},
		"version as a number":   {"# x\nlock-version = 1.0\n", []string{pylockVersion.title + " | line 2"}},
		"no version":            {"created-by = 'x'\n" + some, []string{pylockKey.title + " | "}},
		"no creator":            {"lock-version = '1.0'\n" + some, []string{pylockKey.title + " | "}},
		"empty creator":         {"lock-version = '1.0'\ncreated-by = ''\n" + some, []string{pylockKey.title + " | line 2"}},
		"creator of wrong type": {"lock-version = '1.0'\ncreated-by = 3\n" + some, []string{pylockType.title + " | line 2"}},
		"head below packages":   {some + pylockHead, []string{pylockKey.title + " | ", pylockKey.title + " | "}},
		"no packages":           {pylockHead, []string{empty.title + " | "}},
		"empty packages":        {pylockHead + "packages = []", []string{empty.title + " | "}},
		"packages of extras":    {wheeled("marker = \"'x' in extras\""), []string{empty.title + " | "}},
		"packages of text":      {pylockHead + "packages = ['attrs', {name = 'six', version = '1', sdist = {hashes = " + shaA + "}}]", []string{pylockType.title + " | line 3"}},
		"packages as a table":   {pylockHead + "[packages]\nname = 'attrs'", []string{pylockType.title + " | "}},
		"syntax":                {pylockHead + "[[packages]]\nname = attrs\n", []string{pylockSyntax.title + " | line 4"}},
		"key twice":             {pylockHead + "created-by = 'x'\n" + some, []string{pylockSyntax.title + " | line 3"}},
		"too large":             {pylockHead + strings.Repeat("#", maxSize), []string{tooLarge.title + " | "}},
		"control character":     {pylockHead + "# \x01\n" + some, []string{control.title + " | line 3"}},
		"bad environment":       {pylockHead + "environments = [\"os_name == 'posix'\",\n  'x', 3]\n" + some, []string{pylockType.title + " | line 3", badMarker.title + " | line 3"}},
		"environments as text":  {pylockHead + "environments = \"os_name == 'posix'\"\n" + some, []string{pylockType.title + " | line 3"}},
		"bad requires-python":   {pylockHead + "requires-python = '>=3.11,,<4'\n" + some, []string{pylockPython.title + " | line 3"}},
		"all at once": {
			"lock-version = '1.0'\nrequires-python = '3'\n" + some + "[[packages]]\nname = 'A'\nvcs = {commit-id = 'x'}\n\n[[packages]]\nname = 'b'\nversion = 'x'\nwheels = [{hashes = {}}, {hashes = {md5 = 'x'}}]",
			[]string{
				pylockKey.title + " | ", pylockPython.title + " | line 2", pylockName.title + " | line 7 (a)", vcsCommit.title + " | line 7 (a)",
				badVersion.title + " | line 11 (b)", pylockHashes.title + " | line 11 (b)", weakHash.title + " | line 11 (b)",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, summary(t, test.text)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOffendingPackagesAreCapped(t *testing.T) {
	text := pylockHead + strings.Repeat("[[packages]]\n", maxFindings)
	if list := parseProblems(t, text); len(list) != maxShown+1 {
		t.Errorf("%d problems, want %d", len(list), maxShown+1)
	}
}

func TestRequirementNamedLikeAKeyOfPylock(t *testing.T) {
	for _, text := range []string{"extras==1 " + hashA, "packages ==1 " + hashA, "environments @ https://files.example/environments-1.zip " + hashA} {
		mustParse(t, text)
	}
}

package environment_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// titles gives the titles found, each with its path.
func titles(found problem.List) []string {
	var all []string
	for _, p := range found {
		at := make([]string, len(p.Path))
		for i, step := range p.Path {
			at[i] = fmt.Sprint(step)
		}
		all = append(all, p.Title+" at "+strings.Join(at, "."))
	}
	return all
}

func expectTitles(t *testing.T, found problem.List, want ...string) {
	t.Helper()
	if got := titles(found); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("found\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	for _, p := range found {
		if p.Advice == "" || p.Object == "" {
			t.Errorf("%q says no object or no advice", p.Title)
		}
	}
}

func TestEnvRefusals(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"MODE", "production", ""},
		{"TOKENIZER", "fast", ""},
		{"MONKEY", "1", ""},
		{"EMPTY", "", ""},
		{"QUOTES", `"a" $b 'c' é漢🙂`, ""},
		{"KEYBOARD_ACCESS", "x", ""},
		{"1ST", "x", "Invalid environment variable name"},
		{"A-B", "x", "Invalid environment variable name"},
		{"", "x", "Invalid environment variable name"},
		{"A B", "x", "Invalid environment variable name"},
		{"HOME", "/root", "Reserved environment variable"},
		{"PATH", "/bin", "Reserved environment variable"},
		{"LC_ALL", "C", "Reserved environment variable"},
		{"LD_PRELOAD", "x.so", "Reserved environment variable"},
		{"PYTHONPATH", "/x", "Reserved environment variable"},
		{"PYTHONHOME", "/x", "Reserved environment variable"},
		{"LANG", "C", "Reserved environment variable"},
		{"TZ", "UTC", "Reserved environment variable"},
		{"GITHUB_TOKEN", "x", "Environment variable named like a credential"},
		{"db_password", "x", "Environment variable named like a credential"},
		{"PWD", "x", "Environment variable named like a credential"},
		{"MY_API_KEY", "x", "Environment variable named like a credential"},
		{"AWS_SECRET_ACCESS_KEY", "x", "Environment variable named like a credential"},
		{"A", "AKIAIOSFODNN7EXAMPLE", "Environment variable holds a credential"},
		{"A", "ghp_" + strings.Repeat("a", 36), "Environment variable holds a credential"},
		{"A", "-----BEGIN RSA PRIVATE KEY-----", "Environment variable holds a credential"},
		{"A", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig", "Environment variable holds a credential"},
		{"A", "e2b_" + strings.Repeat("0a", 20), "Environment variable holds a credential"},
		{"A", "key=dtn_" + strings.Repeat("0a", 32), "Environment variable holds a credential"},
		{"A", "e2b_template", ""},
		{"A", "dlsec_01abc", "Environment variable holds a credential"},
		{"INDEX", "https://user:hunter2@index.example/simple", "Environment variable holds a credential"},
		{"URLS", "http://a.example,REDIS://:hunter2@cache.example/0", "Environment variable holds a credential"},
		{"DSN", "jdbc:postgresql+x://u:hunter%40@db.example:5432/app?a=b", "Environment variable holds a credential"},
		{"REPO", "ssh://git@git.example:22/team/app.git", ""},
		{"EMPTY_AFTER_COLON", "https://user:@index.example/simple", ""},
		{"BROKERS", "kafka://a.example:9092/x:y@z?who=a:b@c#d:e@f", ""},
		{"MAIL", "mailto:user:x@mail.example", ""},
		{"A", "two\nlines", "Control character in an environment variable"},
		{"A", "nul\x00", "Control character in an environment variable"},
		{"A", "line\u2028separator", "Control character in an environment variable"},
		{"A", "\xff", "Control character in an environment variable"},
	} {
		found := environment.ValidateEnv(c.name, c.value)
		if c.want == "" {
			expectTitles(t, found)
			continue
		}
		expectTitles(t, found, c.want+" at env."+c.name)
		if c.value != "" && len(c.value) > 3 && strings.Contains(found.Error()+found[0].Detail(), c.value) {
			t.Errorf("the value of %s is shown: it may be a secret", c.name)
		}
	}
}

func TestLabelRefusals(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"org.opencontainers.image.title", "a title", ""},
		{"", "x", "Invalid label name"},
		{"a b", "x", "Invalid label name"},
		{"io.datalayer.environment.cache-key", "x", "Reserved label"},
		{"IO.Datalayer.base.libc", "x", "Reserved label"},
		{"com.example.api-key", "x", "Label named like a credential"},
		{"com.example.token", "x", "Label named like a credential"},
		{"a", "xoxb-1234567890-abc", "Label holds a credential"},
		{"org.opencontainers.image.source", "https://user@git.example:8443/team/env", ""},
		{"org.opencontainers.image.source", "https://user:hunter2@git.example/team/env", "Label holds a credential"},
		{"a", "two\nlines", "Control character in a label"},
	} {
		found := environment.ValidateLabel(c.name, c.value)
		if c.want == "" {
			expectTitles(t, found)
			continue
		}
		expectTitles(t, found, c.want+" at labels."+c.name)
	}
}

func TestFileRefusals(t *testing.T) {
	file := func(path string) environment.File { return environment.File{Path: path, Mode: "0644"} }
	for name, c := range map[string]struct {
		files []environment.File
		want  []string
	}{
		"good": {[]environment.File{file("/srv/a"), file("/opt/b/c"), file("/opt/datalayerx"), file("/home/datalayer/content/é")}, nil},
		"bad paths": {[]environment.File{file("srv/a"), file("/srv/../etc/passwd"), file("/etc/x"), file("/opt/datalayer/x"), file("/srv/"), file("/home/datalayer/content"), file("/srv/a\nb"), file("/srv//a")},
			[]string{"Invalid file path at files.0.path", "Invalid file path at files.1.path", "Invalid file path at files.2.path", "Invalid file path at files.3.path", "Invalid file path at files.4.path", "Invalid file path at files.5.path", "Invalid file path at files.6.path", "Invalid file path at files.7.path"}},
		"longest paths":          {[]environment.File{file("/srv/" + strings.Repeat("x", 255)), file(longPath(4095))}, nil},
		"too long paths":         {[]environment.File{file("/srv/" + strings.Repeat("x", 256)), file("/srv/" + strings.Repeat("é", 128) + "/a"), file(longPath(4096))}, []string{"Invalid file path at files.0.path", "Invalid file path at files.1.path", "Invalid file path at files.2.path"}},
		"twice":                  {[]environment.File{file("/srv/a"), file("/srv/a")}, []string{"File listed twice at files.1.path"}},
		"file and folder in one": {[]environment.File{file("/srv/a"), file("/srv/a/b")}, []string{"File below another file at files.1.path"}},
		"modes": {[]environment.File{{Path: "/srv/a", Mode: "4755"}, {Path: "/srv/b", Mode: "rwx"}, {Path: "/srv/c", Mode: "0888"}, {Path: "/srv/d", Mode: "755"}},
			[]string{"Invalid file mode at files.0.mode", "Invalid file mode at files.1.mode", "Invalid file mode at files.2.mode"}},
		"one too large": {[]environment.File{{Path: "/srv/a", Mode: "0644", Content: bytes.Repeat([]byte("x"), 1<<20+1)}}, []string{"File too large at files.0.content"}},
	} {
		t.Run(name, func(t *testing.T) { expectTitles(t, environment.ValidateFiles(c.files), c.want...) })
	}
	var many, large []environment.File
	for i := range 33 {
		many = append(many, file(fmt.Sprintf("/srv/%d", i)))
	}
	for i := range 9 {
		large = append(large, environment.File{Path: fmt.Sprintf("/srv/%d", i), Mode: "0644", Content: bytes.Repeat([]byte("x"), 1<<20)})
	}
	expectTitles(t, environment.ValidateFiles(many), "Too many files at files")
	expectTitles(t, environment.ValidateFiles(large), "Files too large together at files")
}

// longPath is a path of a size, with components of 250 bytes at most.
func longPath(size int) string {
	return ("/srv" + strings.Repeat("/"+strings.Repeat("x", 249), size/250+1))[:size]
}

func TestAdviceOnFilePathsCanBeFollowed(t *testing.T) {
	for name, want := range map[string]string{
		"srv/a":                           `Write "/srv/a" if that is what you mean.`,
		"/srv//a/":                        `Write "/srv/a" if that is what you mean.`,
		"/etc/x":                          "below /home/datalayer/, /opt/ or /srv/",
		"":                                "below /home/datalayer/, /opt/ or /srv/",
		"etc/x":                           "below /home/datalayer/, /opt/ or /srv/",
		"/srv/../etc/passwd":              "below /home/datalayer/, /opt/ or /srv/",
		"/opt/x/../datalayer/y":           "/opt/datalayer belongs to the base",
		"/home/datalayer/content":         `Write below it: "/home/datalayer/content/<name>".`,
		"/home/datalayer/content/":        `Write below it: "/home/datalayer/content/<name>".`,
		"srv/" + strings.Repeat("x", 256): "at most 255 bytes, and \"" + strings.Repeat("x", 200) + "…\" has 256.",
		longPath(5000):                    "at most 4095 bytes, and this one 5000.",
	} {
		found := environment.ValidateFiles([]environment.File{{Path: name, Mode: "0644"}})
		expectTitles(t, found, "Invalid file path at files.0.path")
		advice := found[0].Advice
		if !strings.Contains(advice, want) {
			t.Errorf("%.40q: the advice does not say %q: %s", name, want, advice)
		}
		if strings.Contains(advice, "what you mean") && !strings.Contains(want, "what you mean") {
			t.Errorf("%.40q: the advice offers a path that is refused: %s", name, advice)
		}
		if len(found[0].Detail()) > 800 {
			t.Errorf("%.40q: the error has %d bytes", name, len(found[0].Detail()))
		}
	}
}

func TestAptPackageRefusals(t *testing.T) {
	expectTitles(t, environment.ValidateAptPackages([]string{"curl", "git=1:2.47.2-0.1", "libstdc++6", "g++", "g++-12=12.2.0-14+deb12u1", "jq=1.7~rc1", "python3-dateutil"}))
	expectTitles(t, environment.ValidateAptPackages([]string{"Curl", "-oDebug=1", "a b", "x=$(id)", "", "curl", "curl=8"}),
		"Invalid Debian package at apt_packages.0", "Invalid Debian package at apt_packages.1", "Invalid Debian package at apt_packages.2",
		"Invalid Debian package at apt_packages.3", "Invalid Debian package at apt_packages.4", "Debian package listed twice at apt_packages.6")
}

func TestAdviceOnDebianPackages(t *testing.T) {
	const (
		removes = "order to remove the package"
		foreign = "Foreign architectures are not supported"
		version = "one whole version as apt-cache policy prints it"
		name    = `Write "name" or "name=version".`
	)
	for entry, want := range map[string][]string{
		"python3-dateutil-": {removes}, "g++-": {removes}, "ab:amd64-": {removes}, "curl=8.0-": {removes}, "curl-=8.0": {removes},
		"libc6:i386":          {foreign, `Write "libc6".`},
		"gcc:arm64=4:12.2":    {foreign, `Write "gcc=4:12.2".`},
		"libc6:i386=2.*":      {foreign},
		"curl=8.*":            {version, "no wildcards"},
		"curl=":               {version},
		"curl=>8":             {version},
		"curl=8.0+":           {version, `no "+" at the end`},
		"curl/bookworm":       {name},
		"curl*":               {name},
		"c":                   {name},
		"curl; touch /srv/x":  {name},
		"curl=$(touch /srv/)": {version},
	} {
		found := environment.ValidateAptPackages([]string{entry})
		expectTitles(t, found, "Invalid Debian package at apt_packages.0")
		for _, words := range want {
			if !strings.Contains(found[0].Advice, words) {
				t.Errorf("%q: the advice does not say %q: %s", entry, words, found[0].Advice)
			}
		}
		if strings.Contains(found[0].Advice, "2.*") {
			t.Errorf("%q: the advice offers an entry that is refused: %s", entry, found[0].Advice)
		}
	}
}

func TestPostInstallRefusals(t *testing.T) {
	on := true
	expectTitles(t, environment.ValidatePostInstall([]environment.Command{{Command: "a\r\n\tb", Network: &on}}))
	expectTitles(t, environment.ValidatePostInstall([]environment.Command{{Command: " \n"}, {Command: "a\x1b[0m"}}),
		"Empty post-install command at post_install.0.command", "Control character in a post-install command at post_install.1.command")
	expectTitles(t, environment.ValidatePostInstall(make33()), "Too many post-install commands at post_install")
}

func make33() []environment.Command {
	commands := make([]environment.Command, 33)
	for i := range commands {
		commands[i].Command = "true"
	}
	return commands
}

func TestPlatformRefusals(t *testing.T) {
	expectTitles(t, environment.ValidatePlatforms([]string{"linux/amd64", "linux/arm64"}))
	expectTitles(t, environment.ValidatePlatforms(nil), "No platform to build for at platforms")
	expectTitles(t, environment.ValidatePlatforms([]string{"linux/amd64", "linux/amd64"}), "Platform listed twice at platforms.1")
	for typo, right := range map[string]string{"amd64": "linux/amd64", "linux/x86_64": "linux/amd64", "Linux/AMD64": "linux/amd64", "linux/aarch64": "linux/arm64", "linux/arm64/v8": "linux/arm64", " linux/amd64": "linux/amd64"} {
		found := environment.ValidatePlatforms([]string{typo})
		expectTitles(t, found, "Unknown platform at platforms.0")
		if !strings.Contains(found[0].Advice, `Write "`+right+`".`) {
			t.Errorf("%q: the advice does not say %q: %s", typo, right, found[0].Advice)
		}
	}
	expectTitles(t, environment.ValidatePlatforms([]string{"windows/amd64"}), "Unknown platform at platforms.0")
}

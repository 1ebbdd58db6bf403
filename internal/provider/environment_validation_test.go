package provider_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// mistake is a configuration that plan refuses: where it is wrong, and what the error says of the value and the fix.
type mistake struct {
	name, config string
	path         *tftypes.AttributePath
	says         []string
}

// at is a path of attribute names (string), list indexes (int) and map keys (key).
func at(steps ...any) *tftypes.AttributePath {
	path := tftypes.NewAttributePath()
	for _, step := range steps {
		switch s := step.(type) {
		case int:
			path = path.WithElementKeyInt(s)
		case key:
			path = path.WithElementKeyString(string(s))
		case string:
			path = path.WithAttributeName(s)
		}
	}
	return path
}

// key is the key of a map in a path.
type key string

// refused checks that plan fails at the attribute, with all the words in one error and no secret in any, and asks the
// registry nothing.
func (s *stack) refused(t *testing.T, mistakes []mistake) {
	t.Helper()
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			s.forget()
			s.registry.ResetRequests()
			s.run(t, resource.TestStep{Config: m.config, PlanOnly: true, ExpectError: regexp.MustCompile("Error: ")})
			if requests := s.registry.Requests(); len(requests) > 0 {
				t.Errorf("requests were made: %v", requests)
			}
			var found []string
			for _, d := range s.errors() {
				text := d.Summary + "\n" + d.Detail
				if strings.Contains(text, "cnry") {
					t.Errorf("a secret shows: %s", text)
				}
				if place, rest, more := strings.Cut(d.Detail, ": "); more && strings.HasPrefix(rest, place) {
					t.Errorf("an error says its place twice: %s", d.Detail)
				}
				found = append(found, fmt.Sprintf("at %s: %s", d.Attribute, text))
				if d.Attribute.Equal(m.path) && containsAll(text, m.says) {
					return
				}
			}
			t.Errorf("no error at %s says all of %q:\n%s", m.path, m.says, strings.Join(found, "\n"))
		})
	}
}

func containsAll(text string, phrases []string) bool {
	for _, phrase := range phrases {
		if !strings.Contains(text, phrase) {
			return false
		}
	}
	return true
}

func TestValidation_OfReferences(t *testing.T) {
	s := newStackWithoutEngine(t)
	base := func(reference string) string { return strings.Replace(s.config(""), s.BaseReference, reference, 1) }
	repository := func(name string) string { return strings.Replace(s.config(""), s.repository, name, 1) }
	digest := s.BaseReference[strings.Index(s.BaseReference, "@"):]
	s.refused(t, []mistake{
		{"tag instead of digest", base("h.example/base:1"), at("base"), []string{"without a digest", "h.example/base:1", "pin by digest", "h.example/base@sha256:"}},
		{"no host", base("library/python" + digest), at("base"), []string{"without a registry host", "library/python", "docker.io/library/python"}},
		{"scheme", base("https://h.example/base" + digest), at("base"), []string{"scheme", "https://h.example/base", "Drop the scheme"}},
		{"short digest", base("h.example/base@sha256:abc"), at("base"), []string{"digest not understood", "sha256:abc", "64 lower-case"}},
		{"mangled digest", base("h.example/base:sha256:" + digest[8:]), at("base"), []string{"Mangled image digest", "\"@\""}},
		{"trailing blank", base("h.example/base" + digest + " "), at("base"), []string{"White space", "Remove the blanks"}},
		{"empty base", base(""), at("base"), []string{"Empty image reference", "host/path"}},
		{"upper case", repository("h.example/Team/env"), at("repository"), []string{"Upper-case", "h.example/Team/env", "lower-case names only"}},
		{"doubled host", repository("h.example/h.example/env"), at("repository"), []string{"host given twice", "h.example/h.example/env", "remove one"}},
		{"repository with a tag", repository("h.example/team/env:1"), at("repository"), []string{"tag or digest", "h.example/team/env:1", "remove \":1\""}},
		{"repository with a scheme", repository("https://h.example/env"), at("repository"), []string{"scheme", "h.example/env"}},
		{"repository too long", repository("h.example/" + strings.Repeat("a", 250)), at("repository"), []string{"too long", "255"}},
		{"login before the base", base("https://u:cnry-1@h.example/base" + digest), at("base"), []string{"Image reference with a user name", "@h.example/base"}},
		{"login before the repository", repository("u:cnry-1@h.example/team/env"), at("repository"), []string{"Image reference with a user name", "@h.example/team/env"}},
		{"login before a cache", s.config(`cache = { export = "https://u:cnry-1@h.example/env:cache" }`), at("cache", "export"), []string{"Image reference with a user name", "@h.example/env"}},
		{"login before a cache to import", s.config(`cache = { import = ["u:cnry-1@h.example/env:cache"] }`), at("cache", "import", 0), []string{"Image reference with a user name", "@h.example/env"}},
		{"login before the generator", s.config(`attestations = { sbom_generator = "https://u:cnry-1@h.example/g` + digest + `" }`), at("attestations", "sbom_generator"), []string{"Image reference with a user name", "@h.example/g"}},
		{"query", repository("https://h.example/team/env?token=cnry-1"), at("repository"), []string{"Image reference with a query", "h.example/team/env?"}},
		{"host alone", repository("h.example"), at("repository"), []string{"without a registry host", "h.example/team/env"}},
	})
}

func TestValidation_OfTheLock(t *testing.T) {
	s := newStackWithoutEngine(t)
	hash := "--hash=sha256:" + strings.Repeat("a", 64)
	lock := func(lines ...string) string { return s.config(fmt.Sprintf("lock = %q", strings.Join(lines, "\n"))) }
	s.refused(t, []mistake{
		{"empty", lock(""), at("lock"), []string{"Lock without requirements", "leave the argument out"}},
		{"comments only", lock("# nothing", ""), at("lock"), []string{"Lock without requirements", "leave the argument out"}},
		{"no hashes", lock("six==1.17.0"), at("lock"), []string{"without a hash", "line 1 (six)", "--generate-hashes"}},
		{"VCS branch", lock("six @ git+https://h.example/six.git@main"), at("lock"), []string{"line 1 (six)", "not a fixed commit", "wheel"}},
		{"VCS commit", lock("six @ git+ssh://git@h.example/six.git@" + strings.Repeat("0", 40)), at("lock"), []string{"line 1 (six)", "hash", "wheel"}},
		{"editable", lock("-e ."), at("lock"), []string{"Editable", "line 1", "wheel"}},
		{"local path", lock("./six " + hash), at("lock"), []string{"Local path", "line 1", "wheel"}},
		{"index option", lock("--extra-index-url https://robot:cnry-1@h.example/simple"), at("lock"), []string{"index option", "line 1", "Remove the line"}},
		{"lost backslash", lock("attrs==23.1.0", "    "+hash), at("lock"), []string{"hash has no requirement", "line 2 (attrs)", "backslash"}},
		{"blank after backslash", lock(`attrs==23.1.0 \ `, "    "+hash), at("lock"), []string{"Blank after a backslash", "line 1 (attrs)", "last character"}},
		{"range", lock("attrs>=23 " + hash), at("lock"), []string{"range", "line 1 (attrs)", "=="}},
		{"md5", lock("attrs==23.1.0 --hash=md5:" + strings.Repeat("a", 32)), at("lock"), []string{"Weak hash", "line 1 (attrs)", "SHA-256"}},
		{"all at once, the last", lock("six==1.17.0", "-e .", "attrs==23.1.0 "+hash, "idna==3.7"), at("lock"), []string{"line 4 (idna)"}},
		{"all at once, the first", lock("six==1.17.0", "-e .", "attrs==23.1.0 "+hash, "idna==3.7"), at("lock"), []string{"line 1 (six)"}},
		{"kernel stack of another version", s.config(fmt.Sprintf("lock = %q\n  base_packages = { ipykernel = \"6.29.5\", six = \"1\" }", "ipykernel==7.0.0 "+hash)),
			at("lock"), []string{"replace the kernel stack", "line 1 (ipykernel)", "the lock has 7.0.0, and the base has 6.29.5", "constraints"}},
		{"kernel stack, other spelling", s.config(fmt.Sprintf("lock = %q\n  base_packages = { Jupyter_Client = \"8.6.3\" }", "jupyter.client==8.0.0 "+hash)),
			at("lock"), []string{"replace the kernel stack", "line 1 (jupyter-client)", "the lock has 8.0.0, and the base has 8.6.3"}},
		{"marker that excludes the Python", s.config(fmt.Sprintf("lock = %q\n  python_version = \"3.13\"\n  platforms = [\"linux/amd64\", \"linux/arm64\"]",
			"six==1.17.0 ; platform_machine == \"x86_64\" "+hash+"\nsix==1.16.0 ; platform_machine == \"aarch64\" "+hash)), at("lock"), []string{"six", "linux/amd64", "linux/arm64"}},
	})
}

func TestValidation_OfTheContent(t *testing.T) {
	s := newStackWithoutEngine(t)
	file := func(text string) string {
		return s.config("files = [{ path = \"/srv/ok\", content = \"ok\" }, {" + text + "}]")
	}
	s.refused(t, []mistake{
		{"reserved env", s.config(`env = { LD_PRELOAD = "/x.so" }`), at("env", key("LD_PRELOAD")), []string{"Reserved", "LD_PRELOAD", "Remove it"}},
		{"credential-like name", s.config(`env = { MY_API_KEY = "1" }`), at("env", key("MY_API_KEY")), []string{"named like a credential", "api_key", "choose a name"}},
		{"credential-like value", s.config(`env = { A = "AKIAABCDEFGHIJKLMNOP" }`), at("env", key("A")), []string{"holds a credential", "an AWS access key id", "revoke"}},
		{"line break in env", s.config(`env = { A = "1\nRUN id" }`), at("env", key("A")), []string{"Control character", `env["A"]`, "Use files"}},
		{"env name", s.config(`env = { "1A" = "1" }`), at("env", key("1A")), []string{"Invalid environment variable name", "does not start with a digit"}},
		{"relative path", file(`path = "srv/a", content = "a"`), at("files", 1, "path"), []string{"Invalid file path", `"srv/a"`, `Write "/srv/a"`}},
		{"unclean path", file(`path = "/srv/../etc/passwd", content = "a"`), at("files", 1, "path"), []string{"Invalid file path", "/srv/../etc/passwd", "absolute and clean"}},
		{"reserved path", file(`path = "/opt/datalayer/x", content = "a"`), at("files", 1, "path"), []string{"Invalid file path", "/opt/datalayer", "belongs to the base"}},
		{"path twice", file(`path = "/srv/ok", content = "a"`), at("files", 1, "path"), []string{"listed twice", "/srv/ok", "files[0]", "Keep one"}},
		{"mode", file(`path = "/srv/a", content = "a", mode = "4755"`), at("files", 1, "mode"), []string{"Invalid file mode", `"4755"`, `"0755"`}},
		{"two contents", file(`path = "/srv/a", content = "a", content_base64 = "YQ=="`), at("files", 1), []string{"one content", "/srv/a", "exactly one"}},
		{"no content", file(`path = "/srv/a"`), at("files", 1), []string{"one content", "/srv/a", "exactly one"}},
		{"generator by tag", s.config(`attestations = { sbom_generator = "h.example/gen:1" }`), at("attestations", "sbom_generator"), []string{"Image reference without a digest", "h.example/gen:1", "attestations.sbom_generator: "}},
		{"empty generator", s.config(`attestations = { sbom_generator = "" }`), at("attestations", "sbom_generator"), []string{"Empty image reference", "attestations.sbom_generator: ", "host/path@sha256:…"}},
		{"empty cache to export", s.config(`cache = { export = "" }`), at("cache", "export"), []string{"Empty image reference", "cache.export: ", "host/path:tag"}},
		{"empty cache to import", s.config(`cache = { import = [""] }`), at("cache", "import", 0), []string{"Empty image reference", "cache.import[0]: ", "host/path:tag or"}},
		{"no cache to import", s.config(`cache = { import = [null] }`), at("cache", "import", 0), []string{"Null in a list", "cache.import[0] is null", "compact()"}},
		{"cache without a host", s.config(`cache = { export = "team:cache" }`), at("cache", "export"), []string{"without a registry host", "cache.export: "}},
		{"provenance", s.config(`attestations = { provenance = "full" }`), at("attestations", "provenance"), []string{"Invalid provenance", `attestations.provenance: "full"`, `"max"`}},
		{"no path", s.config(`files = [{ content = "a" }]`), at("files", 0), []string{"File without a path", "files[0]", "Set path"}},
		{"null file", s.config(`files = [null]`), at("files", 0), []string{"File without a path", "files[0]"}},
		{"null command", s.config(`post_install = [null]`), at("post_install", 0), []string{"without a command", "post_install[0]\n\n"}},
		{"not base64", file(`path = "/srv/a", content_base64 = "%%"`), at("files", 1, "content_base64"), []string{"not base64", "/srv/a", "filebase64()"}},
		{"too large", file(`path = "/srv/a", content = join("", [for i in range(1024) : format("%1025s", i)])`), at("files", 1, "content"), []string{"too large", "/srv/a", "1049600 bytes", "1 MiB"}},
		{"too many", s.config(`files = [for i in range(33) : { path = "/srv/${i}", content = "a" }]`), at("files"), []string{"Too many files", "33", "32"}},
		{"Debian package", s.config(`apt_packages = ["git", "Curl"]`), at("apt_packages", 1), []string{"Invalid Debian package", `"Curl"`, "name=version"}},
		{"empty command", s.config(`post_install = [{ command = " " }]`), at("post_install", 0, "command"), []string{"Empty", "post_install[0].command\n\n"}},
		{"reserved label", s.config(`labels = { "io.datalayer.x" = "1" }`), at("labels", key("io.datalayer.x")), []string{"Reserved label", "io.datalayer.x", "another prefix"}},
		{"credential in a label", s.config(`labels = { note = "ghp_aaaaaaaaaaaaaaaaaaaaaaaa" }`), at("labels", key("note")), []string{"holds a credential", "a GitHub token"}},
	})
}

func TestValidation_OfTheRest(t *testing.T) {
	s := newStackWithoutEngine(t)
	block := func(arguments string) string {
		return "provider \"datalayer\" {\n" + arguments + "\n}\n" + s.config("")
	}
	logins := strings.Replace(s.config(`
  base_registry = { username = "a", password_wo = "cnry-1" }
  registry      = { username = "b", password_wo = "cnry-1" }`), s.repository, strings.Replace(s.BaseReference[:strings.Index(s.BaseReference, "@")], "/base", "/env", 1), 1)
	s.refused(t, []mistake{
		{"platform typo", s.config(`platforms = ["linux/amd64", "linux/x86_64"]`), at("platforms", 1), []string{"Unknown platform", `"linux/x86_64"`, "one of linux/amd64", `Write "linux/amd64"`}},
		{"platform without its system", s.config(`platforms = ["arm64"]`), at("platforms", 0), []string{"Unknown platform", `"arm64"`, `Write "linux/arm64"`}},
		{"null platform", s.config(`platforms = ["linux/amd64", null]`), at("platforms", 1), []string{"Null in a list", "platforms[1] is null"}},
		{"null package of Debian", s.config(`apt_packages = ["jq", null]`), at("apt_packages", 1), []string{"Null in a list", "apt_packages[1] is null"}},
		{"no platform", s.config(`platforms = []`), at("platforms"), []string{"No platform", "platforms = []", "remove the argument"}},
		{"version with a blank", s.config(`version = "1 2"`), at("version"), []string{`1 to 64 letters, digits`, "1 2"}},
		{"empty version", s.config(`version = ""`), at("version"), []string{`1 to 64 letters`}},
		{"python_version with a patch", s.config(`python_version = "3.13.5"`), at("python_version"), []string{`"3.13"`, "3.13.5"}},
		{"deletion_policy", s.config(`deletion_policy = "keep"`), at("deletion_policy"), []string{"delete", "retain", "keep"}},
		{"empty name", strings.Replace(s.config(""), `"env-a"`, `""`, 1), at("name"), []string{"name"}},
		{"line break in the name", strings.Replace(s.config(""), `"env-a"`, `"env\na"`, 1), at("name"), []string{"Invalid name", "line breaks"}},
		{"timeout of nothing", s.config(`timeouts = { create = "0s" }`), at("timeouts", "create"), []string{"not positive", `"0s"`, `"30m"`}},
		{"timeout in the past", s.config(`timeouts = { delete = "-1h" }`), at("timeouts", "delete"), []string{"not positive", `"-1h"`}},
		{"no password", s.config(`registry = { username = "a" }`), at("registry", "password_wo"), []string{"Missing registry password", "registry.password_wo is null", "set the variable"}},
		{"no user name", s.config(`registry = { password_wo = "cnry-1" }`), at("registry", "username"), []string{"Missing registry user name"}},
		{"no password for the base", s.config(`base_registry = { username = "a", password_wo = null }`), at("base_registry", "password_wo"), []string{"Missing registry password"}},
		{"empty password", s.config(`registry = { username = "a", password_wo = "" }`), at("registry", "password_wo"), []string{"Empty registry password", "Remove registry"}},
		{"two passwords for one host", strings.Replace(logins, `username = "b", password_wo = "cnry-1"`, `username = "a", password_wo = "cnry-2"`, 1), at("base_registry", "password_wo"), []string{"Two logins", "base_registry.password_wo is not registry.password_wo"}},
		{"two logins for one host", logins, at("base_registry", "username"), []string{"Two logins", "base_registry.username is not registry.username", "set registry alone"}},
		{"empty BuildKit address", block(`  buildkit = { address = "" }`), at("buildkit", "address"), []string{"Empty BuildKit address", "buildkit.address: ", "BUILDKIT_HOST"}},
		{"empty address of a node", block(`  buildkit = { nodes = { "linux/arm64" = "" } }`), at("buildkit", "nodes", key("linux/arm64")), []string{"Empty BuildKit address", `buildkit.nodes["linux/arm64"]: `}},
		{"address of a node", block(`  buildkit = { nodes = { "linux/arm64" = "tcp://x" } }`), at("buildkit", "nodes", key("linux/arm64")), []string{"Invalid BuildKit address", `buildkit.nodes["linux/arm64"]: "tcp://x"`}},
		{"port that is none", block(`  buildkit = { address = "tcp://h.example:99999" }`), at("buildkit", "address"), []string{"Invalid BuildKit address", "1 to 65535"}},
		{"TLS for nothing", block(`  buildkit = { address = "unix:///x", nodes = { "linux/arm64" = "unix:///y" }, tls = { ca = "/ca.pem" } }`), at("buildkit", "tls"), []string{"TLS"}},
		{"password with a line break", s.config(`registry = { username = "a", password_wo = "cnry-1\n" }`), at("registry", "password_wo"), []string{"Control character in a password", "trimspace"}},
		{"password of the provider with a line break", block(`  registries = { "h.example" = { username = "a", password = "cnry-1\n" } }`), at("registries", key("h.example"), "password"), []string{"Control character in a password", "trimspace"}},
		{"user with a line break", s.config(`registry = { username = "a\n", password_wo = "cnry-1" }`), at("registry", "username"), []string{"Control character in a user name", `"a\n"`, "trimspace"}},
		{"user of the base with a line break", s.config(`base_registry = { username = "a\n", password_wo = "cnry-1" }`), at("base_registry", "username"), []string{"Control character in a user name", "trimspace"}},
		{"user of the provider with a line break", block(`  registries = { "h.example" = { username = "a\n", password = "cnry-1" } }`), at("registries", key("h.example"), "username"), []string{"Control character in a user name", "trimspace"}},
		{"user of the index with a line break", s.config(fmt.Sprintf("lock = %q\n", sixLock) + `package_index = { url = "https://packages.example.com/simple/", username = "a\n", password_wo = "cnry-1" }`), at("package_index", "username"), []string{"User name that the package index cannot be sent", "a line break"}},
		{"key of E2B with a line break", block(`  e2b = { api_key = "e2b_cnry\n" }`), at("e2b", "api_key"), []string{"Control character in the E2B API key", "trimspace"}},
		{"BuildKit address", block(`  buildkit = { address = "podman-container://b" }`), at("buildkit", "address"), []string{"Invalid BuildKit address", `"podman-container" is not one of`, "tcp://"}},
		{"max_parallel", block(`  buildkit = { max_parallel = 0 }`), at("buildkit", "max_parallel"), []string{"Invalid number", "buildkit.max_parallel is 0", "at least 1"}},
		{"half a build", block(`  buildkit = { max_parallel = 1.5 }`), at("buildkit", "max_parallel"), []string{"Invalid number", "buildkit.max_parallel is 1.5", "a whole number"}},
		{"half a version", s.config(`registry = { username = "a", password_wo = "cnry-1", password_wo_version = 1.5 }`), at("registry", "password_wo_version"), []string{"Invalid number", "registry.password_wo_version is 1.5"}},
		{"half a version of the base's login", s.config(`base_registry = { username = "a", password_wo = "cnry-1", password_wo_version = 1.5 }`), at("base_registry", "password_wo_version"), []string{"Invalid number"}},
		{"half a version of the index's login", s.config(fmt.Sprintf("lock = %q\n", sixLock) + `package_index = { url = "https://packages.example.com/simple/", username = "a", password_wo = "cnry-1", password_wo_version = 0.1 }`), at("package_index", "password_wo_version"), []string{"Invalid number", "package_index.password_wo_version is 0.1"}},
		{"half a version of build secrets", s.config("build_secrets_wo = { a = \"cnry-1\" }\n  post_install = [{ command = \"true\" }]\n  build_secrets_wo_version = 1.5"), at("build_secrets_wo_version"), []string{"Invalid number"}},
		{"empty password", block(`  registries = { "h.example" = { username = "a", password = "" } }`), at("registries", key("h.example")), []string{`registries["h.example"]`, "empty", "DATALAYER_REGISTRIES"}},
		{"empty username", block(`  registries = { "h.example" = { username = "", password = "cnry-1" } }`), at("registries", key("h.example")), []string{`registries["h.example"]`, "empty", "DATALAYER_REGISTRIES"}},
		{"login before a registry host", block(`  registries = { "https://u:cnry-1@h.example" = { username = "a", password = "b" } }`), at("registries", key("https://u:cnry-1@h.example")), []string{"Registry address with a user name", "h.example"}},
		{"query after a registry host", block(`  registries = { "https://h.example/?token=cnry-1" = { username = "", password = "b" } }`), at("registries", key("https://h.example/?token=cnry-1")), []string{"Registry address not understood", "h.example"}},
		{"login before the domain of E2B", block(`  e2b = { api_key = "e2b_key", domain = "u:cnry-1@e2b.example" }`), at("e2b", "domain"), []string{"Not an E2B domain", "@e2b.example"}},
		{"login before the API of E2B", block(`  e2b = { api_key = "e2b_key", api_url = "u:cnry-1@e2b.example" }`), at("e2b", "api_url"), []string{"Not an address of the E2B API"}},
		{"login before the sandboxes of E2B", block(`  e2b = { api_key = "e2b_key", sandbox_url = "https://u:cnry-1@e2b.example" }`), at("e2b", "sandbox_url"), []string{"Not an address of E2B sandboxes"}},
		{"login before BuildKit's address", block(`  buildkit = { address = "u:cnry-1@h.example:1234" }`), at("buildkit", "address"), []string{"Invalid BuildKit address", "@h.example:1234"}},
		{"query after a node's address", block(`  buildkit = { nodes = { "linux/arm64" = "tcp://h.example:1234?token=cnry-1" } }`), at("buildkit", "nodes", key("linux/arm64")), []string{"Invalid BuildKit address", "h.example:1234?"}},
		{"login before an endpoint of AWS", block(`  aws = { endpoints = { sts = "https://u:cnry-1@sts.example" } }`), at("aws", "endpoints", "sts"), []string{"Invalid AWS endpoint"}},
		{"registry host", block(`  registries = { "team/env" = { username = "a", password = "cnry-1" } }`), at("registries", key("team/env")), []string{"team/env", "registry.example.com"}},
	})
}

func TestValidation_OfBuildInputs(t *testing.T) {
	s := newStackWithoutEngine(t)
	index := func(members string) string {
		return s.config(`package_index = { url = "https://packages.example.com/simple/", ` + members + ` }`)
	}
	address := func(url string) string { return s.config(fmt.Sprintf("package_index = { url = %q }", url)) }
	s.refused(t, []mistake{
		{"index without a scheme", address("packages.example.com/simple/"), at("package_index", "url"), []string{"Invalid package index", "https://packages.example.com/simple/"}},
		{"index with a blank at the end", address("https://packages.example.com/simple/ "), at("package_index", "url"), []string{"Invalid package index"}},
		{"index at a port that is none", address("https://packages.example.com:99999/simple/"), at("package_index", "url"), []string{"Invalid package index"}},
		{"index by FTP", address("ftp://u:cnry-1@packages.example.com/"), at("package_index", "url"), []string{"Invalid package index", `"ftp://…@packages.example.com/"`, "https:// or http://"}},
		{"index in a file", address("file:///srv/simple/"), at("package_index", "url"), []string{"Invalid package index", "file:///srv/simple/", "https:// or http://"}},
		{"index with a query by FTP", address("ftp://packages.example.com/?token=cnry-1"), at("package_index", "url"), []string{"Invalid package index", `"ftp://packages.example.com/?…"`}},
		{"index with a query and a line break", address("https://packages.example.com/simple/?token=cnry-1\n"), at("package_index", "url"), []string{"Invalid package index", "trimspace()"}},
		{"index with a fragment at a port that is none", address("https://packages.example.com:99999/simple/#cnry-1"), at("package_index", "url"), []string{"Invalid package index", "99999"}},
		{"index with a line break", address("https://packages.example.com/simple/\n"), at("package_index", "url"), []string{"Invalid package index", "trimspace()"}},
		{"password of the index with a line break", index(`username = "u", password_wo = "cnry-1\n"`), at("package_index", "password_wo"), []string{"Control character in a password", "trimspace"}},
		{"secret whose name starts with a dot", s.config(`build_secrets_wo = { ".npmrc" = "cnry-1" }`), at("build_secrets_wo", key(".npmrc")), []string{"Invalid name of a build secret", `".npmrc"`, "the first a letter, a digit"}},
		{"secret that is too large", s.config(`build_secrets_wo = { a = join("", [for i in range(600) : format("%1000s", "cnry")]) }`), at("build_secrets_wo", key("a")), []string{"Build secret is too large", "600000 bytes", "500 KiB"}},
		{"index with a login", address("https://u:cnry-1@packages.example.com/simple/"), at("package_index", "url"), []string{"Login in the address", "https://packages.example.com/simple/", "password_wo"}},
		{"path for certificates", index(`ca_certificates = "/etc/ssl/ca.pem"`), at("package_index", "ca_certificates"), []string{"No CA certificate for the package index", "not a path"}},
		{"no certificates", index(`ca_certificates = ""`), at("package_index", "ca_certificates"), []string{"No CA certificate for the package index"}},
		{"half a login", s.config(fmt.Sprintf("lock = %q\n", sixLock) + `package_index = { url = "https://packages.example.com/simple/", username = "u" }`), at("package_index"), []string{"Half a login", "set both or neither"}},
		{"the other half", index(`password_wo = "cnry-1"`), at("package_index"), []string{"Half a login", "set both or neither"}},
		{"no user name", index(`username = "", password_wo = "cnry-1"`), at("package_index", "username"), []string{"User name", "not empty"}},
		{"user name with a colon", index(`username = "a:b", password_wo = "cnry-1"`), at("package_index", "username"), []string{"User name", `"a:b"`, "colon"}},
		{"no password", index(`username = "u", password_wo = ""`), at("package_index", "password_wo"), []string{"Empty password", "Remove username"}},
		{"secret that is null", s.config("build_secrets_wo = { a = null, b = \"cnry-1\" }\n  post_install = [{ command = \"true\" }]"), at("build_secrets_wo", key("a")), []string{"Build secret without a value", `"a" is null`}},
		{"secret with a path for a name", s.config(`build_secrets_wo = { "a/b" = "cnry-1" }`), at("build_secrets_wo", key("a/b")), []string{"Invalid name of a build secret", `"a/b"`}},
		{"secret with a name of ours", s.config(`build_secrets_wo = { "datalayer-x" = "cnry-1" }`), at("build_secrets_wo", key("datalayer-x")), []string{"Invalid name of a build secret", `"datalayer-"`}},
		{"generator without an SBOM", s.config(`attestations = { sbom = false, sbom_generator = "h.example/g@sha256:` + strings.Repeat("a", 64) + `" }`), at("attestations", "sbom_generator"), []string{"SBOM generator without an SBOM", "Remove one"}},
	})
}

// TestValidation_WarnsOfWhatNothingUses has plans that are good otherwise.
func TestValidation_WarnsOfWhatNothingUses(t *testing.T) {
	s := newStackWithoutEngine(t)
	for summary, arguments := range map[string]string{
		"Package index without a lock":        `package_index = { url = "https://packages.example.com/simple/" }`,
		"Build secrets that no step is given": `build_secrets_wo = { a = "some-secret" }`,
		"Version of no build secrets":         `build_secrets_wo_version = 2`,
	} {
		t.Run(summary, func(t *testing.T) {
			s.forget()
			s.runUntil(t, func(*terraform.State) error {
				s.warned(t, summary)
				return nil
			}, resource.TestStep{Config: s.config(arguments), PlanOnly: true, ExpectNonEmptyPlan: true})
		})
	}
}

package provider_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// guarded is a stack whose registry and whose base both ask for a login, each password from another source.
type guarded struct {
	*stack
	cli      *cli
	caches   *enginetest.Registry
	index    *enginetest.Index
	secrets  enginetest.Canaries
	seen     seenUsers
	proxied  *atomic.Int64
	careless careless
}

func newGuarded(t *testing.T) *guarded {
	canary := enginetest.Canary
	g := &guarded{secrets: enginetest.Canaries{
		"registry.password_wo": canary("wo"), "wrong registry.password_wo": canary("wrong"), "base_registry.password_wo": canary("base"),
		"provider registries": canary("provider"), "DATALAYER_REGISTRIES": canary("variable"),
		"package_index.password_wo": enginetest.IndexPassword, "build_secrets_wo": canary("licence"),
		"HTTPS_PROXY": canary("proxy"), "HTTP_PROXY": canary("plain"), "CA bundle": canary("ca"),
	}}
	only := func(writer string) func(user, method, path string) bool {
		return func(user, method, _ string) bool {
			g.seen.add(user)
			return user == writer || method != http.MethodPost
		}
	}
	g.stack = newStack(t, g.careless.middleware, enginetest.BasicAuth(map[string]string{"writer": g.secrets["registry.password_wo"], "reader": g.secrets["provider registries"]}, only("writer")))
	bases := enginetest.StartRegistry(t, enginetest.BasicAuth(map[string]string{"puller": g.secrets["base_registry.password_wo"]}, only("nobody")))
	g.caches = enginetest.StartRegistry(t, enginetest.BasicAuth(map[string]string{"keeper": g.secrets["DATALAYER_REGISTRIES"]}, only("keeper")))
	base := bases.PushBase(t)
	g.index = enginetest.StartIndex(t)
	g.cli = g.newCLI(t)
	proxy, proxied := startProxy(t, "tunnel", g.secrets["HTTPS_PROXY"])
	g.proxied = proxied
	bundle := "# " + g.secrets["CA bundle"] + "\n"
	if g.CABundle != "" {
		trusted, err := os.ReadFile(g.CABundle)
		if err != nil {
			t.Fatal(err)
		}
		bundle += string(trusted)
	}
	bundlePath := filepath.Join(t.TempDir(), "bundle.pem")
	if err := os.WriteFile(bundlePath, []byte(bundle), 0o600); err != nil {
		t.Fatal(err)
	}
	if g.CABundle != "" {
		g.cli.env["DATALAYER_CA_BUNDLE"] = bundlePath
	}
	g.cli.env["HTTPS_PROXY"] = proxy
	g.cli.env["HTTP_PROXY"] = (&url.URL{Scheme: "http", Host: "127.0.0.1:9", User: url.UserPassword("tunnel", g.secrets["HTTP_PROXY"])}).String()
	g.cli.env["DATALAYER_REGISTRIES"] = fmt.Sprintf(`{%q: {"username": "keeper", "password": %q}}`, g.caches.Host, g.secrets["DATALAYER_REGISTRIES"])
	for variable, name := range map[string]string{
		"password": "registry.password_wo", "base_password": "base_registry.password_wo", "provider_password": "provider registries",
		"index_password": "package_index.password_wo", "licence": "build_secrets_wo",
	} {
		g.cli.env["TF_VAR_"+variable] = g.secrets[name]
		g.cli.write(variable+".tf", fmt.Sprintf("variable %q {\n  type      = string\n  ephemeral = true\n}\n", variable))
	}
	// A step that is careless too: it prints the secret as it is, encoded, and encoded with something before it.
	prints := `env; cd /run/secrets && cat licence && base64 -w0 licence && printf 'k:%s' "$(cat licence)" | base64 -w0; echo`
	g.cli.write("main.tf", fmt.Sprintf(`
provider "datalayer" {
  registries = { %q = { username = "reader", password = var.provider_password } }
}

resource "datalayer_environment" "e" {
  name          = "env-a"
  base          = %q
  base_registry = { username = "puller", password_wo = var.base_password }
  repository    = %q
  registry      = { username = "writer", password_wo = var.password }
  lock          = %q
  package_index = { url = %q, ca_certificates = %q, username = %q, password_wo = var.index_password }
  post_install  = [{ command = %q, network = true }]
  cache         = { export = "%s/team/cache:main" }

  build_secrets_wo = { licence = var.licence }

  attestations = { sbom_generator = %q, provenance = "max" }

  lifecycle { create_before_destroy = true }
}
`, g.registry.Host, base, g.repository, g.index.Lock, g.index.URL, g.index.CA.PEM, g.index.Username, prints, g.caches.Host, g.GeneratorReference))
	return g
}

// unseen checks all places where a secret could have been kept.
func (g *guarded) unseen(t *testing.T, run string, o outcome) {
	t.Helper()
	unsaid(t, g.secrets, run, o)
	if files := g.secrets.NowhereIn(t, g.cli.dir); files == 0 {
		t.Error("no file is in the working directory")
	}
	g.cli.noFilesLeft()
}

func TestCLI_SecretsAreKeptNowhere(t *testing.T) {
	g := newGuarded(t)
	c := g.cli
	g.unseen(t, "plan", c.expect(0, "plan", "-out=plan"))
	g.unseen(t, "show of the plan", c.expect(0, "show", "-json", "plan"))
	g.unseen(t, "apply", c.expect(0, "apply", "plan"))
	g.unseen(t, "show of the state", c.expect(0, "show", "-json"))
	g.unseen(t, "plan afterwards", c.expect(0, "plan", "-detailed-exitcode", "-out=plan"))
	for _, user := range []string{"writer", "reader", "puller", "keeper"} {
		if !g.seen.has(user) {
			t.Errorf("%s never logged in, so its password was not tried", user)
		}
	}
	if g.proxied.Load() == 0 {
		t.Error("the proxy was never used, so its password was not tried")
	}
	g.lookedAt(t, "image", g.registry.Sweep(t, g.secrets), ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageConfig,
		ocispec.MediaTypeImageLayerGzip, inToto+spdx, inToto+provenance)
	g.lookedAt(t, "build cache", g.caches.Sweep(t, g.secrets), ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageLayerGzip, "application/vnd.buildkit.cacheconfig.v0")

	c.env["TF_VAR_password"] = g.secrets["wrong registry.password_wo"]
	before := c.only()
	g.careless.Store(new(isUpload))
	o := c.expect(1, "apply", "-auto-approve", "-replace="+address)
	g.unseen(t, "apply with a wrong password", o)
	o.says(t, g.registry.Host+" answered 401", "Push to the repository is not possible")

	c.env["TF_VAR_password"] = g.secrets["registry.password_wo"]
	g.careless.Store(nil)
	g.holdsOnly(t, before)
	g.unseen(t, "destroy", c.expect(0, "destroy", "-auto-approve"))
	if left := g.registry.Left(t); len(left) > 0 {
		t.Errorf("left in the registry: %v", left)
	}
}

// The push is BuildKit's, which repeats what the registry answers.
func TestCLI_RefusedPushHidesTheLogin(t *testing.T) {
	secret := enginetest.Canary("push")
	tests := map[string]func(s *stack, c *cli) (provider, arguments string){
		"password_wo": func(_ *stack, c *cli) (string, string) {
			c.env["TF_VAR_password"] = secret
			return "", `registry = { username = "writer", password_wo = var.password }`
		},
		"provider registries": func(s *stack, c *cli) (string, string) {
			c.env["TF_VAR_password"] = secret
			return fmt.Sprintf(`provider "datalayer" { registries = { %q = { username = "writer", password = var.password } } }`, s.registry.Host), ""
		},
		"DATALAYER_REGISTRIES": func(s *stack, c *cli) (string, string) {
			c.env["DATALAYER_REGISTRIES"] = fmt.Sprintf(`{%q: {"username": "writer", "password": %q}}`, s.registry.Host, secret)
			return "", ""
		},
		"Docker configuration": func(s *stack, c *cli) (string, string) {
			c.env["DOCKER_CONFIG"] = t.TempDir()
			login := base64.StdEncoding.EncodeToString([]byte("writer:" + secret))
			if err := os.WriteFile(filepath.Join(c.env["DOCKER_CONFIG"], "config.json"), fmt.Appendf(nil, `{"auths": {%q: {"auth": %q}}}`, s.registry.Host, login), 0o600); err != nil {
				t.Fatal(err)
			}
			return "", ""
		},
	}
	for name, login := range tests {
		t.Run(name, func(t *testing.T) {
			var registry careless
			registry.Store(new(isManifest))
			s := newStack(t, registry.middleware, enginetest.BasicAuth(map[string]string{"writer": secret}, nil))
			c := s.newCLI(t)
			c.env["TF_VAR_password"] = "unused"
			provider, arguments := login(s, c)
			c.write("main.tf", provider+passwordVariable+s.config(arguments))
			o := c.expect(1, "apply", "-auto-approve")
			o.says(t, "Image was built but not pushed", s.registry.Host)
			unsaid(t, enginetest.Canaries{name: secret}, "apply", o)
		})
	}
}

const inToto = "application/vnd.in-toto+json "

// lookedAt checks that a search saw each kind of content.
func (g *guarded) lookedAt(t *testing.T, what string, kinds map[string]int, want ...string) {
	t.Helper()
	for _, kind := range want {
		if kinds[kind] == 0 {
			t.Errorf("no %q of the %s was searched: %v", kind, what, kinds)
		}
	}
}

// unsaid checks all that a run wrote.
func unsaid(t *testing.T, secrets enginetest.Canaries, run string, o outcome) {
	t.Helper()
	for where, text := range map[string]string{"stdout": o.stdout, "stderr": o.stderr, "trace log": o.log} {
		for _, name := range secrets.Found([]byte(text)) {
			t.Errorf("%s is in the %s of %s", name, where, run)
		}
	}
}

package provider_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// guarded is a stack whose registry and whose base both ask for a login, each password from another source.
type guarded struct {
	*stack
	cli      *cli
	secrets  canaries
	seen     seenUsers
	proxied  *atomic.Int64
	careless careless
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{secrets: canaries{
		"password_wo": canary("wo"), "provider registries": canary("provider"), "DATALAYER_REGISTRIES": canary("variable"),
		"proxy password": canary("proxy"), "wrong password_wo": canary("wrong"), "CA bundle": canary("ca"),
	}}
	noUpload := func(user, method, _ string) bool {
		g.seen.add(user)
		return user == "writer" || method != http.MethodPost
	}
	g.stack = newStack(t, g.careless.middleware, enginetest.BasicAuth(map[string]string{"writer": g.secrets["password_wo"], "reader": g.secrets["provider registries"]}, noUpload))
	bases := enginetest.StartRegistry(t, enginetest.BasicAuth(map[string]string{"puller": g.secrets["DATALAYER_REGISTRIES"]}, noUpload))
	base := bases.PushBase(t)
	g.cli = g.newCLI(t)
	proxy, proxied := startProxy(t, "tunnel", g.secrets["proxy password"])
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
	g.cli.env["DATALAYER_REGISTRIES"] = fmt.Sprintf(`{%q: {"username": "puller", "password": %q}}`, bases.Host, g.secrets["DATALAYER_REGISTRIES"])
	g.cli.env["TF_VAR_password"] = g.secrets["password_wo"]
	g.cli.env["TF_VAR_provider_password"] = g.secrets["provider registries"]
	// An unknown hash more makes a lock that no build before had, so that the package index is asked through the proxy.
	lock := strings.Replace(testdata(t, "six.lock"), "six==1.17.0", fmt.Sprintf("six==1.17.0 --hash=sha256:%064x", time.Now().UnixNano()), 1)
	config := passwordVariable + fmt.Sprintf(`
variable "provider_password" {
  type      = string
  ephemeral = true
}

provider "datalayer" {
  registries = { %q = { username = "reader", password = var.provider_password } }
}

resource "datalayer_environment" "e" {
  name       = "env-a"
  base       = %q
  repository = %q
  registry   = { username = "writer", password_wo = var.password }
  lock       = %q

  attestations = { sbom = false, provenance = "max" }

  lifecycle { create_before_destroy = true }
}
`, g.registry.Host, base, g.repository, lock)
	g.cli.write("main.tf", config)
	return g
}

// unseen checks all places where a secret could have been kept.
func (g *guarded) unseen(t *testing.T, run string, o outcome) {
	t.Helper()
	g.secrets.unsaid(t, run, o)
	if files := g.secrets.nowhereIn(t, g.cli.dir); files == 0 {
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
	for _, user := range []string{"writer", "reader", "puller"} {
		if !g.seen.has(user) {
			t.Errorf("%s never logged in, so its password was not tried", user)
		}
	}
	if g.proxied.Load() == 0 {
		t.Error("the proxy was never used, so its password was not tried")
	}
	if files := g.secrets.nowhereIn(t, g.storage(t)); files < 5 {
		t.Errorf("%d files are in the registry's storage, want a manifest, a config and layers", files)
	}

	c.env["TF_VAR_password"] = g.secrets["wrong password_wo"]
	before := c.only()
	g.careless.Store(new(isUpload))
	o := c.expect(1, "apply", "-auto-approve", "-replace="+address)
	g.unseen(t, "apply with a wrong password", o)
	o.says(t, g.registry.Host+" answered 401", "Push to the repository is not possible")

	c.env["TF_VAR_password"] = g.secrets["password_wo"]
	g.careless.Store(nil)
	g.holdsOnly(t, before)
	g.unseen(t, "destroy", c.expect(0, "destroy", "-auto-approve"))
	if left := g.registry.Left(t); len(left) > 0 {
		t.Errorf("left in the registry: %v", left)
	}
}

// The push is BuildKit's, which repeats what the registry answers.
func TestCLI_RefusedPushHidesTheLogin(t *testing.T) {
	secret := canary("push")
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
			canaries{name: secret}.unsaid(t, "apply", o)
		})
	}
}

// storage is the directory of the stack's registry, found by the one repository in it.
func (s *stack) storage(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(t.TempDir()), "*", "registry", "docker", "registry", "v2", "repositories", "team", "env"))
	if err != nil || len(found) != 1 {
		t.Fatalf("storage of the registry: %v, %v", found, err)
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(found[0])))
}

// careless refuses the requests that fit by repeating the login, as some services do.
type careless struct {
	atomic.Pointer[func(*http.Request) bool]
}

func (c *careless) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fits := c.Load()
		user, password, login := r.BasicAuth()
		if fits == nil || !(*fits)(r) || !login {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"errors": [{"code": "UNAUTHORIZED", "message": "%s cannot log in with %s: %s"}]}`, user, password, r.Header.Get("Authorization"))
	})
}

// seenUsers are the users that logged in.
type seenUsers struct{ users sync.Map }

func (s *seenUsers) add(user string)      { s.users.Store(user, true) }
func (s *seenUsers) has(user string) bool { _, ok := s.users.Load(user); return ok }

// startProxy starts a proxy that tunnels for those who know the password, and counts the tunnels.
func startProxy(t *testing.T, user, password string) (address string, tunnels *atomic.Int64) {
	t.Helper()
	tunnels = new(atomic.Int64)
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != want {
			w.Header().Set("Proxy-Authenticate", "Basic")
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		upstream, err := new(net.Dialer).DialContext(r.Context(), "tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = upstream.Close() }()
		tunnels.Add(1)
		w.WriteHeader(http.StatusOK)
		client, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = client.Close() }()
		go func() { _, _ = io.Copy(upstream, buffered) }()
		_, _ = io.Copy(client, upstream)
	}))
	t.Cleanup(server.Close)
	parsed, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	parsed.User = url.UserPassword(user, password)
	return parsed.String(), tunnels
}

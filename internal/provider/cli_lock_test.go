package provider_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/resolve"
)

// newLockCLI is a CLI on a machine full of configuration for uv and pip, none of which may count.
func newLockCLI(t *testing.T) (*lockBench, *cli) {
	t.Helper()
	c := newCLI(t) // First: the provider is compiled with the home that has Go's modules.
	b := newLockBench(t, newStackWithoutEngine(t))
	nowhere := "https://u:cnry-stray@localhost:1/simple"
	folder := t.TempDir() // Not the CLI's home: what is left there is counted.
	for name, text := range map[string]string{
		"UV_CONFIG_FILE": "index-url = \"" + nowhere + "\"\n", "PIP_CONFIG_FILE": "[global]\nindex-url = " + nowhere + "\n", "NETRC": "machine localhost login u password wrong\n",
	} {
		c.env[name] = filepath.Join(folder, name)
		must(t, os.WriteFile(c.env[name], []byte(text), 0o600))
	}
	for _, name := range []string{"UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "PIP_INDEX_URL"} {
		c.env[name] = nowhere
	}
	c.env["UV_OFFLINE"], c.env["UV_EXCLUDE_NEWER"], c.env["PIP_NO_INDEX"] = "1", "2001-01-01", "1"
	c.env["PATH"], c.env["TF_VAR_password"] = os.Getenv("PATH"), enginetest.IndexPassword
	return b, c
}

// uvCacheOnly checks that nothing is left in home and temporary folder but uv's own cache.
func uvCacheOnly(t *testing.T, c *cli) {
	t.Helper()
	for _, path := range append(filesBelow(t, c.home), filesBelow(t, c.temp)...) {
		cache := filepath.Join(c.home, ".cache")
		if path != cache && path != filepath.Join(c.home, ".terraform.d") && !strings.HasPrefix(path+"/", filepath.Join(cache, "uv")+"/") {
			t.Errorf("left in the home or the temporary folder: %s", path)
		}
	}
}

func TestCLI_LockHoldsNoSecretAndNoMachine(t *testing.T) {
	b, c := newLockCLI(t)
	secrets := enginetest.Canaries{"index password": enginetest.IndexPassword, "wrong password": "cnry-wrong/pass+word", "stray password": "cnry-stray", "proxy password": enginetest.Canary("proxy")}
	unseen := func(run string, o outcome) outcome {
		t.Helper()
		unsaid(t, secrets, run, o)
		if files := secrets.NowhereIn(t, c.dir); files == 0 {
			t.Error("no file is in the working directory")
		}
		if len(filesBelow(t, c.home)) > 0 {
			secrets.NowhereIn(t, c.home)
		}
		uvCacheOnly(t, c)
		return o
	}
	proxy, proxied := startProxy(t, "tunnel", secrets["proxy password"])
	c.env["HTTPS_PROXY"] = proxy
	c.write("main.tf", b.lock(`"app"`, ""))
	unseen("plan", c.expect(0, "plan", "-out=plan"))
	unseen("apply", c.expect(0, "apply", "plan"))
	unseen("show", c.expect(0, "show", "-json"))
	if proxied.Load() == 0 {
		t.Error("the proxy was never used, so its password was not tried")
	}
	state, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	must(t, err)
	content := fmt.Sprint(c.instances()[0].Attributes["content"])
	for _, machine := range []string{c.home, c.temp, "localhost", "/"} {
		if strings.Contains(content, machine) || machine != "/" && machine != "localhost" && strings.Contains(string(state), machine) {
			t.Errorf("the state shows %s:\n%s", machine, state)
		}
	}
	c.env["TF_VAR_password"] = secrets["wrong password"]
	c.write("main.tf", b.lock(`"app", "lib"`, ""))
	c.env["HOME"] = t.TempDir() // Its cache would answer.
	o := unseen("apply with a wrong password", c.expect(1, "apply", "-auto-approve"))
	o.says(t, "Package index refused uv", "index.password_wo")
	for _, machine := range []string{c.home, c.temp + "/", "datalayer-lock-"} {
		if strings.Contains(o.stdout+o.stderr, machine) {
			t.Errorf("the error shows %s: %s", machine, o.stderr)
		}
	}
	// Another machine, with another password, and the index is down.
	b.index.Stop()
	c.write("main.tf", b.lock(`"app"`, ""))
	c.env = map[string]string{"HOME": t.TempDir(), "TMPDIR": c.temp, "TF_CLI_CONFIG_FILE": c.env["TF_CLI_CONFIG_FILE"], "TF_INPUT": "0", "TF_VAR_password": "cnry-elsewhere"}
	c.planIsEmpty()
	c.expect(0, "destroy", "-auto-approve")
}

func TestCLI_StoppedLockLeavesNothing(t *testing.T) {
	for name, stop := range map[string]func(*cliRun){"interrupted": (*cliRun).interrupt, "killed": (*cliRun).kill, "CLI killed": (*cliRun).killAlone} {
		t.Run(name, func(t *testing.T) {
			b, c := newLockCLI(t)
			argument := fmt.Sprintf("600.%d", time.Now().UnixNano())
			slow := filepath.Join(t.TempDir(), "uv")
			must(t, os.WriteFile(slow, []byte(fmt.Sprintf("#!/bin/sh\n[ \"$1\" = --version ] && { echo uv %s; exit; }\nexec sleep %s\n", resolve.UVVersion, argument)), 0o700))
			c.write("main.tf", strings.Replace(b.lock(`"app"`, ""), b.uv, slow, 1))
			run := c.start("apply", "-auto-approve")
			run.waitForLog("uv resolves")
			eventually(t, cliLimit, func() error {
				if len(processesWith(t, argument)) == 0 {
					return fmt.Errorf("uv has not started")
				}
				return nil
			})
			stop(run)
			o := run.wait(cancelLimit)
			if o.code == 0 {
				t.Errorf("a stopped apply ended with 0:\n%s", o.stdout)
			}
			if name == "interrupted" {
				o.says(t, "Resolution was stopped", "No lock was made.")
				uvCacheOnly(t, c)
			}
			if found := c.instances(); len(found) > 0 {
				t.Errorf("the state has %v", found)
			}
			eventually(t, cancelLimit, func() error {
				if found := processesWith(t, argument); len(found) > 0 {
					return fmt.Errorf("uv still runs as %v", found)
				}
				return nil
			})
			c.write("main.tf", b.lock(`"app"`, ""))
			c.apply()
			c.expect(0, "destroy", "-auto-approve")
		})
	}
}

// TestCLI_StoppedLockOnABaseSaysSo interrupts a step on a base that waits for an index which never answers.
func TestCLI_StoppedLockOnABaseSaysSo(t *testing.T) {
	s := newStack(t)
	c := s.newCLI(t)
	var asked atomic.Int64
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	}))
	defer silent.Close()
	c.write("main.tf", fmt.Sprintf(`
resource "datalayer_package_lock" "l" {
  requirements = ["app"]
  base         = %q
  index        = { url = "%s/simple/" }
}
`, s.BaseReference, silent.URL))
	run := c.start("apply", "-auto-approve")
	eventually(t, cliLimit, func() error {
		if asked.Load() == 0 {
			return errors.New("the index was not asked")
		}
		return nil
	})
	run.interrupt()
	o := run.wait(cancelLimit)
	if o.code == 0 {
		t.Errorf("a stopped apply ended with 0:\n%s", o.stdout)
	}
	o.says(t, "Resolution was stopped", s.BaseReference, "No lock was made.")
	if found := c.instances(); len(found) > 0 {
		t.Errorf("the state has %v", found)
	}
	c.noFilesLeft()
}

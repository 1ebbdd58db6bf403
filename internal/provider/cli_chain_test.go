package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// TestCLI_SameInputsPlanNothing has base, lock and environment in one configuration, and takes away one after another what a
// plan must not need: an index that stands still, one that answers, and the machine that applied with its cache, daemon and login.
func TestCLI_SameInputsPlanNothing(t *testing.T) {
	s := newStack(t)
	c := s.newCLI(t)
	b := newLockBench(t, s)
	c.env["TF_VAR_password"] = enginetest.IndexPassword
	config := s.baseConfig(s.PlainDebianReference, "") + b.onBase(t, `"app"`, "base = datalayer_base_image.b.reference") +
		strings.Replace(s.config(fmt.Sprintf(`
  lock           = datalayer_package_lock.l.content
  python_version = datalayer_base_image.b.python_version
  base_packages  = datalayer_base_image.b.packages
  package_index  = { url = %q, ca_certificates = %q, username = %q, password_wo = var.password }
`, b.index.URL, b.index.CA.PEM, b.index.Username)), fmt.Sprintf("base       = %q", s.BaseReference), "base = datalayer_base_image.b.reference", 1)
	c.write("main.tf", config)
	c.apply().says(t, "3 added, 0 changed, 0 destroyed")
	asked := b.index.Requests()
	c.planIsEmpty()

	for _, name := range []string{"app", "lib"} {
		b.index.Add(t, name, "2.0", "py3-none-any")
	}
	c.planIsEmpty()
	if now := b.index.Requests(); now != asked {
		t.Errorf("%d requests of plans reached the index", now-asked)
	}

	b.index.Stop()
	c.planIsEmpty()

	state, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	must(t, err)
	other := newCLI(t)
	other.env["TF_VAR_password"] = "cnry-elsewhere"
	other.env["HTTPS_PROXY"], other.env["HTTP_PROXY"] = "http://127.0.0.1:1", "http://127.0.0.1:1" // No index anywhere; the registry is on loopback.
	other.write("main.tf", config)
	other.write("terraform.tfstate", string(state))
	other.planIsEmpty()
	other.destroy(s)
	other.noFilesLeft()
}

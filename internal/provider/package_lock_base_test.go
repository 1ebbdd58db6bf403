package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/hashicorp/terraform-plugin-testing/compare"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/resolve"
)

// onBase is a lock whose target is the base's. uv itself comes from the real index.
func (b *lockBench) onBase(t *testing.T, requirements, arguments string) string {
	t.Helper()
	config := b.lockOf(requirements, arguments, fmt.Sprintf("extra_urls = [%q]", resolve.DefaultIndex))
	return strings.Replace(config, fmt.Sprintf("%q", b.index.CA.PEM), fmt.Sprintf("%q", string(b.index.CA.PEM)+string(enginetest.CABundle(t))), 1)
}

// TestPackageLock_FeedsAnEnvironment makes a lock on the base, and an image of it, with nothing on this machine.
func TestPackageLock_FeedsAnEnvironment(t *testing.T) {
	b := newLockBench(t, newStack(t))
	config := func(base, requirements string) string {
		return b.onBase(t, requirements, fmt.Sprintf("base = %q", base)) + b.config(fmt.Sprintf(`
  lock           = datalayer_package_lock.l.content
  python_version = datalayer_package_lock.l.python_version
  package_index  = { url = %q, ca_certificates = %q, username = %q, password_wo = var.password }
`, b.index.URL, b.index.CA.PEM, b.index.Username))
	}
	other := strings.Replace(b.BaseReference, "/base@", "/base:elsewhere@", 1)
	equal := statecheck.CompareValuePairs(lockAddress, tfjsonpath.New("digest"), address, tfjsonpath.New("lock_digest"), compare.ValuesSame())
	b.run(t,
		planned(b.step(config(b.BaseReference, `"app"`), b.holds(t), equal, lockedPackages(map[string]string{"app": "1.0", "lib": "1.0"}),
			locked("python_version", knownvalue.StringExact(b.BasePython)), locked("python_platform", matching("-manylinux_2_")), locked("runner", knownvalue.StringExact("buildkit")),
			known("packages", knownvalue.MapExact(map[string]knownvalue.Check{"app": knownvalue.StringExact("1.0"), "lib": knownvalue.StringExact("1.0")})),
		), plancheck.ResourceActionCreate, plancheck.ExpectUnknownValue(lockAddress, tfjsonpath.New("python_platform"))),
		// Another spelling of the base's address has the same content: nothing is resolved or built.
		planned(b.asksNothing(t, b.step(config(other, `"app"`), b.holds(t), equal)), plancheck.ResourceActionUpdate, plancheck.ExpectResourceAction(address, plancheck.ResourceActionNoop)),
		planned(b.step(config(other, `"lib"`), b.holds(t), equal, lockedPackages(map[string]string{"lib": "1.0"})), plancheck.ResourceActionUpdate,
			plancheck.ExpectResourceAction(address, plancheck.ResourceActionCreateBeforeDestroy), plancheck.ExpectKnownValue(lockAddress, tfjsonpath.New("python_version"), knownvalue.StringExact(b.BasePython))),
	)
}

func TestPackageLock_BaseThatDoesNotFit(t *testing.T) {
	b := newLockBench(t, newStack(t))
	base := fmt.Sprintf("base = %q\n", b.BaseReference)
	for name, tt := range map[string]struct {
		arguments string
		says      []string
	}{
		"Python":   {base + `python_version = "3.8"`, []string{"Base does not fit the lock", "python_version is 3.8, and the base has " + b.BasePython}},
		"platform": {base + `python_platform = "aarch64-manylinux_2_28"`, []string{"Base does not fit the lock", "linux/amd64, not linux/arm64"}},
		"no labels": {base + fmt.Sprintf("runner = \"local\"\nuv_path = %q\npython_version = \"3.13\"", b.uv),
			[]string{"Base does not fit the lock", "its labels do not tell its kernel stack", "ipykernel, jupyter-client, jupyter-server", `runner = "buildkit"`}},
		"gone": {fmt.Sprintf("base = \"%s/nothing@sha256:%064d\"", b.RegistryHost, 1), []string{"Base image does not exist", "/nothing@sha256:", "404 Not Found"}},
	} {
		t.Run(name, func(t *testing.T) {
			b.run(t, resource.TestStep{Config: b.onBase(t, `"app"`, tt.arguments), ConfigVariables: password(enginetest.IndexPassword), ExpectError: says(tt.says...)})
		})
	}
}

// TestPackageLock_LocalReadsTheLabelsOfABase needs no daemon: a base of this provider says what a lock must know.
func TestPackageLock_LocalReadsTheLabelsOfABase(t *testing.T) {
	s := newStackWithoutEngine(t)
	b := newLockBench(t, s)
	b.index.Add(t, "ipykernel", "6.1.0", "py3-none-any")
	b.index.Add(t, "ipykernel", "7.0", "py3-none-any")
	b.index.Add(t, "built", "1.0", "cp312-cp312-manylinux_2_28_aarch64")
	digest := s.foreignImage(t, [2]string{"linux", "arm64"}, map[string]any{"Labels": map[string]string{
		"io.datalayer.environment.python-version": "3.12", "io.datalayer.base.packages": "ipykernel==6.1.0 jupyter-client==8.1 six==1.0",
	}})
	on := func(digest string) string {
		return fmt.Sprintf("base = \"%s@%s\"\nrunner = \"local\"\nuv_path = %q\n", s.repository, digest, b.uv)
	}
	arguments := on(digest)
	s.run(t,
		b.step(b.lockOf(`"ipykernel", "built"`, arguments, ""), lockedPackages(map[string]string{"ipykernel": "6.1.0", "built": "1.0"}),
			locked("python_version", knownvalue.StringExact("3.12")), locked("python_platform", knownvalue.StringExact("aarch64-manylinux_2_28"))),
		resource.TestStep{Config: b.lockOf(`"ipykernel>6.1.0"`, arguments, ""), ConfigVariables: password(enginetest.IndexPassword), ExpectError: says("Requirements cannot be resolved", "ipykernel==6.1.0")},
		resource.TestStep{Config: b.lockOf(`"ipykernel"`, arguments+`python_version = "3.13"`, ""), ConfigVariables: password(enginetest.IndexPassword), ExpectError: says("Base does not fit the lock", "python_version is 3.13, and the base has 3.12")},
	)
	// A base of this release tells its C library too.
	digest = s.foreignImage(t, [2]string{"linux", "amd64"}, map[string]any{"Labels": map[string]string{
		"io.datalayer.environment.python-version": "3.12", "io.datalayer.base.packages": "ipykernel==6.1.0", "io.datalayer.base.libc": "glibc 2.36",
	}})
	refused := func(platform string, phrases ...string) resource.TestStep {
		return resource.TestStep{Config: b.lockOf(`"app"`, on(digest)+fmt.Sprintf("python_platform = %q", platform), ""), ConfigVariables: password(enginetest.IndexPassword),
			ExpectError: says(append([]string{"Base does not fit the lock", "python_platform is " + platform}, phrases...)...)}
	}
	s.run(t,
		refused("x86_64-unknown-linux-musl", "it is for musl, and the base has glibc 2.36"),
		refused("x86_64-manylinux_2_40", "it needs glibc 2.40, and the base has glibc 2.36"),
		b.step(b.lockOf(`"app"`, on(digest), ""), locked("python_platform", knownvalue.StringExact("x86_64-manylinux_2_36"))),
		b.step(b.lockOf(`"app"`, on(digest)+`python_platform = "x86_64-manylinux_2_28"`, ""), locked("python_platform", knownvalue.StringExact("x86_64-manylinux_2_28"))),
	)
}

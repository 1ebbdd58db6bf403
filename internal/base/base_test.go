package base_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
)

func shipped(t *testing.T) *lock.Lock {
	t.Helper()
	locked, err := lock.Parse(base.KernelLock)
	if err != nil {
		t.Fatal(err)
	}
	return locked
}

// The one lock serves every Python that is promised, and has all that its input names.
func TestShippedKernelLockIsWholeOnEveryPython(t *testing.T) {
	input, err := os.ReadFile("kernel.in")
	if err != nil {
		t.Fatal(err)
	}
	if wanted := strings.Fields(string(input)); !slices.Equal(wanted, environment.KernelPackages) {
		t.Errorf("kernel.in asks for %q, want the kernel stack %q", wanted, environment.KernelPackages)
	}
	if err := base.CheckKernelLock(shipped(t)); err != nil {
		t.Error(err)
	}
	for _, python := range []string{"3.11.2", "3.11.14", "3.12.12", "3.13.5", "3.14.0"} {
		packages, known, err := shipped(t).Packages([]lock.Target{{Python: python, Platform: "linux/amd64"}})
		if err != nil || !known {
			t.Errorf("Python %s: known is %v, %v", python, known, err)
		}
		for _, name := range environment.KernelPackages {
			if packages[name] == "" {
				t.Errorf("Python %s gets no %s", python, name)
			}
		}
	}
}

func TestKernelLockThatLacksAPackage(t *testing.T) {
	pinned := func(pin string) string { return pin + " --hash=sha256:" + strings.Repeat("1", 64) + "\n" }
	servers := pinned("jupyter-client==8.10.0") + pinned("jupyter-server==2.18.0")
	amd64, arm64 := lock.Target{Python: "3.13.5", Platform: "linux/amd64"}, lock.Target{Python: "3.13.5", Platform: "linux/arm64"}
	for name, test := range map[string]struct {
		text    string
		targets []lock.Target
		want    string
	}{
		"not there":            {pinned("ipykernel==7.4.0"), nil, "it lacks jupyter-client, jupyter-server on Linux"},
		"of no Linux":          {servers + pinned("ipykernel==7.4.0 ; sys_platform == 'win32'"), nil, "it lacks ipykernel on Linux"},
		"of another Python":    {servers + pinned("ipykernel==7.4.0 ; python_full_version < '3.10'"), []lock.Target{amd64}, "it lacks ipykernel on linux/amd64, Python 3.13.5"},
		"of one machine":       {servers + pinned("ipykernel==7.4.0 ; platform_machine == 'x86_64'"), []lock.Target{amd64, arm64}, "it lacks ipykernel on linux/arm64, Python 3.13.5"},
		"of the machine":       {servers + pinned("ipykernel==7.4.0 ; platform_machine == 'x86_64'"), []lock.Target{amd64}, ""},
		"of a Python unknown":  {servers + pinned("ipykernel==7.4.0 ; python_full_version < '3.10'"), nil, ""},
		"one for every Python": {servers + pinned("ipykernel==6.31.0 ; python_full_version < '3.10'") + pinned("ipykernel==7.4.0 ; python_full_version >= '3.10'"), []lock.Target{amd64}, ""},
	} {
		locked, err := lock.Parse(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if err := base.CheckKernelLock(locked, test.targets...); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, test.want)
		}
	}
}

func TestPackagesLabel(t *testing.T) {
	packages := map[string]string{"six": "1.17.0", "ipykernel": "7.4.0"}
	text := base.PackagesLabel(packages)
	if text != "ipykernel==7.4.0 six==1.17.0" {
		t.Errorf("the label is %q", text)
	}
	if back, err := base.ParsePackagesLabel(text); err != nil || !maps.Equal(back, packages) {
		t.Errorf("read back: %v, %v", back, err)
	}
	if none, err := base.ParsePackagesLabel(""); err != nil || len(none) != 0 {
		t.Errorf("an empty label is %v, %v", none, err)
	}
	for _, broken := range []string{"six", "==1", "six==", "six==1.17.0 ipykernel>=7"} {
		if _, err := base.ParsePackagesLabel(broken); err == nil {
			t.Errorf("%q was read", broken)
		}
	}
}

func TestAptPackagesAreSorted(t *testing.T) {
	for python, want := range map[string][]string{base.PythonImage: {"ca-certificates", "tini"}, base.PythonApt: {"ca-certificates", "python3", "python3-pip", "tini"}} {
		if got := (base.Spec{Python: python}).AptPackages(); !slices.Equal(got, want) {
			t.Errorf("python %q: %q, want %q", python, got, want)
		}
	}
}

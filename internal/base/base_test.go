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
	locked, err := lock.Parse("ipykernel==7.4.0 --hash=sha256:" + strings.Repeat("1", 64))
	if err != nil {
		t.Fatal(err)
	}
	if err := base.CheckKernelLock(locked); err == nil || !strings.Contains(err.Error(), "lacks jupyter-client, jupyter-server") {
		t.Errorf("the error is %v", err)
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

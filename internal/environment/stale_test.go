package environment_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
)

func TestCheckLock(t *testing.T) {
	const header = "# python: 3.12\n# platform: x86_64-manylinux_2_28\n"
	pin := func(name string) string { return name + " --hash=sha256:" + strings.Repeat("1", 64) + "\n" }
	universal := pin("ipykernel==6.31.0 ; python_full_version < '3.10'") + pin("ipykernel==7.3.0 ; python_full_version == '3.10.*'") + pin("ipykernel==7.4.0 ; python_full_version >= '3.11'")
	stack := map[string]string{"ipykernel": "7.4.0"}
	amd64, arm64 := []string{"linux/amd64"}, []string{"linux/arm64"}
	tests := map[string]struct {
		text  string
		known environment.Known
		want  []string
	}{
		"nothing known":          {header + pin("six==1"), environment.Known{}, nil},
		"all as made for":        {header + pin("ipykernel==7.1.0"), environment.Known{Python: "3.12.5", Platforms: amd64, Packages: map[string]string{"ipykernel": "7.1"}}, nil},
		"a lock that tells not":  {pin("six==1"), environment.Known{Python: "3.13", Platforms: arm64}, nil},
		"another Python":         {header + pin("six==1"), environment.Known{Python: "3.13", Platforms: amd64}, []string{"Lock is for another Python: Python 3.12: the lock was resolved for Python 3.12, and the base has 3.13"}},
		"another platform":       {header + pin("six==1"), environment.Known{Python: "3.12", Platforms: arm64}, []string{"Lock is for another platform: linux/amd64: the lock was resolved for linux/amd64, and the image is for linux/arm64"}},
		"a platform more":        {header + pin("six==1"), environment.Known{Platforms: append(arm64, amd64...)}, []string{"Lock is for another platform: linux/amd64: the lock was resolved for linux/amd64, and the image is for linux/arm64, linux/amd64"}},
		"the C library made for": {header + pin("six==1"), environment.Known{Platforms: amd64, Libc: lock.Libc{Name: "glibc", Version: "2.28"}}, nil},
		"an older C library": {header + pin("six==1"), environment.Known{Platforms: amd64, Libc: lock.Libc{Name: "glibc", Version: "2.27"}},
			[]string{"Lock is for another C library: x86_64-manylinux_2_28: it needs glibc 2.28, and the base has glibc 2.27"}},
		"another C library": {"# platform: x86_64-unknown-linux-musl\n" + pin("six==1"), environment.Known{Libc: lock.Libc{Name: "glibc", Version: "2.41"}},
			[]string{"Lock is for another C library: x86_64-unknown-linux-musl: it is for musl, and the base has glibc 2.41"}},
		"kernel stack": {pin("jupyter_client==8.0.0") + pin("six==1"), environment.Known{Packages: map[string]string{"Jupyter.Client": "8.10.0", "six": "2"}},
			[]string{"Lock would replace the kernel stack: line 1 (jupyter-client): the lock has 8.0.0, and the base has 8.10.0"}},
		"forks of a lock for every target": {universal, environment.Known{Python: "3.13", Platforms: amd64, Packages: stack}, nil},
		"forks of another Python": {universal, environment.Known{Python: "3.10", Platforms: amd64, Packages: stack}, []string{
			"Lock would replace the kernel stack: line 2 (ipykernel): the lock has 7.3.0, and the base has 7.4.0",
		}},
		"forks of a Python not known": {pin("ipykernel==6.31.0 ; python_full_version < '3.10'"), environment.Known{Packages: stack},
			[]string{"Lock would replace the kernel stack: line 1 (ipykernel): the lock has 6.31.0, and the base has 7.4.0"}},
		"forks of the Python in the header": {"# python: 3.13\n" + pin("ipykernel==6.31.0 ; python_full_version < '3.10'"), environment.Known{Packages: stack}, nil},
		"a fork of no Linux":                {pin("ipykernel==6.31.0 ; sys_platform == 'win32'"), environment.Known{Packages: stack}, nil},
		"a marker that nobody can decide": {pin("ipykernel==6.31.0 ; platform_release == '6'"), environment.Known{Python: "3.13.5", Platforms: amd64, Packages: stack},
			[]string{"Lock would replace the kernel stack: line 1 (ipykernel): the lock has 6.31.0, and the base has 7.4.0"}},
		"a fork of another machine": {pin("ipykernel==6.31.0 ; platform_machine == 'aarch64'"), environment.Known{Platforms: amd64, Packages: stack}, nil},
		"a fork of one machine of two": {pin("ipykernel==6.31.0 ; platform_machine == 'aarch64'"), environment.Known{Platforms: append(arm64, amd64...), Packages: stack},
			[]string{"Lock would replace the kernel stack: line 1 (ipykernel): the lock has 6.31.0, and the base has 7.4.0"}},
		"all at once": {header + pin("ipykernel==6.0.0"), environment.Known{Python: "3.13", Platforms: arm64, Packages: map[string]string{"ipykernel": "7.4.0"}}, []string{
			"Lock is for another Python: Python 3.12: the lock was resolved for Python 3.12, and the base has 3.13",
			"Lock is for another platform: linux/amd64: the lock was resolved for linux/amd64, and the image is for linux/arm64",
			"Lock would replace the kernel stack: line 3 (ipykernel): the lock has 6.0.0, and the base has 7.4.0",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			locked, err := lock.Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, fault := range test.known.CheckLock(locked) {
				got = append(got, fault.Error())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the faults are %q, want %q", got, test.want)
			}
		})
	}
}

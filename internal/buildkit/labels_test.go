package buildkit

import (
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
)

// TestLabelsOfEachPlatformAreHeldAgainstWhatItInstalls: requirements for other targets are not installed.
func TestLabelsOfEachPlatformAreHeldAgainstWhatItInstalls(t *testing.T) {
	labelled := func(packages string) image.Config {
		return image.Config{Labels: map[string]string{environment.LabelPython: "3.13", base.LabelPackages: packages}}
	}
	from := &image.Image{Configs: map[string]image.Config{"linux/amd64": labelled("ipykernel==7.4.0"), "linux/arm64": labelled("ipykernel==7.3.0")}}
	for name, test := range map[string]struct {
		markers map[string]string
		want    string
	}{
		"a version for each machine": {map[string]string{"7.4.0": "platform_machine == 'x86_64'", "7.3.0": "platform_machine == 'aarch64'"}, ""},
		"a version for each Python":  {map[string]string{"6.31.0": "python_full_version < '3.10'"}, ""},
		"the other machine's":        {map[string]string{"7.3.0": "platform_machine == 'x86_64'"}, "the lock has 7.3.0, and the base has 7.4.0"},
		"nobody knows":               {map[string]string{"6.31.0": "platform_release == '6'"}, "the lock has 6.31.0, and the base has 7.3.0"},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for version, marker := range test.markers {
				text.WriteString("ipykernel==" + version + " ; " + marker + " --hash=sha256:" + strings.Repeat("1", 64) + "\n")
			}
			locked, err := lock.Parse(text.String())
			if err != nil {
				t.Fatal(err)
			}
			err = checkLabels(Request{Lock: locked, Platforms: []string{"linux/amd64", "linux/arm64"}}, from)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

// TestKernelLockIsHeldAgainstThePythonThatWasFound: which Python a parent image has is not known before.
func TestKernelLockIsHeldAgainstThePythonThatWasFound(t *testing.T) {
	var text strings.Builder
	for _, name := range environment.KernelPackages {
		text.WriteString(name + "==7.4.0 ; python_full_version < '3.13' --hash=sha256:" + strings.Repeat("1", 64) + "\n")
	}
	text.WriteString("six==1.17.0 --hash=sha256:" + strings.Repeat("1", 64) + "\n")
	locked, err := lock.Parse(text.String())
	if err != nil {
		t.Fatal(err)
	}
	for found, want := range map[string]string{"3.12.9": "", "3.13.5": "it lacks ipykernel, jupyter-client, jupyter-server on linux/amd64, Python 3.13.5"} {
		request := Request{Lock: locked, BaseImage: &base.Spec{}, Platforms: []string{"linux/amd64"}}
		_, err := (&solve{request: request}).locked(recipe{request: request, platform: "linux/amd64", python: python{Python: found}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Python %s: the error is %v, want %q", found, err, want)
		}
	}
}

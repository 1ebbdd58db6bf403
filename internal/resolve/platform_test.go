package resolve

import (
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

func TestPlatformOf_TakesTheNewestThatTheBaseRuns(t *testing.T) {
	for _, tt := range []struct{ oci, libc, want string }{
		{"linux/amd64", "glibc 2.36", "x86_64-manylinux_2_36"}, // bookworm
		{"linux/amd64", "glibc 2.41", "x86_64-manylinux_2_40"}, // trixie, newer than uv knows
		{"linux/arm64", "glibc 2.31", "aarch64-manylinux_2_31"},
		{"linux/amd64", "glibc 2.30", "x86_64-manylinux_2_28"},
		{"linux/amd64", "glibc 2.17", "x86_64-manylinux_2_17"},
		{"linux/riscv64", "glibc 2.41", "riscv64-unknown-linux"},
		{"linux/amd64", "musl", "x86_64-unknown-linux-musl"},
	} {
		got, err := platformOf(tt.oci, lock.ParseLibc(tt.libc))
		if err != nil || got != tt.want || ValidatePlatform(got) != nil {
			t.Errorf("%+v: got %q, %v", tt, got, err)
		}
		if err := runsOn(got, tt.oci, lock.ParseLibc(tt.libc)); err != nil {
			t.Errorf("%s does not run on its own base: %v", got, err)
		}
	}
	for _, tt := range [][2]string{{"linux/s390x", "glibc 2.36"}, {"linux/amd64", "glibc 2.12"}, {"linux/amd64", "glibc 3.1"}} {
		if got, err := platformOf(tt[0], lock.ParseLibc(tt[1])); err == nil {
			t.Errorf("%v: got %s, want an error", tt, got)
		}
	}
}

func TestRunsOn_RefusesWhatTheBaseCannot(t *testing.T) {
	bookworm := lock.Libc{Name: lock.Glibc, Version: "2.36"}
	for platform, want := range map[string]string{
		"x86_64-manylinux_2_38": "it needs glibc 2.38, and the base has glibc 2.36", "aarch64-manylinux_2_28": "for linux/arm64, and the base is linux/amd64",
		"x86_64-unknown-linux-musl": "it is for musl, and the base has glibc 2.36", "riscv64-unknown-linux": "for linux/riscv64",
	} {
		if err := runsOn(platform, "linux/amd64", bookworm); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", platform, err, want)
		}
	}
	for _, platform := range Platforms {
		if err := runsOn(platform, OCIPlatform(platform), lock.Libc{}); err != nil {
			t.Errorf("%s does not run on a base that tells nothing: %v", platform, err)
		}
	}
}

func TestValidatePlatform_GivesTheSpelling(t *testing.T) {
	for name, want := range map[string]string{
		"manylinux_2_28_x86_64": `Write "x86_64-manylinux_2_28".`, "manylinux2014_aarch64": `Write "aarch64-manylinux2014".`, "linux/amd64": `Write "x86_64-manylinux_2_28".`,
		"linux/arm64": `Write "aarch64-manylinux_2_28".`, "windows": "Write one of", "": "Write one of",
	} {
		err := ValidatePlatform(name)
		if err == nil || !strings.HasPrefix(problem.From(err, "")[0].Advice, want) {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

func TestReadable_HasNoColoursAndNoRemarkOnTheInterpreter(t *testing.T) {
	got := strings.Join(readable("\x1b[33mwarning\x1b[39m: The requested Python version 3.13 is not available; 3.11.2 will be used\nwarning: The requested Python version 3.13 is not available; 3.11.2\n\x1b[1;31merror\x1b[0m: No \r\n\n"), "|")
	if strings.Contains(got, "\x1b") || strings.Contains(got, "3.11.2\n") || !strings.HasSuffix(got, "error: No") {
		t.Errorf("got %q", got)
	}
	if strings.Contains(got, "requested Python") {
		t.Errorf("got %q", got)
	}
}

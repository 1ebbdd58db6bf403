package lock_test

import (
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
)

func TestLibcIsReadBack(t *testing.T) {
	for text, want := range map[string]lock.Libc{
		"glibc 2.36": {Name: "glibc", Version: "2.36"}, "musl 1.2.5": {Name: "musl", Version: "1.2.5"}, "musl": {Name: "musl"},
		"": {}, "libc 2.36": {}, "2.36": {},
	} {
		got := lock.ParseLibc(text)
		if got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
		if again := lock.ParseLibc(got.String()); again != got {
			t.Errorf("%+v is read back as %+v", got, again)
		}
	}
}

func TestLibcRefusesWhatItCannotRun(t *testing.T) {
	bookworm, alpine := lock.Libc{Name: lock.Glibc, Version: "2.36"}, lock.Libc{Name: lock.Musl, Version: "1.2.5"}
	for _, tt := range []struct {
		libc           lock.Libc
		platform, want string
	}{
		{bookworm, "x86_64-manylinux_2_36", ""}, {bookworm, "x86_64-manylinux_2_28", ""}, {bookworm, "aarch64-manylinux2014", ""}, {bookworm, "linux", ""},
		{bookworm, "x86_64-unknown-linux-gnu", ""}, {bookworm, "riscv64-unknown-linux", ""}, {bookworm, "", ""}, {lock.Libc{}, "x86_64-unknown-linux-musl", ""},
		{lock.Libc{Name: lock.Glibc, Version: "2.17"}, "x86_64-manylinux2014", ""},
		{lock.Libc{Name: lock.Glibc, Version: "2.16"}, "x86_64-manylinux2014", "it needs glibc 2.17, and the base has glibc 2.16"},
		{lock.Libc{Name: lock.Glibc, Version: "2.27"}, "linux", "it needs glibc 2.28, and the base has glibc 2.27"},
		{alpine, "x86_64-unknown-linux-musl", ""}, {alpine, "x86_64-musllinux_1_2", ""},
		{bookworm, "x86_64-manylinux_2_38", "it needs glibc 2.38, and the base has glibc 2.36"},
		{bookworm, "x86_64-unknown-linux-musl", "it is for musl, and the base has glibc 2.36"},
		{alpine, "x86_64-manylinux_2_28", "it is for glibc, and the base has musl 1.2.5"},
		{lock.Libc{Name: lock.Glibc, Version: "3.1"}, "linux", `its C library is "glibc 3.1", which is no glibc 2`},
	} {
		got := ""
		if err := tt.libc.Runs(tt.platform); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s on %q: got %q, want %q", tt.platform, tt.libc, got, tt.want)
		}
	}
}

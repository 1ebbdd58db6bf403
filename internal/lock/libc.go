package lock

import (
	"fmt"
	"strconv"
	"strings"
)

// Libc is the C library of a system, such as "glibc" at "2.36"; zero is one of which nothing is known. A wheel with
// machine code is for one of them, from some version on.
type Libc struct{ Name, Version string }

// The C libraries that wheels are made for.
const (
	Glibc = "glibc"
	Musl  = "musl"
)

// ParseLibc reads what String gives. Any other text is one of which nothing is known.
func ParseLibc(text string) Libc {
	name, version, _ := strings.Cut(text, " ")
	if name != Glibc && name != Musl {
		return Libc{}
	}
	return Libc{Name: name, Version: version}
}

// String is "glibc 2.36"; "" for zero.
func (l Libc) String() string { return strings.TrimSpace(l.Name + " " + l.Version) }

// GlibcMinor is 36 of glibc 2.36.
func (l Libc) GlibcMinor() (int, error) {
	major, rest, _ := strings.Cut(l.Version, ".")
	text, _, _ := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(text)
	if l.Name != Glibc || major != "2" || err != nil {
		return 0, fmt.Errorf("its C library is %q, which is no glibc 2", l)
	}
	return minor, nil
}

// Runs tells why wheels for a Linux platform, by uv's name of it, do not run on the C library; nil if they do, or where
// one of the two is not known.
func (l Libc) Runs(platform string) error {
	if l == (Libc{}) || platform == "" {
		return nil
	}
	wants := Glibc
	if strings.Contains(platform, Musl) {
		wants = Musl
	}
	if wants != l.Name {
		return fmt.Errorf("it is for %s, and the base has %s", wants, l)
	}
	if wants == Musl {
		return nil
	}
	minor, err := l.GlibcMinor()
	if err != nil {
		return err
	}
	if needs := requiredGlibc(platform); needs > minor {
		return fmt.Errorf("it needs glibc 2.%d, and the base has %s", needs, l)
	}
	return nil
}

// requiredGlibc is the minor version of glibc 2 that uv takes a platform for.
func requiredGlibc(platform string) int {
	_, tag, found := strings.Cut(platform, "manylinux")
	if tag == "2014" {
		return 17
	}
	if minor, err := strconv.Atoi(strings.TrimPrefix(tag, "_2_")); found && err == nil {
		return minor
	}
	return 28 // uv takes linux and *-unknown-linux-gnu for manylinux_2_28.
}

package lock

import (
	"strconv"
	"strings"

	pep440 "github.com/aquasecurity/go-pep440-version"
)

// parseVersion reads a PEP 440 version. The library matches without regard to case in the Unicode sense, so what is
// not ASCII is kept from it.
func parseVersion(s string) (pep440.Version, bool) {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return pep440.Version{}, false
		}
	}
	v, err := pep440.Parse(s)
	return v, err == nil
}

// normalVersion is the PEP 440 normal form: "v1.0-RC1" is "1.0rc1", "1.0+Abc-01" is "1.0+abc.1". Trailing zeros stay.
func normalVersion(s string) (string, bool) {
	v, ok := parseVersion(s)
	if !ok {
		return "", false
	}
	local := v.Local()
	if local == "" {
		return v.String(), true
	}
	parts := strings.FieldsFunc(local, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	for i, part := range parts {
		if isDigits(part) {
			parts[i] = strings.TrimLeft(part[:len(part)-1], "0") + part[len(part)-1:]
		}
	}
	return v.Public() + "+" + strings.Join(parts, "."), true
}

// SameVersion says whether two spellings are one version by PEP 440: "1.0" and "1.0.0" are, as are "1.0-rc1" and
// "1.0rc1". What is no version is the same only as itself.
func SameVersion(a, b string) bool {
	x, okX := normalVersion(a)
	y, okY := normalVersion(b)
	if !okX || !okY {
		return a == b
	}
	v, _ := parseVersion(x)
	w, _ := parseVersion(y)
	return v.Compare(w) == 0
}

// compareVersions decides "v op spec" as a PEP 440 specifier does with pre-releases allowed; ok is false when the two
// sides are not a version and a specifier's version. The library's own specifiers pad wrongly in prefix matches.
func compareVersions(v, op, spec string) (holds, ok bool) {
	left, ok := parseVersion(v)
	if !ok {
		return false, false
	}
	if prefix, wild := strings.CutSuffix(spec, ".*"); wild {
		release, ok := parseVersion(prefix)
		if !ok || release.String() != release.BaseVersion() || op != "==" && op != "!=" {
			return false, false
		}
		return hasPrefix(left, release, len(segments(release))) == (op == "=="), true
	}
	right, ok := parseVersion(spec)
	if !ok || right.Local() != "" && op != "==" && op != "!=" {
		return false, false
	}
	public := left
	if right.Local() == "" {
		public, _ = parseVersion(left.Public())
	}
	order := public.Compare(right)
	switch op {
	case "==":
		return order == 0, true
	case "!=":
		return order != 0, true
	case "<=":
		return order <= 0, true
	case ">=":
		return order >= 0, true
	case "<":
		return order < 0 && (right.IsPreRelease() || !left.IsPreRelease() || !sameBase(left, right)), true
	case ">":
		return order > 0 && (right.IsPostRelease() || !left.IsPostRelease() || !sameBase(left, right)), true
	case "~=":
		n := len(segments(right)) - 1
		return n > 0 && order >= 0 && hasPrefix(left, right, n), n > 0
	}
	return false, false
}

func sameBase(a, b pep440.Version) bool {
	x, _ := parseVersion(a.BaseVersion())
	y, _ := parseVersion(b.BaseVersion())
	return x.Compare(y) == 0
}

// segments are the numbers of the release: ["3", "13", "5"].
func segments(v pep440.Version) []string {
	_, release := epochAndRelease(v)
	return strings.Split(release, ".")
}

func epochAndRelease(v pep440.Version) (epoch, release string) {
	base := v.BaseVersion()
	if epoch, release, found := strings.Cut(base, "!"); found {
		return epoch, release
	}
	return "0", base
}

// hasPrefix says whether v begins with the first n numbers of prefix, missing numbers being zero.
func hasPrefix(v, prefix pep440.Version, n int) bool {
	epochV, _ := epochAndRelease(v)
	epochP, _ := epochAndRelease(prefix)
	if epochV != epochP {
		return false
	}
	have, want := segments(v), segments(prefix)
	for i := range n {
		number := "0"
		if i < len(have) {
			number = have[i]
		}
		if number != want[i] {
			return false
		}
	}
	return true
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// minorOf gives "3.13" of "3.13.5" or "3.13"; full says whether a patch number was there.
func minorOf(python string) (minor string, full, ok bool) {
	v, ok := parseVersion(python)
	if !ok {
		return "", false, false
	}
	epoch, _ := epochAndRelease(v)
	numbers := segments(v)
	if epoch != "0" || len(numbers) < 2 || v.Local() != "" {
		return "", false, false
	}
	return numbers[0] + "." + numbers[1], len(numbers) > 2, true
}

// thirdNumber is the patch number in a version literal such as "3.13.4" or "3.13.4.*"; 0 when it has none.
func thirdNumber(literal string) uint64 {
	v, ok := parseVersion(strings.TrimSuffix(literal, ".*"))
	if !ok || len(segments(v)) < 3 {
		return 0
	}
	n, err := strconv.ParseUint(segments(v)[2], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func isVersion(s string) bool {
	_, ok := parseVersion(s)
	return ok
}

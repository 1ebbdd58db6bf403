package lock

import (
	"strconv"
	"strings"
)

// truth is the value of a marker where not all of the environment need be known.
type truth int

const (
	unknown truth = iota
	no
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// machines are what uname says for the platforms where that is sure; a 32-bit container shows its kernel's machine.
var machines = map[string]string{
	"amd64": "x86_64", "arm64": "aarch64", "ppc64le": "ppc64le", "riscv64": "riscv64", "s390x": "s390x",
}

// surroundings are the marker variables of CPython on Linux. A variable without an entry is unknown.
type surroundings struct {
	values map[string]string
	// minor is "3.13" when that is all that is known of the Python, otherwise "".
	minor string
}

// surroundings gives what the target says; ok is false when its Python is not a version such as "3.13" or "3.13.5".
func (t Target) surroundings() (env surroundings, ok bool) {
	env.values = map[string]string{
		"implementation_name":            "cpython",
		"platform_python_implementation": "CPython",
	}
	system, machine, _ := strings.Cut(t.Platform, "/")
	if system == "linux" || system == "" {
		env.values["os_name"] = "posix"
		env.values["sys_platform"] = "linux"
		env.values["platform_system"] = "Linux"
		machine, _, _ = strings.Cut(machine, "/")
		if name, known := machines[machine]; known {
			env.values["platform_machine"] = name
		}
	}
	if t.Python == "" {
		return env, true
	}
	minor, full, ok := minorOf(t.Python)
	if !ok {
		return env, false
	}
	env.values["python_version"] = minor
	if full {
		version, _ := normalVersion(t.Python)
		env.values["python_full_version"] = version
		env.values["implementation_version"] = version
	} else {
		env.minor = minor
	}
	return env, true
}

// evaluate gives the marker's value: a definite term decides an "and" or "or" whatever the unknown ones are. A nil
// marker holds.
func (m *marker) evaluate(env surroundings) truth {
	if m == nil {
		return yes
	}
	if m.constant != unknown {
		return m.constant
	}
	if m.join == "" {
		return m.compare(env)
	}
	decides, otherwise := deciding(m.join)
	for _, term := range m.terms {
		switch term.evaluate(env) {
		case decides:
			return decides
		case unknown:
			otherwise = unknown
		}
	}
	return otherwise
}

// deciding is the value of a term that decides an "and" or "or", and the value of one that leaves it to the others.
func deciding(join string) (decides, otherwise truth) {
	if join == "or" {
		return yes, no
	}
	return no, yes
}

func (m *marker) compare(env surroundings) truth {
	if value, known := env.values[m.variable]; known {
		return truthOf(m.holds(value))
	}
	if env.minor == "" || !isVersionVariable(m.variable) {
		return unknown
	}
	return m.compareMinor(env.minor)
}

// compareMinor decides a comparison with the full version when its answer is one for all final releases of a minor
// version, as for `python_full_version < '3.12'` and 3.13: locks made with `uv pip compile --universal` are full of
// these. The answer can change only around the patch number that the literal names.
func (m *marker) compareMinor(minor string) truth {
	if m.op == "in" || m.op == "not in" || m.op == "===" {
		return unknown
	}
	const beyond = 1 << 32
	patch := thirdNumber(m.literal)
	answer := m.holds(minor + ".0")
	for _, n := range []uint64{max(patch, 1) - 1, patch, patch + 1, beyond} {
		if m.holds(minor+"."+strconv.FormatUint(n, 10)) != answer {
			return unknown
		}
	}
	return truthOf(answer)
}

// holds makes the comparison as PEP 508 says: by version when both sides are versions, otherwise as strings.
func (m *marker) holds(value string) bool {
	left, right := value, m.literal
	if m.reversed {
		left, right = right, left
	}
	switch m.op {
	case "in":
		return strings.Contains(right, left)
	case "not in":
		return !strings.Contains(right, left)
	case "===":
		return strings.EqualFold(left, right)
	}
	if result, ok := compareVersions(left, m.op, right); ok {
		return result
	}
	switch m.op {
	case "==":
		return left == right
	case "!=":
		return left != right
	case "<":
		return left < right
	case "<=":
		return left <= right
	case ">":
		return left > right
	default:
		return left >= right
	}
}

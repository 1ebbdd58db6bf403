package lock

import (
	"strings"
	"testing"
)

func TestMarkerSpelling(t *testing.T) {
	for text, want := range map[string]string{
		`python_version<"3.13"`:                                            `python_version < '3.13'`,
		`"3.13"   >=python_version`:                                        `'3.13' >= python_version`,
		`sys_platform not  in "win32 darwin"`:                              `sys_platform not in 'win32 darwin'`,
		`platform_version == "it's"`:                                       `platform_version == "it's"`,
		`platform_version == 'say "x"'`:                                    `platform_version == 'say "x"'`,
		`((os.name == 'posix'))`:                                           `os_name == 'posix'`,
		`(os_name=='a' and os_name=='b') and os_name=='c'`:                 `os_name == 'a' and os_name == 'b' and os_name == 'c'`,
		`(os_name=='a' or os_name=='b') and os_name=='c'`:                  `(os_name == 'a' or os_name == 'b') and os_name == 'c'`,
		`os_name=='a' or (os_name=='b' and os_name=='c')`:                  `os_name == 'a' or os_name == 'b' and os_name == 'c'`,
		`python_implementation == 'CPython'`:                               `platform_python_implementation == 'CPython'`,
		`platform.python_implementation == 'x' or sys.platform == 'y'`:     `platform_python_implementation == 'x' or sys_platform == 'y'`,
		`platform.machine == 'x' and platform.version == 'y'`:              `platform_machine == 'x' and platform_version == 'y'`,
		`os_name == ''`:                                                    `os_name == ''`,
		strings.Repeat("(", 50) + "os_name=='a'" + strings.Repeat(")", 50): `os_name == 'a'`,
	} {
		m, err := parseMarker(text)
		if err != nil {
			t.Errorf("parseMarker(%q): %v", text, err)
			continue
		}
		if got := m.String(); got != want {
			t.Errorf("parseMarker(%q) prints %q, want %q", text, got, want)
		}
	}
}

func TestInvalidMarkers(t *testing.T) {
	for text, cause := range map[string]string{
		``:                           "comparison is missing",
		`()`:                         "not complete",
		`os_name`:                    "not complete",
		`os_name ==`:                 "not complete",
		`os_name == posix`:           "variable with a quoted literal",
		`'a' == 'a'`:                 "variable with a quoted literal",
		`os_name == sys_platform`:    "variable with a quoted literal",
		`os_name = 'a'`:              `"=" is not an operator`,
		`os_name not 'a'`:            `"not" is not an operator`,
		`os_name =! 'a'`:             `"=!" is not an operator`,
		`colour == 'a'`:              `"colour" is not a variable`,
		`extra == 'a'`:               "`extra` has no value",
		`os_name == 'a' and`:         "comparison is missing",
		`and os_name == 'a'`:         "is not an operator",
		`os_name == 'a' os_name`:     `"os_name" is out of place`,
		`os_name == 'a')`:            `")" is out of place`,
		`(os_name == 'a'`:            "closing parenthesis",
		`os_name == 'a`:              "not closed",
		`os_name == 'a\n'`:           "literal may not have",
		"os_name == 'a\tb'":          "literal may not have",
		`os_name == 'ä'`:             "literal may not have",
		`os_name == 'a' & 'b'`:       "out of place",
		`os_name ~= '1.0'`:           "which ~= compares",
		`python_version ~= '3'`:      "cannot be compared",
		`python_version < 'three'`:   "cannot be compared",
		`python_version < '3.*'`:     "cannot be compared",
		`'3.*' == python_version`:    "cannot be compared",
		`python_version >= '3.1+a'`:  "cannot be compared",
		`python_version == '3.1a.*'`: "cannot be compared",
		strings.Repeat("(", 51) + "os_name=='a'" + strings.Repeat(")", 51): "more than 50 deep",
	} {
		m, err := parseMarker(text)
		if err == nil {
			t.Errorf("parseMarker(%q) gives %q; want an error", text, m)
			continue
		}
		if !strings.Contains(err.Error(), cause) {
			t.Errorf("parseMarker(%q): %q does not say %q", text, err, cause)
		}
	}
}

func TestMarkerEvaluation(t *testing.T) {
	full := Target{Python: "3.13.5", Platform: "linux/amd64"}
	minor := Target{Python: "3.13", Platform: "linux/arm64"}
	preview := Target{Python: "3.14.0rc2", Platform: "linux/amd64"}
	nothing := Target{}
	for _, test := range []struct {
		target Target
		marker string
		want   truth
	}{
		{full, `os_name == 'posix'`, yes},
		{full, `sys_platform == 'linux' and platform_system == 'Linux'`, yes},
		{full, `sys_platform == 'win32'`, no},
		{full, `'linux' in sys_platform`, yes},
		{full, `sys_platform in 'linux darwin'`, yes},
		{full, `sys_platform not in 'linux darwin'`, no},
		{full, `sys_platform > 'darwin'`, yes},
		{full, `sys_platform <= 'darwin'`, no},
		{full, `sys_platform < 'm'`, yes},
		{full, `sys_platform >= 'm'`, no},
		{full, `sys_platform === 'LINUX'`, yes},
		{full, `platform_machine == 'x86_64'`, yes},
		{full, `platform_machine != '386'`, yes},
		{minor, `platform_machine == 'aarch64'`, yes},
		{Target{Platform: "linux/arm64/v8"}, `platform_machine == 'aarch64'`, yes},
		{Target{Platform: "linux/s390x"}, `platform_machine == 's390x'`, yes},
		{Target{Platform: "linux/ppc64le"}, `platform_machine == 'ppc64le'`, yes},
		{Target{Platform: "linux/arm/v7"}, `platform_machine == 'armv7l'`, unknown},
		{Target{Platform: "linux/386"}, `platform_machine == 'i686'`, unknown},
		{Target{Platform: "windows/amd64"}, `os_name == 'posix'`, unknown},
		{nothing, `os_name == 'posix'`, yes},
		{nothing, `platform_machine == 'x86_64'`, unknown},
		{full, `implementation_name == 'cpython' and platform_python_implementation == 'CPython'`, yes},
		{full, `implementation_version >= '3.13.5'`, yes},
		{full, `platform_release >= '5'`, unknown},
		{full, `'Debian' in platform_version`, unknown},

		{full, `python_version == '3.13'`, yes},
		{full, `python_version == '3.13.0'`, yes},
		{full, `python_version < '3.9'`, no},
		{full, `python_version >= '3.9'`, yes},
		{full, `'3.9' <= python_version`, yes},
		{full, `'3.9' > python_version`, no},
		{full, `python_version == '3.*'`, yes},
		{full, `python_version != '3.1.*'`, yes},
		{full, `python_version == '3.13.0.*'`, yes},
		{full, `python_version ~= '3.9'`, yes},
		{full, `python_version ~= '3.13.1'`, no},
		{full, `python_version in '3.12 3.13'`, yes},
		{full, `python_version === '3.13'`, yes},
		{full, `python_full_version == '3.13.5'`, yes},
		{full, `python_full_version < '3.13.5'`, no},
		{full, `python_full_version > '3.13.4'`, yes},
		{full, `python_full_version <= '3.13.4'`, no},
		{full, `python_full_version == '3.13.*'`, yes},
		{full, `python_full_version != '3.13.5'`, no},
		{full, `python_full_version ~= '3.13.4'`, yes},
		{full, `python_full_version ~= '3.12.0'`, no},

		{preview, `python_version == '3.14'`, yes},
		{preview, `python_full_version < '3.14'`, no},
		{preview, `python_full_version >= '3.14'`, no},
		{preview, `python_full_version < '3.14.0rc3'`, yes},
		{preview, `python_full_version > '3.14.0rc1'`, yes},
		{preview, `python_full_version == '3.14.*'`, yes},

		{minor, `python_version == '3.13'`, yes},
		{minor, `python_full_version < '3.12'`, no},
		{minor, `python_full_version >= '3.12'`, yes},
		{minor, `python_full_version < '3.13'`, no},
		{minor, `python_full_version >= '3.13'`, yes},
		{minor, `python_full_version == '3.13.*'`, yes},
		{minor, `'3.14' > python_full_version`, yes},
		{minor, `python_full_version < '3.14.0'`, yes},
		{minor, `python_full_version > '3.13'`, unknown},
		{minor, `python_full_version < '3.13.1'`, unknown},
		{minor, `python_full_version >= '3.13.5'`, unknown},
		{minor, `python_full_version != '3.13.5'`, unknown},
		{minor, `python_full_version == '3.13.4.*'`, unknown},
		{minor, `python_full_version < '3.13.4.1'`, unknown},
		{minor, `python_full_version ~= '3.13.2'`, unknown},
		{minor, `python_full_version in '3.13.5'`, unknown},
		{minor, `python_full_version === '3.13.5'`, unknown},
		{minor, `implementation_version >= '3.13.1'`, unknown},
		{nothing, `python_full_version >= '3.0'`, unknown},
		{nothing, `python_version >= '3.0'`, unknown},

		{nothing, `python_version >= '3' and sys_platform == 'win32'`, no},
		{nothing, `sys_platform == 'win32' and python_version >= '3'`, no},
		{nothing, `python_version >= '3' and sys_platform == 'linux'`, unknown},
		{nothing, `python_version >= '3' or sys_platform == 'linux'`, yes},
		{nothing, `python_version >= '3' or sys_platform == 'win32'`, unknown},
		{nothing, `sys_platform == 'win32' or os_name == 'nt'`, no},
		{full, `sys_platform == 'win32' and os_name == 'nt' or os_name == 'posix'`, yes},
		{full, `sys_platform == 'win32' and (os_name == 'nt' or os_name == 'posix')`, no},
	} {
		m, err := parseMarker(test.marker)
		if err != nil {
			t.Errorf("parseMarker(%q): %v", test.marker, err)
			continue
		}
		env, ok := test.target.surroundings()
		if !ok {
			t.Fatalf("target %s is not understood", test.target)
		}
		if got := m.evaluate(env); got != test.want {
			t.Errorf("%s on %s is %d, want %d", test.marker, test.target, got, test.want)
		}
	}
}

func TestSameVersion(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"1.0", "1.0.0", true},
		{"1.0-RC1", "1.0rc1", true},
		{"1.0-1", "1.0.post1", true},
		{"1.0+a_01", "1.0+A.1", true},
		{"0!1.0", "1.0", true},
		{"1.0", "1.0+local", false},
		{"1.0", "1.1", false},
		{"odd", "odd", true},
		{"odd", "1.0", false},
	} {
		if got := SameVersion(test.a, test.b); got != test.want {
			t.Errorf("SameVersion(%q, %q) is %t, want %t", test.a, test.b, got, test.want)
		}
	}
}

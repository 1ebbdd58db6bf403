package lock

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

var (
	amd64 = Target{Python: "3.13", Platform: "linux/amd64"}
	arm64 = Target{Python: "3.13", Platform: "linux/arm64"}
)

func TestPackages(t *testing.T) {
	const triton = " ; platform_machine == 'x86_64' "
	for name, test := range map[string]struct {
		text    string
		targets []Target
		want    map[string]string
	}{
		"no markers, nothing known":  {"attrs==1.0 " + hashA + "\nsix==2 " + hashA, nil, map[string]string{"attrs": "1.0", "six": "2"}},
		"one platform":               {"attrs==1 " + hashA + "\ntriton==3" + triton + hashA, []Target{amd64}, map[string]string{"attrs": "1", "triton": "3"}},
		"other platform":             {"attrs==1 " + hashA + "\ntriton==3" + triton + hashA, []Target{arm64}, map[string]string{"attrs": "1"}},
		"platforms that agree":       {"attrs==1 " + hashA, []Target{amd64, arm64}, map[string]string{"attrs": "1"}},
		"same from either marker":    {"a==1;platform_machine=='x86_64' " + hashA + "\na==1;platform_machine=='aarch64' " + hashB, []Target{amd64, arm64}, map[string]string{"a": "1"}},
		"versions by Python":         {"a==1;python_full_version<'3.12' " + hashA + "\na==2;python_full_version>='3.12' " + hashA, []Target{amd64}, map[string]string{"a": "2"}},
		"versions by full Python":    {"a==1;python_full_version<'3.13.2' " + hashA + "\na==2;python_full_version>='3.13.2' " + hashA, []Target{{Python: "3.13.1"}}, map[string]string{"a": "1"}},
		"wheel URL":                  {"a @ https://files.example/A-1.0%2Blocal_1-2-py3-none-any.whl " + hashA, nil, map[string]string{"a": "1.0+local.1"}},
		"source URL with a hyphen":   {"my-pkg @ https://files.example/my_pkg-1.2.3.tar.gz " + hashA, nil, map[string]string{"my-pkg": "1.2.3"}},
		"source URL of an old style": {"my-pkg @ https://files.example/my-pkg-1.2-1.zip " + hashA, nil, map[string]string{"my-pkg": "1.2.post1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, known, err := mustParse(t, test.text).Packages(test.targets)
			if err != nil || !known {
				t.Fatalf("known %t, error %v", known, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("packages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPackagesAreUnknownWhenATargetDoesNotSay(t *testing.T) {
	for name, test := range map[string]struct {
		marker  string
		targets []Target
	}{
		"Python":            {"python_version >= '3.9'", []Target{{Platform: "linux/amd64"}}},
		"patch of Python":   {"python_full_version >= '3.13.5'", []Target{amd64}},
		"machine":           {"platform_machine == 'x86_64'", []Target{{Python: "3.13"}}},
		"kernel":            {"platform_release >= '6'", []Target{amd64}},
		"no targets":        {"python_version >= '3.9'", nil},
		"one of two":        {"platform_machine == 'x86_64'", []Target{amd64, {Python: "3.13", Platform: "linux/386"}}},
		"nothing certainly": {"python_version < '3.9'", []Target{{Platform: "linux/amd64"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, known, err := mustParse(t, "a==1 ; "+test.marker+" "+hashA).Packages(test.targets)
			if got != nil || known || err != nil {
				t.Errorf("packages %v, known %t, error %v; want unknown", got, known, err)
			}
		})
	}
}

func TestPackagesErrors(t *testing.T) {
	for name, test := range map[string]struct {
		text    string
		targets []Target
		want    []string
	}{
		"version by platform": {
			"a==1;platform_machine=='x86_64' " + hashA + "\na==2;platform_machine=='aarch64' " + hashA,
			[]Target{amd64, arm64},
			[]string{"Markers in the lock choose other packages for each platform: a: 1 on linux/amd64, Python 3.13; 2 on linux/arm64, Python 3.13"},
		},
		"packages on one platform only": {
			"a==1 " + hashA + "\nc==3;platform_machine=='aarch64' " + hashA + "\nb==2;platform_machine=='x86_64' " + hashA,
			[]Target{amd64, arm64},
			[]string{
				"Markers in the lock choose other packages for each platform: b: 2 on linux/amd64, Python 3.13; not installed on linux/arm64, Python 3.13",
				"Markers in the lock choose other packages for each platform: c: not installed on linux/amd64, Python 3.13; 3 on linux/arm64, Python 3.13",
			},
		},
		"two versions on one platform": {
			"a==1;os_name=='posix' " + hashA + "\na==2;sys_platform=='linux' " + hashA,
			[]Target{amd64},
			[]string{"Package twice in the lock for one platform: line 2 (a): on linux/amd64, Python 3.13 the markers of line 1 and of line 2 both hold: \"os_name == 'posix'\" and \"sys_platform == 'linux'\""},
		},
		"nothing for a platform": {
			"appnope==0.1 ; sys_platform == 'darwin' " + hashA,
			[]Target{amd64},
			[]string{"Lock that installs nothing on a platform: linux/amd64, Python 3.13: no requirement's marker holds on linux/amd64, Python 3.13"},
		},
		"nothing wherever it be": {
			"appnope==0.1 ; sys_platform == 'darwin' " + hashA,
			nil,
			[]string{"Lock that installs nothing on a platform: an unknown target: no requirement's marker holds on an unknown target"},
		},
		"Python that is no version": {
			"a==1 " + hashA,
			[]Target{{Python: "python3"}},
			[]string{"Python version of the lock's target not understood: Python python3: \"python3\" is not a version such as 3.13 or 3.13.5"},
		},
		"Python without a minor": {
			"a==1 " + hashA,
			[]Target{{Python: "3"}},
			[]string{"Python version of the lock's target not understood: Python 3: \"3\" is not a version such as 3.13 or 3.13.5"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			packages, _, err := mustParse(t, test.text).Packages(test.targets)
			if packages != nil {
				t.Errorf("packages %v beside the error", packages)
			}
			var list problem.List
			if !errors.As(err, &list) {
				t.Fatalf("the error is a %T", err)
			}
			if diff := cmp.Diff(test.want, strings.Split(list.Error(), "\n")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestForTargetGivesTheRequirementsThatHold(t *testing.T) {
	l := mustParse(t, "c==3;platform_machine=='aarch64' "+hashA+"\nb==2;platform_machine=='x86_64' "+hashA+"\na @ https://files.example/a-1.zip "+hashA)
	requirements, known, err := l.ForTarget(amd64)
	if err != nil || !known {
		t.Fatalf("known %t, error %v", known, err)
	}
	var got []string
	for _, r := range requirements {
		got = append(got, r.Name+" "+r.InstalledVersion())
	}
	if diff := cmp.Diff([]string{"a 1", "b 2"}, got); diff != "" {
		t.Errorf("requirements (-want +got):\n%s", diff)
	}
	requirements[0].Hashes[0] = "changed"
	if l.Requirements()[0].Hashes[0] != hashA[7:] {
		t.Error("a caller can change the lock")
	}
}

func TestExcluded(t *testing.T) {
	for _, test := range []struct {
		marker string
		target Target
		want   bool
	}{
		{"", Target{}, false},
		{" ; python_full_version < '3.10'", Target{Python: "3.13"}, true},
		{" ; python_full_version >= '3.10'", Target{Python: "3.13"}, false},
		{" ; python_full_version < '3.10'", Target{}, false},
		{" ; python_full_version < '3.10'", Target{Python: "three"}, false},
		{" ; platform_machine == 'aarch64'", Target{Platform: "linux/amd64"}, true},
		{" ; platform_release == '6'", Target{Python: "3.13.5", Platform: "linux/amd64"}, false},
		{" ; sys_platform == 'win32'", Target{}, true},
	} {
		locked, err := Parse("six==1" + test.marker + " --hash=sha256:" + strings.Repeat("1", 64))
		if err != nil {
			t.Fatal(err)
		}
		if got := locked.Requirements()[0].Excluded(test.target); got != test.want {
			t.Errorf("six==1%s is excluded on %s: %t, want %t", test.marker, test.target, got, test.want)
		}
	}
}

package lock

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

func TestConditionsOfPylock(t *testing.T) {
	head := func(more string) string { return strings.Replace(wheeled(""), pylockHead, pylockHead+more+"\n", 1) }
	const environments = `environments = ["sys_platform == 'win32'", "platform_machine == 'x86_64' and python_version < '3.13'", "'x' in extras"]`
	const none = "none of the lock's environments is linux/%s, Python 3.13: \"sys_platform == 'win32'\", \"platform_machine == 'x86_64' and python_version < '3.13'\", \"'x' in extras\""
	for name, test := range map[string]struct {
		text   string
		target Target
		want   string
	}{
		"Python in range":              {head("requires-python = '>=3.11, <4'"), amd64, ""},
		"comma at the end":             {head("requires-python = '>=3.11, <4,'"), amd64, ""},
		"empty range":                  {head("requires-python = ''"), amd64, ""},
		"Python not known":             {head("requires-python = '>=3.11'"), Target{}, ""},
		"Python too old":               {head("requires-python = '>=3.14'"), amd64, `Lock for another Python: linux/amd64, Python 3.13: the lock's requires-python is ">=3.14", and the target's Python is 3.13`},
		"Python too new":               {head("requires-python = '>=3.8,<3.13'"), amd64, `Lock for another Python: linux/amd64, Python 3.13: the lock's requires-python is ">=3.8,<3.13", and the target's Python is 3.13`},
		"patch not known":              {head("requires-python = '>=3.13.4'"), amd64, ""},
		"patch in range":               {head("requires-python = '>=3.13.4'"), Target{Python: "3.13.5"}, ""},
		"patch too old":                {head("requires-python = '>=3.13.4'"), Target{Python: "3.13.3"}, `Lock for another Python: Python 3.13.3: the lock's requires-python is ">=3.13.4", and the target's Python is 3.13.3`},
		"pre-release counts":           {head("requires-python = '>=3.14'"), Target{Python: "3.14.0rc1"}, ""},
		"package's Python in range":    {wheeled("requires-python = '>=3.9'"), amd64, ""},
		"package's Python out":         {wheeled("requires-python = '<3.13'"), amd64, `Locked package for another Python: line 3 (attrs): its requires-python is "<3.13", and the Python of linux/amd64, Python 3.13 is not`},
		"package not installed":        {wheeled("requires-python = '<3.13'\nmarker = \"sys_platform == 'win32'\"") + "[[packages]]\nname = 'six'\nversion = '1'\nsdist = {hashes = " + shaA + "}", amd64, ""},
		"an environment":               {head(environments), Target{Python: "3.12", Platform: "linux/amd64"}, ""},
		"an environment, perhaps":      {head(environments), Target{Platform: "linux/amd64"}, ""},
		"no environment of platform":   {head(environments), arm64, "Lock for other environments: linux/arm64, Python 3.13: " + fmt.Sprintf(none, "arm64")},
		"no environment of Python":     {head(environments), amd64, "Lock for other environments: linux/amd64, Python 3.13: " + fmt.Sprintf(none, "amd64")},
		"environments, but none named": {head("environments = []"), amd64, ""},
	} {
		t.Run(name, func(t *testing.T) {
			packages, known, err := mustParse(t, test.text).Packages([]Target{test.target})
			if test.want == "" {
				if err != nil || !known || len(packages) != 1 {
					t.Errorf("packages %v, known %t, error %v", packages, known, err)
				}
				return
			}
			var list problem.List
			if !errors.As(err, &list) {
				t.Fatalf("packages %v, known %t, error %v; want a problem.List", packages, known, err)
			}
			if diff := cmp.Diff(test.want, list.Error()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

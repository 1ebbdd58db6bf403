package doctor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// ask imports the program and answers [name, argument…] calls of its functions, or the value of a name that is none.
const ask = `
import importlib.machinery, importlib.util, json, sys
spec = importlib.util.spec_from_loader("doctor", importlib.machinery.SourceFileLoader("doctor", sys.argv[1]))
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
asked = json.load(sys.stdin)
found = [getattr(module, name) for name, *_ in asked]
json.dump([value(*call[1:]) if callable(value) else value for value, call in zip(found, asked)], sys.stdout)
`

func answers[T any](t testing.TB, calls ...[]any) []T {
	t.Helper()
	asked, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-I", "-B", "-c", ask, "datalayer_sandbox.py")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(asked), &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var found []T
	if err := json.Unmarshal(output, &found); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestProgramHasTheContractOfTheProvider(t *testing.T) {
	want := []struct {
		name  string
		value any
	}{
		{"NAME", filepath.Base(doctor.Path)}, {"VERSION", doctor.Version}, {"CONTRACT", environment.Contract},
		{"USER", environment.User}, {"UID", environment.UID}, {"GID", environment.GID}, {"HOME", environment.Home},
		{"WORKDIR", environment.WorkDir}, {"RESERVED_PATH", environment.ReservedPath},
	}
	var calls [][]any
	for _, constant := range want {
		calls = append(calls, []any{constant.name})
	}
	for i, found := range answers[json.RawMessage](t, calls...) {
		if wanted, err := json.Marshal(want[i].value); err != nil || !bytes.Equal(found, wanted) {
			t.Errorf("%s is %s, want %s (%v)", want[i].name, found, wanted, err)
		}
	}
	lists := answers[[]string](t, []any{"KERNEL_PACKAGES"}, []any{"UTC"})
	for _, name := range lists[0] {
		if !slices.Contains(environment.KernelPackages, strings.ReplaceAll(name, "_", "-")) {
			t.Errorf("%s is not among the kernel packages of the contract", name)
		}
	}
	for _, zone := range lists[1] {
		if !pointMet("timezone", "TZ="+zone) {
			t.Errorf("TZ=%s is UTC to the doctor, and not to who looks at an image", zone)
		}
	}
}

// pointMet is what the provider says of an image that was not started.
func pointMet(id string, env ...string) bool {
	points := environment.ContractPoints(map[string]environment.ImageConfig{environment.DefaultPlatform: {Env: env}})
	met := points[slices.IndexFunc(points, func(p environment.Point) bool { return p.ID == id })].Met
	return met != nil && *met
}

func TestProgramIsPython38AndForShToo(t *testing.T) {
	for _, command := range [][]string{
		{"python3", "-I", "-c", `import ast, sys; ast.parse(open(sys.argv[1], "rb").read(), feature_version=(3, 8))`, "datalayer_sandbox.py"},
		{"/bin/sh", "-n", "datalayer_sandbox.py"},
	} {
		// sh reads no further than its own exit, so the whole file is nothing that it could check.
		if command[0] == "/bin/sh" {
			head, _, _ := bytes.Cut(doctor.Program(), []byte("\n'''\n"))
			path := filepath.Join(t.TempDir(), "head")
			if err := os.WriteFile(path, append(head, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
			command[2] = path
		}
		if output, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil || len(output) > 0 {
			t.Errorf("%q: %v: %s", command, err, output)
		}
	}
}

// onThisMachine runs the program as it is in a base. What the rows say depends on the machine.
func onThisMachine(t *testing.T, start []string, env []string, arguments ...string) (stdout, stderr string, status int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(doctor.Path))
	if err := os.WriteFile(path, doctor.Program(), doctor.Mode); err != nil {
		t.Fatal(err)
	}
	command := slices.Concat(start, []string{path}, arguments)
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	var out, said bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &said
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

// TestOSReleaseBelowUsrIsReadWhereEtcHasNone, and not where it has one (os-release(5)).
func TestOSReleaseBelowUsrIsReadWhereEtcHasNone(t *testing.T) {
	const look = `
import importlib.machinery, importlib.util, sys
spec = importlib.util.spec_from_loader("doctor", importlib.machinery.SourceFileLoader("doctor", sys.argv[1]))
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
files = dict(pair.split(":") for pair in sys.argv[2:])
module.read = lambda path: files[path]
print(module.os_release()["ID"])
`
	for want, files := range map[string][]string{"debian": {"/usr/lib/os-release:ID=debian"}, "ubuntu": {"/etc/os-release:ID=ubuntu", "/usr/lib/os-release:ID=debian"}} {
		output, err := exec.CommandContext(t.Context(), "python3", append([]string{"-I", "-B", "-c", look, "datalayer_sandbox.py"}, files...)...).CombinedOutput()
		if got := strings.TrimSpace(string(output)); err != nil || got != want {
			t.Errorf("of %q it reads %q, %v; want %q", files, got, err, want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, arguments := range [][]string{{}, {"check"}, {"doctor", "--js"}, {"doctor", "--json", "more"}, {"--json"}} {
		stdout, stderr, status := onThisMachine(t, nil, os.Environ(), arguments...)
		if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "usage: datalayer-sandbox") {
			t.Errorf("%q: status %d, stdout %q, stderr %q", arguments, status, stdout, stderr)
		}
	}
	if stdout, stderr, status := onThisMachine(t, nil, os.Environ(), "--version"); stdout != "datalayer-sandbox "+doctor.Version+"\n" || stderr != "" || status != 0 {
		t.Errorf("--version: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}

func TestLinesSayWhatTheReportSays(t *testing.T) {
	stdout, _, _ := onThisMachine(t, nil, os.Environ(), "doctor", "--json")
	report, err := doctor.Parse([]byte(stdout))
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := onThisMachine(t, nil, os.Environ(), "doctor")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != len(report.Rows) {
		t.Fatalf("%d lines for %d rows:\n%s", len(lines), len(report.Rows), text)
	}
	for i, row := range report.Rows {
		want := "ok " + row.ID
		if !row.OK {
			want = "FAIL " + row.ID + " " + row.Message
		}
		if lines[i] != want {
			t.Errorf("line %q, want %q", lines[i], want)
		}
	}
}

func TestLinesAreWrittenWhereOnlyASCIICanBe(t *testing.T) {
	env := append(os.Environ(), "LC_ALL=C", "HOME=/home/日本\xff")
	stdout, stderr, status := onThisMachine(t, []string{"python3", "-X", "utf8=0"}, env, "doctor")
	if want := "FAIL home HOME is /home/\\u65e5\\u672c\\ufffd, not /home/datalayer\n"; status != 1 || !strings.Contains(stdout, want) || strings.Contains(stderr, "Traceback") {
		t.Errorf("status %d, stdout %q, stderr %q, want a line %q", status, stdout, stderr, want)
	}
}

// In no environment, however odd, does the doctor end otherwise than with a report.
func TestOddEnvironmentsFailRowsOnly(t *testing.T) {
	shadow := t.TempDir()
	if err := os.WriteFile(filepath.Join(shadow, "json.py"), []byte("raise SystemExit(9)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + os.Getenv("PATH")
	for _, odd := range []struct {
		name       string
		start, env []string
		failed     []string
	}{
		{"no environment", nil, []string{}, []string{"home", "locale"}},
		{"PATH that leads nowhere", nil, []string{"PATH=/nowhere"}, []string{"home", "python", "pip", "locale"}},
		{"Python's own variables", nil, []string{path, "PYTHONHOME=/nowhere", "PYTHONPATH=" + shadow, "PYTHONWARNINGS=error", "PYTHONIOENCODING=utf-16", "PYTHONUTF8=banana"}, []string{"home", "locale"}},
		{"text that is no UTF-8", nil, []string{path, "HOME=/h\xff", "LC_ALL=\xe9", "TZ=\xfe/\"\n"}, []string{"home", "locale", "timezone"}},
		{"SIGCHLD ignored", []string{"/bin/sh", "-c", `trap "" CHLD; exec "$@"`, "sh"}, []string{path}, []string{"home", "locale"}},
		{"no input and no output for errors", []string{"/bin/sh", "-c", `exec "$@" <&- 2>&-`, "sh"}, []string{path}, []string{"home", "locale"}},
	} {
		t.Run(odd.name, func(t *testing.T) {
			stdout, stderr, status := onThisMachine(t, odd.start, odd.env, "doctor", "--json")
			report, err := doctor.Parse([]byte(stdout))
			if err != nil || status != 1 {
				t.Fatalf("status %d, %v: %s", status, err, stderr)
			}
			for _, row := range report.Rows {
				if slices.Contains(odd.failed, row.ID) && row.OK {
					t.Errorf("row %s passes: %+v", row.ID, row)
				}
			}
		})
	}
}

func TestNoProcFailsInit(t *testing.T) {
	enginetest.NeedRoot(t)
	hidden := []string{"unshare", "--mount", "/bin/sh", "-euc", `mount -t tmpfs none /proc; exec "$@"`, "sh"}
	stdout, stderr, _ := onThisMachine(t, hidden, os.Environ(), "doctor", "--json")
	report, err := doctor.Parse([]byte(stdout))
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	row := report.Rows[len(report.Rows)-1]
	if row.OK || string(row.Actual) != `{"orphanZombies": null, "pid1": null}` || row.Message != "whether PID 1 reaps orphans cannot be observed" {
		t.Errorf("row is %+v, actual %s", row, row.Actual)
	}
}

func TestReportThatCannotBeWrittenIsAFailure(t *testing.T) {
	_, stderr, status := onThisMachine(t, []string{"/bin/sh", "-c", `exec "$@" >/dev/full`, "sh"}, os.Environ(), "doctor", "--json")
	if status != 1 || stderr != "datalayer-sandbox: the report cannot be written: No space left on device\n" {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

func failedIn(report *doctor.Report) []string {
	failed := []string{}
	for _, row := range report.FailedRows() {
		failed = append(failed, row.ID+": "+row.Message)
	}
	return failed
}

// All on one base, whose build takes longer than they do.
func TestDoctorInContainers(t *testing.T) {
	s := newSandboxes(t)
	t.Run("passes a base that keeps the contract", s.passes)
	t.Run("leaves nothing behind", s.leavesNothing)
	t.Run("stands without its working directory", s.standsAnywhere)
	t.Run("finds packages where a kernel does", s.findsPackages)
	t.Run("says that there is no Python", s.saysNoPython)
	for _, broken := range brokenBy {
		t.Run("fails "+broken.name, func(t *testing.T) { s.fails(t, broken) })
	}
}

func (s *sandboxes) passes(t *testing.T) {
	report := s.report(t, s.process())
	if failed := failedIn(report); len(failed) > 0 {
		t.Errorf("failed: %q", failed)
	}
	want := doctor.Identity{User: environment.User, UID: environment.UID, GID: environment.GID, Home: environment.Home, Cwd: environment.WorkDir}
	if report.Identity != want {
		t.Errorf("identity is %+v, want %+v", report.Identity, want)
	}
	if report.DoctorVersion != doctor.Version || report.Contract != environment.Contract || !strings.HasPrefix(report.Python.Version, s.BasePython+".") ||
		report.Kernel["ipykernel"] == "" || report.Locale != "C.UTF-8" || report.Timezone != "UTC" || report.CABundle == "" {
		t.Errorf("report is %+v", report)
	}
	if !slices.Equal(report.Paths.Writable, []string{environment.WorkDir}) || !slices.Equal(report.Paths.ReadOnly, []string{environment.ReservedPath}) {
		t.Errorf("paths are %+v", report.Paths)
	}
}

// broken is a way to break the contract for real: by what root did to the image, by how the doctor is started, or by both.
type broken struct {
	name   string
	script string
	start  func(*buildkit.Process)
	// want are the rows that fail: no others do.
	want []string
}

var brokenBy = []broken{
	{"the machine calls itself by another name", "", func(p *buildkit.Process) { p.Args = slices.Concat([]string{"setarch", "i686"}, p.Args) },
		[]string{"architecture: this is linux/i686"}},
	{"another distribution", `rm /etc/os-release; printf 'ID=alpine\nPRETTY_NAME="Alpine Linux"\n' >/etc/os-release`, nil,
		[]string{"os: os-release names neither Debian nor Ubuntu"}},
	{"no os-release", `rm /etc/os-release /usr/lib/os-release`, nil, []string{"os: os-release names neither Debian nor Ubuntu"}},
	{"root", "", func(p *buildkit.Process) { p.User = "0:0" }, []string{
		"user: uid 0 is root, not datalayer", "uid: the uid is 0, not 1000", "gid: the gid is 0, not 100", "reserved_path: /opt/datalayer is writable"}},
	{"another name", `sed -i 's/^datalayer:/jovyan:/' /etc/passwd`, nil, []string{"user: uid 1000 is jovyan, not datalayer"}},
	{"no name", `sed -i '/^datalayer:/d' /etc/passwd`, nil, []string{"user: uid 1000 has no name, not datalayer"}},
	{"no user database", `rm /etc/passwd`, nil, []string{"user: uid 1000 has no name, not datalayer"}},
	{"another uid", `sed -i 's/^datalayer:x:1000:/datalayer:x:1001:/' /etc/passwd; chown -R 1001 /home/datalayer`,
		func(p *buildkit.Process) { p.User = "1001:100" }, []string{"uid: the uid is 1001, not 1000"}},
	{"another gid", "", func(p *buildkit.Process) { p.User = "1000:1000" }, []string{"gid: the gid is 1000, not 100"}},
	{"another home", "", func(p *buildkit.Process) { set(p, "HOME", "/home/user") }, []string{"home: HOME is /home/user, not /home/datalayer"}},
	// runc gives a process without HOME that of the user database.
	{"no home", "", func(p *buildkit.Process) { p.Args = slices.Concat([]string{"env", "--unset=HOME"}, p.Args) }, []string{"home: HOME is not set, not /home/datalayer"}},
	{"read-only working directory", "", func(p *buildkit.Process) { p.ReadOnly = []string{environment.WorkDir} },
		[]string{"workdir: no file can be made in /home/datalayer/content: Read-only file system"}},
	{"working directory of root", `chown 0:0 /home/datalayer/content`, nil,
		[]string{"workdir: no file can be made in /home/datalayer/content: Permission denied"}},
	{"no working directory", `rmdir /home/datalayer/content`, func(p *buildkit.Process) { p.Cwd = "/" },
		[]string{"workdir: no file can be made in /home/datalayer/content: No such file or directory"}},
	{"no python3 on PATH", `mkdir /srv/bin; ln -s "$(command -v pip)" /srv/bin/pip`, func(p *buildkit.Process) { set(p, "PATH", "/srv/bin") },
		[]string{"python: PATH has no python3"}},
	{"no pip on PATH", `mkdir /srv/bin; ln -s "$(command -v python3)" /srv/bin/python3`, func(p *buildkit.Process) { set(p, "PATH", "/srv/bin") },
		[]string{"pip: PATH has no pip"}},
	{"no ipykernel", `pip uninstall --yes --break-system-packages --root-user-action=ignore ipykernel`, nil, []string{"kernel: not installed: ipykernel"}},
	{"no jupyter_client", `pip uninstall --yes --break-system-packages --root-user-action=ignore jupyter_client`, nil, []string{"kernel: not installed: jupyter_client"}},
	{"reserved path of the user", `chown 1000 /opt/datalayer`, nil, []string{"reserved_path: /opt/datalayer is writable"}},
	{"no locale variables", "", func(p *buildkit.Process) { unset(p, "LANG", "LC_ALL") }, []string{"locale: LC_ALL or else LANG is not set, not C.UTF-8"}},
	{"a locale that no file has", "", func(p *buildkit.Process) { set(p, "LC_ALL", "ja_JP.EUC-JP") },
		[]string{"locale: LC_ALL or else LANG is ja_JP.EUC-JP, not C.UTF-8"}},
	{"another time zone", "", func(p *buildkit.Process) { set(p, "TZ", "Europe/Paris") }, []string{"timezone: the time zone is Europe/Paris, not UTC"}},
	{"another time zone in a file", `echo Europe/Paris >/etc/timezone`, func(p *buildkit.Process) { unset(p, "TZ") },
		[]string{"timezone: the time zone is Europe/Paris, not UTC"}},
	{"no certificates", `rm /etc/ssl/certs/ca-certificates.crt; touch /etc/ssl/certs/ca-certificates.crt`, nil,
		[]string{"ca_certificates: there is no file of CA certificates"}},
	{"a first process that does not reap", "", func(p *buildkit.Process) { p.Init = []string{"sleep", "infinity"} }, []string{"init: PID 1 leaves orphans as zombies"}},
	{"the doctor as the first process", "", func(p *buildkit.Process) { p.Init = nil }, []string{"init: PID 1 leaves orphans as zombies"}},
}

func (s *sandboxes) fails(t *testing.T, broken broken) {
	process := s.process()
	if broken.script != "" {
		process.Image = s.changed(t, broken.script)
	}
	if broken.start != nil {
		broken.start(&process)
	}
	report := s.report(t, process)
	if failed := failedIn(report); !slices.Equal(failed, broken.want) {
		t.Errorf("failed %q, want %q", failed, broken.want)
	}
}

func (s *sandboxes) standsAnywhere(t *testing.T) {
	output := s.run(t, s.process(slices.Concat([]string{"/bin/sh", "-euc", `d=$(mktemp -d); cd "$d"; rmdir "$d"; exec "$@"`, "sh"}, doctor.Command())...))
	report, err := doctor.Parse([]byte(output.Stdout))
	if err != nil {
		t.Fatalf("%v: %s", err, output.Stderr)
	}
	if output.ExitCode != 0 || report.Identity.Cwd != "" {
		t.Errorf("status %d, identity %+v, stderr %q", output.ExitCode, report.Identity, output.Stderr)
	}
}

// A kernel's Python looks in PYTHONPATH and in the user's site-packages, which the doctor's own does not.
func (s *sandboxes) findsPackages(t *testing.T) {
	process := s.process()
	process.Image = s.changed(t, `
		from=$(python3 -c 'import os, ipykernel; print(os.path.dirname(os.path.dirname(ipykernel.__file__)))')
		user=/home/datalayer/.local/lib/python3.13/site-packages
		mkdir -p /srv/lib "$user"
		mv "$from"/ipykernel-* /srv/lib
		mv "$from"/jupyter_client-* "$user"`)
	missing := []string{"kernel: not installed: ipykernel"}
	if failed := failedIn(s.report(t, process)); !slices.Equal(failed, missing) {
		t.Errorf("failed %q, want %q", failed, missing)
	}
	set(&process, "PYTHONPATH", "/srv/lib")
	if report := s.report(t, process); !report.OK || report.Kernel["ipykernel"] == "" || report.Kernel["jupyter_client"] == "" {
		t.Errorf("failed %q, kernel %q", failedIn(report), report.Kernel)
	}
}

func (s *sandboxes) saysNoPython(t *testing.T) {
	process := s.process()
	process.Image = s.changed(t, `rm /usr/bin/python3*`)
	output := s.run(t, process)
	if output.ExitCode != 127 || output.Stdout != "" || output.Stderr != "datalayer-sandbox: no python3 on PATH, in /usr/local/bin or in /usr/bin\n" {
		t.Errorf("got %+v", output)
	}
}

// Root could write byte-code too, and there is none that an earlier run has written.
const traces = `
find / -name __pycache__ -prune -exec rm -rf {} +
list() { find / -xdev -path /proc -prune -o -print | sort; }
touch /tmp/before /tmp/after
list >/tmp/before
"$@" >/dev/null 2>&1 || test $? -eq 1
list >/tmp/after
diff /tmp/before /tmp/after
sleep 0.5
ls -d /proc/[0-9]* | wc -l
`

func (s *sandboxes) leavesNothing(t *testing.T) {
	process := s.process(slices.Concat([]string{"/bin/sh", "-euc", traces, "sh"}, doctor.Command())...)
	process.User = "0:0"
	// tini, its sleep, this shell, ls and wc.
	if output := s.run(t, process); output.ExitCode != 0 || strings.TrimSpace(output.Stdout) != "5" {
		t.Errorf("got %+v", output)
	}
}

func unset(process *buildkit.Process, names ...string) {
	process.Env = slices.DeleteFunc(process.Env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

func set(process *buildkit.Process, name, value string) {
	unset(process, name)
	process.Env = append(process.Env, name+"="+value)
}

package doctor_test

import (
	"maps"
	"slices"
	"testing"
)

// seen is what the doctor sees in a sandbox that keeps the contract.
var seen = map[string]any{
	"system": "linux", "machine": "x86_64", "os_release": map[string]string{"ID": "debian"}, "user": "datalayer", "uid": 1000, "gid": 100,
	"home": "/home/datalayer", "home_is_directory": true, "cwd": "/", "workdir_fault": nil, "python": "/usr/bin/python3", "pip": "/usr/bin/pip",
	"kernel": map[string]string{"ipykernel": "7.3.0", "jupyter_client": "8.9.1"}, "reserved_path": "read-only", "locale": "C.UTF-8", "timezone": "UTC",
	"ca_bundle": "/etc/ssl/certs/ca-certificates.crt", "pid1": "tini", "orphan_zombies": 0,
}

func TestRules(t *testing.T) {
	type values map[string]any
	release := func(id, like string) values {
		return values{"os_release": map[string]string{"ID": id, "ID_LIKE": like}}
	}
	tests := []struct {
		change values
		failed string
	}{
		{values{}, ""},
		{values{"machine": "amd64"}, ""}, {values{"machine": "aarch64"}, "architecture"}, {values{"system": "darwin"}, "architecture"},
		{release("ubuntu", ""), ""}, {release("linuxmint", "ubuntu debian"), ""}, {release("raspbian", "debian"), ""}, {release("", "debian"), ""},
		{release("fedora", ""), "os"}, {release("notdebian", "debianish"), "os"}, {values{"os_release": values{}}, "os"},
		{values{"user": "root"}, "user"}, {values{"user": nil}, "user"}, {values{"uid": 0}, "uid"}, {values{"gid": 1000}, "gid"},
		{values{"home": nil}, "home"}, {values{"home": "/home/datalayer/"}, "home"}, {values{"home_is_directory": false}, "home"},
		{values{"workdir_fault": "Permission denied"}, "workdir"}, {values{"cwd": ""}, ""},
		{values{"python": nil}, "python"}, {values{"pip": nil}, "pip"},
		{values{"kernel": values{"ipykernel": nil, "jupyter_client": "8"}}, "kernel"}, {values{"kernel": values{"ipykernel": "7", "jupyter_client": nil}}, "kernel"},
		{values{"reserved_path": "writable"}, "reserved_path"}, {values{"reserved_path": "missing"}, "reserved_path"},
		{values{"ca_bundle": nil}, "ca_certificates"},
		{values{"orphan_zombies": 1}, "init"}, {values{"orphan_zombies": nil}, "init"}, {values{"pid1": nil}, ""}, {values{"pid1": "systemd"}, ""},
	}
	for locale, right := range locales {
		tests = append(tests, struct {
			change values
			failed string
		}{values{"locale": locale}, map[bool]string{false: "locale"}[right]})
	}
	for zone, right := range zones {
		tests = append(tests, struct {
			change values
			failed string
		}{values{"timezone": zone}, map[bool]string{false: "timezone"}[right]})
	}
	var calls [][]any
	for _, test := range tests {
		changed := maps.Clone(seen)
		maps.Copy(changed, test.change)
		calls = append(calls, []any{"judge", changed})
	}
	for i, rows := range answers[[][5]any](t, calls...) {
		var failed []any
		for _, row := range rows {
			if row[1] != true {
				failed = append(failed, row[0])
			}
		}
		want := []any{tests[i].failed}
		if tests[i].failed == "" {
			want = nil
		}
		if !slices.Equal(failed, want) {
			t.Errorf("%v: %v failed, want %v", tests[i].change, failed, want)
		}
	}
}

var locales = map[string]bool{
	"C.UTF-8": true, "C.utf8": true, "c.UTF8": true, "C.UTF_8": true, "C": false, "POSIX": false, "UTF-8": false, "en_US.UTF-8": false, "C.UTF-16": false, "": false,
}

var zones = map[string]bool{
	"UTC": true, "Etc/UTC": true, "UTC0": true, "UCT": true, "Etc/UCT": true, "Zulu": true, "Etc/Zulu": true, "Universal": true, ":UTC": true,
	"GMT": false, "UTC+1": false, "::UTC": false, "Europe/London": false, "/usr/share/zoneinfo/Europe/Paris": false, "CUTC": false, "": false,
}

// The provider judges images that it does not start by the same spellings.
func TestSpellingsAreThoseOfAnImageThatIsNotStarted(t *testing.T) {
	for locale, right := range locales {
		if pointMet("locale", "LC_ALL="+locale) != right {
			t.Errorf("LC_ALL=%s: the provider does not say %t", locale, right)
		}
	}
	for zone, right := range zones {
		if pointMet("timezone", "TZ="+zone) != right {
			t.Errorf("TZ=%s: the provider does not say %t", zone, right)
		}
	}
}

func TestOSReleaseForms(t *testing.T) {
	tests := []struct {
		text string
		want map[string]string
	}{
		{"ID=debian\nID_LIKE=\"ubuntu debian\"\nPRETTY_NAME='Debian GNU/Linux 13 (trixie)'\n", map[string]string{"ID": "debian", "ID_LIKE": "ubuntu debian", "PRETTY_NAME": "Debian GNU/Linux 13 (trixie)"}},
		{"\n# ID=commented\n  ID=\"ubuntu\"\r\nnonsense\nEMPTY=\n", map[string]string{"ID": "ubuntu", "EMPTY": ""}},
		{`NAME="a \"quoted\""` + "\nBROKEN=\"open\nID=debian", map[string]string{"NAME": `a "quoted"`, "BROKEN": `"open`, "ID": "debian"}},
		{"", map[string]string{}},
	}
	var calls [][]any
	for _, test := range tests {
		calls = append(calls, []any{"parse_os_release", test.text})
	}
	for i, found := range answers[map[string]string](t, calls...) {
		if !maps.Equal(found, tests[i].want) {
			t.Errorf("%q is %q, want %q", tests[i].text, found, tests[i].want)
		}
	}
}

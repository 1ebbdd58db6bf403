package environment

import (
	"slices"
	"testing"
)

// good is the config of an image that keeps every point.
func good() ImageConfig {
	return ImageConfig{
		User: "1000:100", WorkingDir: WorkDir, Entrypoint: []string{"/usr/bin/tini", "--"},
		Env: []string{"PATH=/usr/bin", "HOME=/home/datalayer", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC"},
	}
}

func verdict(met *bool) string {
	switch {
	case met == nil:
		return "open"
	case *met:
		return "met"
	}
	return "broken"
}

func TestContractPoints_AllMetInTheirOrder(t *testing.T) {
	var ids []string
	for _, p := range ContractPoints(map[string]ImageConfig{DefaultPlatform: good()}) {
		ids = append(ids, p.ID)
		if verdict(p.Met) != "met" || p.Expected == "" || p.Actual == "" {
			t.Errorf("%+v is %s", p, verdict(p.Met))
		}
	}
	want := []string{"architecture", "user", "workdir", "home", "locale", "timezone", "entrypoint", "volume", "onbuild", "stopsignal"}
	if !slices.Equal(ids, want) {
		t.Errorf("points are %q, want %q", ids, want)
	}
}

func TestContractPoints_OfOneDifference(t *testing.T) {
	with := func(change func(*ImageConfig)) ImageConfig {
		c := good()
		change(&c)
		return c
	}
	env := func(entries ...string) ImageConfig {
		return with(func(c *ImageConfig) { c.Env = append(c.Env, entries...) })
	}
	user := func(u string) ImageConfig { return with(func(c *ImageConfig) { c.User = u }) }
	tests := []struct {
		name            string
		config          ImageConfig
		point, met, has string
	}{
		{"root", user("0:0"), "user", "broken", "0:0"},
		{"no user is root", user(""), "user", "broken", "not set"},
		{"another group", user("1000:1000"), "user", "broken", "1000:1000"},
		{"another name", user("jovyan"), "user", "broken", "jovyan"},
		{"the contract's name", user("datalayer"), "user", "open", "datalayer"},
		{"the contract's name and a group's", user("datalayer:users"), "user", "open", "datalayer:users"},
		{"the contract's name and another group", user("datalayer:0"), "user", "broken", "datalayer:0"},
		{"a number without a group", user("1000"), "user", "open", "1000"},
		{"no working directory", with(func(c *ImageConfig) { c.WorkingDir = "" }), "workdir", "broken", "not set"},
		{"another working directory", with(func(c *ImageConfig) { c.WorkingDir = "/home/datalayer" }), "workdir", "broken", "/home/datalayer"},
		{"the working directory with a slash", with(func(c *ImageConfig) { c.WorkingDir = WorkDir + "/" }), "workdir", "met", WorkDir + "/"},
		{"another home", env("HOME=/root"), "home", "broken", "HOME = /root"},
		{"no home", with(func(c *ImageConfig) { c.Env = []string{"LANG=C.UTF-8"} }), "home", "open", "HOME is not set"},
		{"LC_ALL goes before LANG", env("LC_ALL=POSIX"), "locale", "broken", "LC_ALL = POSIX"},
		{"LANG alone", with(func(c *ImageConfig) { c.Env = []string{"LANG=C.utf8"} }), "locale", "met", "LANG = C.utf8"},
		{"LC_ALL that is empty", env("LC_ALL=", "LANG=en_US.UTF-8"), "locale", "broken", "LANG = en_US.UTF-8"},
		{"no locale", with(func(c *ImageConfig) { c.Env = nil }), "locale", "broken", "LANG is not set"},
		{"another time zone", env("TZ=Europe/Brussels"), "timezone", "broken", "TZ = Europe/Brussels"},
		{"another name of UTC", env("TZ=:Etc/UTC"), "timezone", "met", "TZ = :Etc/UTC"},
		{"no time zone", with(func(c *ImageConfig) { c.Env = nil }), "timezone", "open", "TZ is not set"},
		{"volumes", with(func(c *ImageConfig) { c.Volumes = []string{"/data", "/srv"} }), "volume", "broken", "/data, /srv"},
		{"a trigger", with(func(c *ImageConfig) { c.OnBuild = []string{"RUN make"} }), "onbuild", "broken", "RUN make"},
		{"a stop signal", with(func(c *ImageConfig) { c.StopSignal = "SIGTERM" }), "stopsignal", "broken", "SIGTERM"},
		{"an entrypoint that eats its arguments", with(func(c *ImageConfig) { c.Entrypoint = []string{"/bin/bash"} }), "entrypoint", "broken", `["/bin/bash"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, p := range ContractPoints(map[string]ImageConfig{DefaultPlatform: tt.config}) {
				if p.ID == tt.point && (verdict(p.Met) != tt.met || p.Actual != tt.has) {
					t.Errorf("%s is %s with %q, want %s with %q", p.ID, verdict(p.Met), p.Actual, tt.met, tt.has)
				}
			}
		})
	}
}

func TestContractPoints_JudgeTheContractsPlatform(t *testing.T) {
	broken := ImageConfig{User: "0"}
	tests := map[string]struct {
		configs            map[string]ImageConfig
		architecture, user string
		has                string
	}{
		"among others":  {map[string]ImageConfig{"linux/386": broken, DefaultPlatform: good(), "linux/arm64": broken}, "met", "met", "linux/386, linux/amd64, linux/arm64"},
		"not there":     {map[string]ImageConfig{"linux/s390x": broken, "linux/arm64": good()}, "broken", "met", "linux/arm64, linux/s390x"},
		"nothing there": {nil, "broken", "broken", "none"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			points := ContractPoints(tt.configs)
			if points[0].Actual != tt.has || verdict(points[0].Met) != tt.architecture || verdict(points[1].Met) != tt.user {
				t.Errorf("got %+v", points[:2])
			}
		})
	}
}

func TestContractPoints_Entrypoints(t *testing.T) {
	tests := []struct {
		met        string
		entrypoint []string
	}{
		{"met", nil},
		{"met", []string{"/usr/bin/tini", "--"}},
		{"met", []string{"tini", "-g", "--"}},
		{"met", []string{"tini"}},
		{"met", []string{"/usr/bin/dumb-init", "--", "/usr/bin/env"}},
		{"met", []string{"/bin/sh", "-c", `exec "$@"`, "--"}},
		{"met", []string{"tini", "--", "bash", "-ec", `exec "$@";`, "bash"}},
		{"broken", []string{"/bin/bash"}},
		{"broken", []string{"bash", "-l"}},
		{"broken", []string{"tini", "--", "/bin/bash"}},
		{"broken", []string{"python"}},
		{"broken", []string{"/usr/bin/python3.13", "-u"}},
		{"broken", []string{"/bin/sh", "-c", "jupyter lab"}},
		{"broken", []string{"/bin/sh", "-c", `exec "$@"`}},
		{"open", []string{"/bin/sh", "-c", `prepare "$1"; exec "$@"`, "--"}},
		{"open", []string{"/bin/sh", "-c", `exec "$@"`, "--", "first"}},
		{"open", []string{"/bin/sh", "-c"}},
		{"open", []string{"/bin/sh", "/ep.sh"}},
		{"open", []string{"/ep.sh"}},
		{"open", []string{"tini", "--", "/ep.sh"}},
		{"open", []string{"tini", "-p", "SIGTERM", "--"}},
		{"open", []string{"python", "/ep.py"}},
		{"open", []string{"python", "-c", "import os"}},
		{"open", []string{"env", "-i"}},
	}
	for _, tt := range tests {
		if got := verdict(execsArguments(tt.entrypoint)); got != tt.met {
			t.Errorf("%q is %s, want %s", tt.entrypoint, got, tt.met)
		}
	}
}

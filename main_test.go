package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestWhoStartsTheProgramByHandIsToldOfItsCommands(t *testing.T) {
	for name, tt := range map[string]struct {
		arguments []string
		debugged  bool
		code      int
		ended     bool
		out, err  string
	}{
		"Terraform":       {nil, false, 0, false, "", ""},
		"a debugger":      {[]string{"-debug"}, true, 0, false, "", ""},
		"help":            {[]string{"--help"}, false, 0, true, "sweep --help", ""},
		"help in a word":  {[]string{"help"}, false, 0, true, "sweep --help", ""},
		"version":         {[]string{"--version"}, false, 0, true, "terraform-provider-datalayer dev\n", ""},
		"misspelled":      {[]string{"swep", "--dry-run"}, false, 2, true, "", `unknown command "swep"`},
		"an unknown flag": {[]string{"--frobnicate"}, false, 2, true, "", "frobnicate"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, failures bytes.Buffer
			debugged, code, ended := asked(tt.arguments, &out, &failures)
			if debugged != tt.debugged || code != tt.code || ended != tt.ended {
				t.Errorf("debugged %t, code %d, ended %t", debugged, code, ended)
			}
			if !strings.Contains(out.String(), tt.out) || !strings.Contains(failures.String(), tt.err) || tt.code == 2 && !strings.Contains(failures.String(), "sweep --help") || tt.out == "" && out.Len() > 0 {
				t.Errorf("said %q and %q", out.String(), failures.String())
			}
		})
	}
}

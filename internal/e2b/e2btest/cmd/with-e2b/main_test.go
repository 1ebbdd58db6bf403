package main

import (
	"errors"
	"os/exec"
	"testing"
)

func TestRun(t *testing.T) {
	if err := run([]string{"sh", "-c", `[ "$E2B_API_URL" = "$E2B_SANDBOX_URL" ] && case $E2B_API_KEY in e2b_?*) ;; *) exit 1 ;; esac`}); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := run([]string{"sh", "-c", "exit 7"}); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the command ended with 7, and run with %v", err)
	}
}

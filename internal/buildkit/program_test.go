package buildkit

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

func TestAddressNamesACommand(t *testing.T) {
	for address, want := range map[string]string{
		"unix:///run/buildkit/buildkitd.sock":                         "",
		"tcp://builder:1234":                                          "",
		"docker-container://builder":                                  "docker exec -i builder buildctl dial-stdio",
		"docker-container://builder?context=far":                      "docker --context=far exec -i builder buildctl dial-stdio",
		"kube-pod://buildkitd-0":                                      "kubectl exec -i buildkitd-0 -- buildctl dial-stdio",
		"kube-pod://buildkitd-0?context=c&namespace=n&container=box":  "kubectl --context=c --namespace=n exec --container=box -i buildkitd-0 -- buildctl dial-stdio",
		"ssh://builder":                                               "ssh -- builder buildctl dial-stdio",
		"ssh://ci@builder:2222/run/user/1000/buildkit/buildkitd.sock": "ssh -l ci -p 2222 -- builder buildctl --addr unix:///run/user/1000/buildkit/buildkitd.sock dial-stdio",
	} {
		command, err := commandOf(address)
		if err != nil || !slices.Equal(command, strings.Fields(want)) {
			t.Errorf("%s: %q, %v; want %q", address, command, err, want)
		}
	}
}

func TestProgramThatIsMissingIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for address, name := range map[string]string{"docker-container://builder": "docker", "kube-pod://buildkitd-0": "kubectl", "ssh://builder": "ssh"} {
		_, err := Connect(t.Context(), address, 1, nil)
		var found *problem.Problem
		if !errors.As(err, &found) || found.Title != "Program that reaches BuildKit is not on this machine" ||
			!strings.Contains(found.Advice, "program "+name+",") || !strings.Contains(found.Advice, "tcp://") {
			t.Errorf("%s: error is %v", address, err)
		}
	}
}

func TestProgramThatFailsIsQuoted(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "docker"), []byte("#!/bin/sh\necho \"no such container: $4\" >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	_, err := Connect(t.Context(), "docker-container://builder", 1, nil)
	var found *problem.Problem
	if !errors.As(err, &found) || found.Title != "Program did not reach BuildKit" || !slices.Contains(found.Logs, "no such container: buildctl") || !strings.Contains(found.Advice, "exec -i builder buildctl dial-stdio") {
		t.Fatalf("error is %v", err)
	}
}

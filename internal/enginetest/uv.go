package enginetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

var installUV = sync.OnceValues(func() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	command := exec.Command(filepath.Join(filepath.Dir(file), "..", "..", "tools", "install.sh"), "uv")
	command.Stderr = os.Stderr
	path, err := command.Output()
	return strings.TrimSpace(string(path)), err
})

// UV gives the program of the pinned uv, which tools/install.sh installs once.
func UV(t testing.TB) string {
	t.Helper()
	path, err := installUV()
	if err != nil {
		t.Fatalf("tools/install.sh uv: %v", err)
	}
	return path
}

// CABundle gives the certificates that stand before the real package index; nil if none do.
func CABundle(t testing.TB) []byte {
	t.Helper()
	path := engine.CABundle()
	if path == "" {
		return nil
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return pem
}

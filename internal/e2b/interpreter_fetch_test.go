package e2b_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// The program that E2B's builder fetches the server with asks again where an answer was cut short or a host is busy, and
// takes nothing but what is pinned.
func TestInterpreterFetch(t *testing.T) {
	const content = "print('hello')\n"
	cut := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write([]byte(content[:5]))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	answer := func(status int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(status) }
	}
	for name, tt := range map[string]struct {
		bad   func(http.ResponseWriter)
		times int64
		asked int64
		says  string
	}{
		"at once":        {nil, 0, 1, ""},
		"cut short":      {cut, 1, 2, ""},
		"busy":           {answer(http.StatusTooManyRequests), 1, 2, ""},
		"not there":      {answer(http.StatusNotFound), 9, 1, "/template/server/main.py answered 404"},
		"something else": {func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) }, 9, 1, "main.py has the SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if n := asked.Add(1); n <= tt.times {
					tt.bad(w)
					return
				}
				_, _ = w.Write([]byte(content))
			}))
			defer server.Close()
			folder := t.TempDir()
			// A manifest of one file, and no lock: the program fails when it comes to the packages.
			manifest := fmt.Sprintf(`{"commit":"c","folder":"template/server","files":[{"path":"main.py","sha256":"%x"}]}`, sha256.Sum256([]byte(content)))
			if err := os.WriteFile(filepath.Join(folder, "manifest.json"), []byte(manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			program, err := filepath.Abs("codeinterpreter/server.py")
			if err != nil {
				t.Fatal(err)
			}
			// Its own address is https in templates; plain HTTP is for this test.
			output, _ := osexec.CommandContext(t.Context(), "python3", "-I", program, folder, server.URL, filepath.Join(folder, "target")).CombinedOutput()
			if got := asked.Load(); got != tt.asked {
				t.Errorf("asked %d times, want %d:\n%s", got, tt.asked, output)
			}
			written, _ := os.ReadFile(filepath.Join(folder, "target", "server", "main.py"))
			if tt.says == "" && string(written) != content {
				t.Errorf("wrote %q:\n%s", written, output)
			}
			if tt.says != "" && (!strings.Contains(string(output), "datalayer: ") || !strings.Contains(string(output), tt.says) || len(written) > 0) {
				t.Errorf("%q is not said, or %q was written:\n%s", tt.says, written, output)
			}
		})
	}
}

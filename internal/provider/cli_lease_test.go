package provider_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential/leasetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// leaseSecret is the password that datalayer_lease_test has the service keep.
const leaseSecret = "cnry-lease-9b2d"

var (
	leaseNow   = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	leaseLater = leaseNow.Add(24 * time.Hour)
)

// builtLeaseProvider compiles the provider that has datalayer_lease_test, and gives its path and a CLI configuration.
var builtLeaseProvider = sync.OnceValues(func() (built [2]string, err error) {
	if _, err := builtProvider(); err != nil {
		return built, err
	}
	folder := filepath.Join(providerFolder, "lease")
	built = [2]string{filepath.Join(folder, "terraform-provider-datalayer"), filepath.Join(folder, "cli.tfrc")}
	build := exec.Command("go", "build", "-o", built[0], "github.com/datalayer/terraform-provider-datalayer/internal/provider/leaseprovider")
	if output, err := build.CombinedOutput(); err != nil {
		return built, fmt.Errorf("go build: %w\n%s", err, output)
	}
	text, err := exec.Command(filepath.Join("..", "..", "tools", "cli-config.sh"), folder).Output()
	if err != nil {
		return built, fmt.Errorf("tools/cli-config.sh: %w", err)
	}
	return built, os.WriteFile(built[1], text, 0o600)
})

// leased is a CLI whose provider builds at a service of its own.
type leased struct {
	*cli
	server  *leasetest.Server
	program string
	holds   holds
	secret  enginetest.Canaries
}

func newLeased(t *testing.T) *leased {
	t.Helper()
	l := &leased{cli: newCLI(t), secret: enginetest.Canaries{"stored password": leaseSecret}}
	built, err := builtLeaseProvider()
	if err != nil {
		t.Fatal(err)
	}
	l.server = leasetest.Start(t, l.holds.middleware)
	l.program, l.env["TF_CLI_CONFIG_FILE"] = built[0], built[1]
	l.env["LEASETEST_URL"] = l.server.URL
	l.server.BuildPolls(1)
	l.at(leaseNow)
	return l
}

// at sets the provider's clock.
func (l *leased) at(now time.Time) { l.env["LEASETEST_NOW"] = now.Format(time.RFC3339) }

// config writes one resource for each name, with this note.
func (l *leased) config(note string, names ...string) {
	var text strings.Builder
	for i, name := range names {
		fmt.Fprintf(&text, "resource \"datalayer_lease_test\" \"r%d\" {\n  name = %q\n  note = %q\n  lifecycle { create_before_destroy = true }\n}\n", i, name, note)
	}
	l.write("main.tf", text.String())
}

// sweep runs the command with the provider's environment.
func (l *leased) sweep(arguments ...string) (output string, code int) {
	l.t.Helper()
	command := exec.CommandContext(l.t.Context(), l.program, append([]string{"sweep"}, arguments...)...)
	for name, value := range l.env {
		command.Env = append(command.Env, name+"="+value)
	}
	text, err := command.CombinedOutput()
	if command.ProcessState == nil {
		l.t.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

// end destroys what is in state, removes by their ids what a killed run left of artifacts, and checks that nothing stays.
func (l *leased) end() {
	l.t.Helper()
	l.at(leaseLater)
	l.expect(0, "destroy", "-auto-approve")
	var orphans []string
	for _, id := range l.server.Builds() {
		orphans = append(orphans, "--delete-artifact", id)
	}
	if said, code := l.sweep(orphans...); code != 0 {
		l.t.Errorf("sweep %v ended with %d:\n%s", orphans, code, said)
	}
	if left := append(l.server.Credentials(), l.server.Builds()...); len(left) > 0 {
		l.t.Errorf("left at the service: %v", left)
	}
}

// holds puts a hold before the service once it is known which request is to be held.
type holds struct{ current atomic.Pointer[hold] }

// arm holds the request that comes as the n-th from now, counted from 1, before or after the service has done it.
func (h *holds) arm(n int, landed bool) *hold {
	var seen atomic.Int64
	held := newHold(func(*http.Request) bool { return seen.Add(1) == int64(n) }, landed)
	h.current.Store(held)
	return held
}

func (h *holds) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if held := h.current.Load(); held != nil {
			held.middleware(next).ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

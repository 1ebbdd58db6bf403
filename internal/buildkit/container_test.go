package buildkit_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// server answers each request with its body back, and a GET with what the first process sees of the others.
const server = `
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def do_GET(self):
        body = " ".join(p for p in os.listdir("/proc") if p.isdigit() and open(f"/proc/{p}/cmdline", "rb").read().startswith(b"sleep\x00")).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *args): pass
print("listening", flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
`

// startServer starts it without network in a container of the base.
func startServer(ctx context.Context, t *testing.T, script string) (*buildkit.Container, *http.Client) {
	t.Helper()
	b := newBench(t)
	base, err := reference.ParsePinned(b.BaseReference)
	if err != nil {
		t.Fatal(err)
	}
	container, err := b.daemon.Start(ctx, buildkit.Process{
		Image: base, Platform: environment.DefaultPlatform, Args: []string{"/usr/bin/tini", "--", "python3", "-c", script},
		Env: []string{"PATH=/usr/bin:/bin", "WHO=first"}, Cwd: environment.WorkDir, User: "1000:100",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := container.Close(); err != nil {
			t.Error(err)
		}
	})
	transport := &http.Transport{DialContext: container.Dial}
	t.Cleanup(transport.CloseIdleConnections)
	return container, &http.Client{Transport: transport}
}

// get asks until the server listens.
func get(t *testing.T, client *http.Client) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:8000/", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			body, err := io.ReadAll(response.Body)
			if err := errors.Join(err, response.Body.Close()); err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
		if !strings.Contains(err.Error(), "Connection refused") {
			t.Fatal(err)
		}
	}
}

func TestContainer_IsReachedThroughTheDaemon(t *testing.T) {
	container, client := startServer(t.Context(), t, server)
	get(t, client)
	if log := container.Log(); log != "listening\n" {
		t.Errorf("log %q", log)
	}
	// Each connection is a relay of its own; bodies are larger than any buffer on the way.
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			body := bytes.Repeat(fmt.Appendf(nil, "%d\x00\xff\n", i), 1<<20)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:8000/", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			response, err := client.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			back, err := io.ReadAll(response.Body)
			if err != nil || !bytes.Equal(back, body) {
				t.Errorf("%d bytes of %d came back: %v", len(back), len(body), err)
			}
		})
	}
	all.Wait()

	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:8000"); err == nil {
		_ = conn.Close()
		t.Error("a container without network listens on this machine")
	}
	for address, says := range map[string]string{
		"127.0.0.1:8001": "connect to 127.0.0.1:8001 in the container of", "127.0.0.1:8002": "Connection refused", "192.0.2.1:80": "Network is unreachable", "nowhere": "missing port",
	} {
		if conn, err := container.Dial(t.Context(), "tcp", address); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v", address, conn, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := container.Dial(gone, "tcp", "127.0.0.1:8000"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled dial gave %v", err)
	}
}

// What nobody reads waits where it is: the daemon's one stream for all processes of the container must not.
func TestContainer_UnreadConnectionHoldsUpNone(t *testing.T) {
	container, client := startServer(t.Context(), t, server)
	get(t, client)
	body := bytes.Repeat([]byte("x"), 8<<20)
	conn, err := container.Dial(t.Context(), "tcp", "127.0.0.1:8000")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	// A command that does not read its input is another way to stop the stream.
	stuck, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() {
		_, err := container.Exec(stuck, buildkit.Command{Args: []string{"sleep", "1000"}, Stdin: bytes.NewReader(body)})
		ended <- err
	}()
	for range 20 {
		if output, err := container.Exec(t.Context(), buildkit.Command{Args: []string{"echo", "here"}}); err != nil || output.Stdout != "here\n" {
			t.Fatalf("%+v, %v", output, err)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the command that does not read gave %v", err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if back, err := io.ReadAll(response.Body); err != nil || !bytes.Equal(back, body) {
		t.Errorf("%d bytes of %d came back: %v", len(back), len(body), err)
	}
}

func TestContainer_ConnectionHasDeadlinesAndAnEnd(t *testing.T) {
	container, client := startServer(t.Context(), t, server)
	get(t, client)
	conn, err := container.Dial(t.Context(), "tcp", "127.0.0.1:8000")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if _, err := conn.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a read past its deadline gave %v", err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	// The server ends what is no request, and the end arrives here.
	if _, err := conn.Write([]byte("no request\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(conn); err != nil || !strings.Contains(string(rest), "400") {
		t.Errorf("%q, %v", rest, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

func TestContainer_Exec(t *testing.T) {
	container, client := startServer(t.Context(), t, server)
	tests := map[string]struct {
		command buildkit.Command
		want    buildkit.Output
	}{
		"as the first": {buildkit.Command{Args: []string{"sh", "-c", `echo "$(id -u):$(id -g) $PWD $WHO"; echo e >&2; exit 3`}}, buildkit.Output{Stdout: "1000:100 /home/datalayer/content first\n", Stderr: "e\n", ExitCode: 3}},
		"as told": {buildkit.Command{Args: []string{"sh", "-c", `echo "$(id -u) $PWD $WHO"`}, Env: []string{"PATH=/usr/bin:/bin", "WHO=me"}, Cwd: "/tmp"},
			buildkit.Output{Stdout: "1000 /tmp me\n"}},
		"much output":    {buildkit.Command{Args: []string{"sh", "-c", "yes | head -c 3000000"}}, buildkit.Output{Stdout: strings.Repeat("y\n", 1500000)}},
		"with stdin":     {buildkit.Command{Args: []string{"sha256sum"}, Stdin: strings.NewReader(strings.Repeat("x", 1<<20))}, buildkit.Output{Stdout: sum(strings.Repeat("x", 1<<20)) + "  -\n"}},
		"unread stdin":   {buildkit.Command{Args: []string{"true"}, Stdin: strings.NewReader(strings.Repeat("x", 1<<20))}, buildkit.Output{}},
		"no stdin":       {buildkit.Command{Args: []string{"cat"}}, buildkit.Output{}},
		"by a signal":    {buildkit.Command{Args: []string{"sh", "-c", "kill -TERM $$"}}, buildkit.Output{ExitCode: 143}},
		"files are kept": {buildkit.Command{Args: []string{"sh", "-c", "test -e kept && cat kept || echo first >kept; cat kept"}}, buildkit.Output{Stdout: "first\n"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			output, err := container.Exec(t.Context(), test.command)
			if err != nil {
				t.Fatal(err)
			}
			if *output != test.want {
				t.Errorf("%+v, want %+v", *output, test.want)
			}
		})
	}
	for says, command := range map[string]buildkit.Command{
		"nonesuch in the container of": {Args: []string{"nonesuch"}}, "No such file or directory": {Args: []string{"true"}, Cwd: "/nonesuch"},
	} {
		if output, err := container.Exec(t.Context(), command); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v, %v", output, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if output, err := container.Exec(ctx, buildkit.Command{Args: []string{"sleep", "1000"}}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "sleep in the container of") {
		t.Errorf("%+v, %v", output, err)
	}
	for limit := time.Now().Add(20 * time.Second); ; {
		left := get(t, client)
		if left == "" {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("the killed command runs on as %s", left)
		}
	}
}

func sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestContainer_Ends(t *testing.T) {
	t.Run("with its first process", func(t *testing.T) {
		container, _ := startServer(t.Context(), t, `print("last words"); raise SystemExit(7)`)
		select {
		case <-container.Ended():
		case <-time.After(time.Minute):
			t.Fatal("it goes on")
		}
		if err := container.Failure(); err == nil || !strings.Contains(err.Error(), "/usr/bin/tini ended with status 7\nlast words") {
			t.Errorf("%v", err)
		}
		if _, err := container.Exec(t.Context(), buildkit.Command{Args: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "status 7") {
			t.Errorf("Exec gave %v", err)
		}
		if _, err := container.Dial(t.Context(), "tcp", "127.0.0.1:8000"); err == nil || !strings.Contains(err.Error(), "status 7") {
			t.Errorf("Dial gave %v", err)
		}
	})
	t.Run("with its context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		container, client := startServer(ctx, t, server)
		get(t, client)
		if err := container.Failure(); err != nil {
			t.Errorf("while it runs: %v", err)
		}
		cancel()
		select {
		case <-container.Ended():
		case <-time.After(time.Minute):
			t.Fatal("it goes on")
		}
	})
	t.Run("when it is closed", func(t *testing.T) {
		container, client := startServer(t.Context(), t, server)
		get(t, client)
		conn, err := container.Dial(t.Context(), "tcp", "127.0.0.1:8000")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := container.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("its connections go on")
		}
		select {
		case <-container.Ended():
		default:
			t.Error("its first process goes on")
		}
	})
	t.Run("before it starts", func(t *testing.T) {
		b := newBench(t)
		missing, err := reference.ParsePinned(b.registry.Host + "/none@sha256:" + strings.Repeat("0", 64))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.daemon.Start(t.Context(), buildkit.Process{Image: missing, Platform: environment.DefaultPlatform, Args: []string{"true"}}, nil); err == nil || !strings.Contains(err.Error(), "container of "+missing.String()) {
			t.Errorf("%v", err)
		}
	})
}

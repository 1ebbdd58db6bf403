package awstest

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

// StartMoto starts moto, another imitation of AWS, which others wrote and many use: what it shares with this one is not
// our wish alone. It gives its URL, which serves every service, and ends with the test.
func StartMoto(t testing.TB) string {
	t.Helper()
	paths, err := engine.Tools(t.Context(), io.Discard, "moto")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-m", "moto.server", "-H", host, "-p", port) //nolint:noctx,gosec // Stop ends it.
	// The settings of the AWS under test are not its own.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "AWS_") }),
		"PYTHONPATH="+paths["moto"], "PYTHONDONTWRITEBYTECODE=1")
	process, err := engine.StartLogged("moto", t.TempDir(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Stop(10 * time.Second) })
	url := "http://" + net.JoinHostPort(host, port)
	ask := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/moto-api/", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	if err := process.Ready(time.Minute, ask); err != nil {
		t.Fatal(err)
	}
	return url
}

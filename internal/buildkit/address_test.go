package buildkit

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

func TestFindAddressTakesTheFirstThatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		configured string
		env        map[string]string
		sockets    []string
		want       string
		fails      string
	}{
		"configured":          {configured: "tcp://a:1", env: map[string]string{"BUILDKIT_HOST": "tcp://b:2"}, want: "tcp://a:1"},
		"BUILDKIT_HOST":       {env: map[string]string{"BUILDKIT_HOST": "unix:///b.sock"}, sockets: []string{"/run/buildkit/buildkitd.sock"}, want: "unix:///b.sock"},
		"rootful socket":      {env: map[string]string{"XDG_RUNTIME_DIR": "/run/user/1"}, sockets: []string{"/run/buildkit/buildkitd.sock", "/run/user/1/buildkit/buildkitd.sock"}, want: "unix:///run/buildkit/buildkitd.sock"},
		"rootless socket":     {env: map[string]string{"XDG_RUNTIME_DIR": "/run/user/1"}, sockets: []string{"/run/user/1/buildkit/buildkitd.sock"}, want: "unix:///run/user/1/buildkit/buildkitd.sock"},
		"nothing":             {fails: "No BuildKit daemon is configured"},
		"bad configured":      {configured: "localhost:1234", fails: "it has no scheme"},
		"bad variable":        {env: map[string]string{"BUILDKIT_HOST": "unix://buildkitd.sock"}, fails: "three slashes"},
		"tcp without port":    {configured: "tcp://host", fails: "host and port"},
		"tcp with a path":     {configured: "tcp://host:1/x", fails: "host and port only"},
		"tcp with a login":    {configured: "tcp://u:p@host:1", fails: "host and port only"},
		"tcp with a query":    {configured: "tcp://host:1?token=cnry", fails: "host and port only"},
		"tcp with a fragment": {configured: "tcp://host:1#cnry", fails: "host and port only"},
		"login, no scheme":    {configured: "u:cnry@host:1", fails: "it has no scheme"},
		"login for a scheme":  {configured: "u:cnry@host://x", fails: "it has no scheme"},
		"pod with a value":    {configured: "kube-pod://a?token=cnry", fails: "not ?token"},
		"scheme not known":    {configured: "http://host:1", fails: `"http" is not one of`},
		"container":           {configured: "docker-container://builder?context=far", want: "docker-container://builder?context=far"},
		"pod":                 {configured: "kube-pod://buildkitd-0?namespace=ci", want: "kube-pod://buildkitd-0?namespace=ci"},
		"ssh":                 {configured: "ssh://ci@builder:22/run/user/1/buildkit/buildkitd.sock", want: "ssh://ci@builder:22/run/user/1/buildkit/buildkitd.sock"},
		"container, no name":  {configured: "docker-container://", fails: "the name of one"},
		"container as a flag": {configured: "docker-container://-x", fails: "the name of one"},
		"pod, other setting":  {configured: "kube-pod://a?kubeconfig=x", fails: "not ?kubeconfig"},
		"ssh with a password": {configured: "ssh://u:cnry@builder", fails: "use a key or an agent"},
		"ssh with a bad path": {configured: "ssh://u@builder/x;reboot", fails: "a shell would take"},
		"ssh host as a flag":  {configured: "ssh://-oProxyCommand=x", fails: "user, host, port"},
		"not a URL":           {configured: "ssh://u:cnry%@builder", fails: "cannot be read as a URL"},
		"tcp without a host":  {configured: "tcp://:1234", fails: "host and port"},
		"IPv6 address is one": {configured: "tcp://[::1]:1234", want: "tcp://[::1]:1234"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FindAddress(c.configured, Machine{
				Getenv: func(name string) string { return c.env[name] },
				IsSocket: func(path string) bool {
					for _, s := range c.sockets {
						if s == path {
							return true
						}
					}
					return false
				},
			})
			if c.fails == "" {
				if err != nil || got != c.want {
					t.Errorf("got %q, %v; want %q", got, err, c.want)
				}
				return
			}
			var found *problem.Problem
			if !errors.As(err, &found) || !strings.Contains(found.Title+found.Detail(), c.fails) {
				t.Errorf("error is %v, want one with %q", err, c.fails)
			}
			if strings.Contains(err.Error(), "cnry") || strings.Contains(err.Error(), "u:p") {
				t.Errorf("a password shows: %v", err)
			}
		})
	}
}

func TestVersionsThatAreTooOld(t *testing.T) {
	for version, old := range map[string]bool{"v0.34.2": false, "v0.13.0": false, "v0.12.5": true, "0.9.3": true, "v1.0.0": false, "v0.0.0+unknown": false, "": false, "29.1.0": false} {
		if err := checkVersion("unix:///x", version); (err != nil) != old {
			t.Errorf("version %q: %v, want too old: %v", version, err, old)
		}
	}
}

func TestUnreachableNamesTLSWhereTheConnectionIsDropped(t *testing.T) {
	var found *problem.Problem
	if err := unreachable("tcp://a:1", addressArgument, errors.New("error reading server preface: EOF")); !errors.As(err, &found) || !strings.Contains(found.Advice, "TLS") {
		t.Errorf("advice does not name TLS: %v", found)
	}
	if err := unreachable("tcp://a:1", addressArgument, errors.New("connection refused")); !errors.As(err, &found) || strings.Contains(found.Advice, "TLS") {
		t.Errorf("advice names TLS for a refused connection: %v", found)
	}
}

// TestServerThatIsNoBuildKitIsCalledSo asks real ones: what gRPC says of each is not ours to know.
func TestServerThatIsNoBuildKitIsCalledSo(t *testing.T) {
	ca := enginetest.NewCA(t)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	// A TLS server that knows of no protocols, such as one for another service.
	pair := ca.Server(t)
	certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() { _ = http.Serve(listener, http.NotFoundHandler()) }()
	for name, c := range map[string]struct {
		address string
		options []Option
	}{
		"HTTP":           {"tcp://" + strings.TrimPrefix(web.URL, "http://"), nil},
		"TLS of another": {"tcp://" + listener.Addr().String(), []Option{WithTLS(TLS{CA: ca.PEM})}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Connect(t.Context(), c.address, 1, slog.New(slog.DiscardHandler), c.options...)
			var found *problem.Problem
			if !errors.As(err, &found) || found.Title != "Server at the address is not BuildKit" || !strings.Contains(found.Advice, "buildkit.address") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

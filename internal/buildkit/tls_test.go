package buildkit_test

import (
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// trust is what a client with this certificate has; a nil pair is a client without one.
func trust(ca *enginetest.CA, client *enginetest.KeyPair) buildkit.TLS {
	settings := buildkit.TLS{CA: ca.PEM}
	if client != nil {
		settings.Certificate, settings.Key = client.Certificate, secret.New(string(client.Key))
	}
	return settings
}

func TestDaemonOverTLS(t *testing.T) {
	enginetest.Engine(t)
	remote, plain := enginetest.StartRemote(t), enginetest.StartPlainRemote(t)
	stranger := enginetest.NewCA(t)
	good, foreign, server := remote.CA.Client(t), stranger.Client(t), remote.CA.Server(t)
	nameless := httptest.NewUnstartedServer(nil)
	nameless.TLS, nameless.EnableHTTP2 = remote.CA.Client(t).TLS(t), true
	nameless.Config.ErrorLog = log.New(io.Discard, "", 0)
	nameless.StartTLS()
	t.Cleanup(nameless.Close)
	web := httptest.NewUnstartedServer(nil)
	web.TLS, web.Config.ErrorLog = remote.CA.Server(t).TLS(t), nameless.Config.ErrorLog
	web.StartTLS()
	t.Cleanup(web.Close)
	logger := slog.New(slog.DiscardHandler)

	daemon, err := buildkit.Connect(t.Context(), remote.Address, 1, logger, buildkit.WithTLS(trust(remote.CA, &good)))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if len(daemon.Platforms) == 0 {
		t.Error("the daemon runs no platform")
	}
	if err := daemon.Close(); err != nil {
		t.Error(err)
	}

	for name, c := range map[string]struct {
		address string
		tls     *buildkit.TLS
		title   string
		says    string
	}{
		"wrong CA":                  {remote.Address, new(trust(stranger, &good)), "TLS certificate of BuildKit is not trusted", "buildkit.tls.ca"},
		"wrong client certificate":  {remote.Address, new(trust(remote.CA, &foreign)), "BuildKit daemon refused the TLS client certificate", "buildkit.tls.cert"},
		"a server's certificate":    {remote.Address, new(trust(remote.CA, &server)), "BuildKit daemon refused the TLS client certificate", "clientAuth"},
		"no client certificate":     {remote.Address, new(trust(remote.CA, nil)), "BuildKit daemon wants a TLS client certificate", "buildkit.tls.cert"},
		"another name":              {"tcp://" + nameless.Listener.Addr().String(), new(trust(remote.CA, &good)), "TLS certificate of BuildKit is for another name", "subject alternative name"},
		"not BuildKit":              {"tcp://" + web.Listener.Addr().String(), new(trust(remote.CA, &good)), "TLS handshake with BuildKit failed", "no application protocol"},
		"plaintext to a TLS daemon": {remote.Address, nil, "BuildKit daemon expects TLS", "buildkit.tls"},
		"TLS to a plaintext daemon": {plain, new(trust(remote.CA, &good)), "BuildKit daemon does not speak TLS", "--tlscert"},
		"nobody there":              {"tcp://127.0.0.1:1", new(trust(remote.CA, &good)), "BuildKit daemon does not answer", "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			var options []buildkit.Option
			if c.tls != nil {
				options = append(options, buildkit.WithTLS(*c.tls))
			}
			_, err := buildkit.Connect(t.Context(), c.address, 1, logger, options...)
			var found *problem.Problem
			if !errors.As(err, &found) || found.Title != c.title || found.Object != c.address || !strings.Contains(found.Detail(), c.says) {
				t.Fatalf("error is %v\n%s", err, problem.From(err, "")[0].Detail())
			}
		})
	}
}

func TestTLSSettingsThatCannotWork(t *testing.T) {
	ca, other := enginetest.NewCA(t), enginetest.NewCA(t)
	pair, second := ca.Client(t), other.Client(t)
	for name, c := range map[string]struct {
		address string
		tls     buildkit.TLS
		title   string
	}{
		"a socket":               {"unix:///run/buildkit/buildkitd.sock", buildkit.TLS{CA: ca.PEM}, "TLS needs a tcp:// address of BuildKit"},
		"a local program":        {"docker-container://builder", buildkit.TLS{}, "TLS needs a tcp:// address of BuildKit"},
		"no certificate in it":   {"tcp://a:1", buildkit.TLS{CA: []byte("cnry")}, "No CA certificate for BuildKit"},
		"key of another":         {"tcp://a:1", buildkit.TLS{Certificate: pair.Certificate, Key: secret.New(string(second.Key))}, "Client certificate for BuildKit cannot be used"},
		"key in certificate":     {"", buildkit.TLS{Certificate: pair.Key, Key: secret.New(string(pair.Key))}, "Client certificate for BuildKit cannot be used"},
		"certificate alone":      {"", buildkit.TLS{Certificate: pair.Certificate}, "Client certificate for BuildKit cannot be used"},
		"all of it is as wanted": {"tcp://a:1", trust(ca, &pair), ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.tls.Check(c.address)
			if c.title == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var found *problem.Problem
			if !errors.As(err, &found) || found.Title != c.title || strings.Contains(found.Detail(), "cnry") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

package enginetest

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

// Remote is a daemon of a test's own that speaks TLS to clients with a certificate of CA.
type Remote struct {
	// Address is "tcp://127.0.0.1:port".
	Address string
	CA      *CA
}

// StartRemote starts one with a state of its own, and ends it with the test. Variables ("NAME=value") are added to its
// environment: a proxy, certificates to trust.
func StartRemote(t testing.TB, variables ...string) *Remote {
	t.Helper()
	ca := NewCA(t)
	pair := ca.Server(t)
	files := engine.TCP{CA: WritePEM(t, ca.PEM), Certificate: WritePEM(t, pair.Certificate), Key: WritePEM(t, pair.Key)}
	return &Remote{Address: startRemote(t, files, variables...), CA: ca}
}

// StartPlainRemote starts a daemon that listens without TLS, and gives its address. Variables are as in StartRemote.
func StartPlainRemote(t testing.TB, variables ...string) string {
	t.Helper()
	return startRemote(t, engine.TCP{}, variables...)
}

func startRemote(t testing.TB, tcp engine.TCP, variables ...string) string {
	t.Helper()
	NeedRoot(t)
	binaries, err := engine.Tools(t.Context(), io.Discard, "buildkitd", "runc")
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := engine.StartRemoteBuildkit(t.Context(), binaries, t.TempDir(), tcp, variables...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(daemon.Stop)
	return daemon.TCP
}

// WritePEM gives the path of a file with the text, which goes with the test.
func WritePEM(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text.pem")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

package provider_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

func TestProvider_RefusesTLSThatCannotWork(t *testing.T) {
	s := newStackWithoutEngine(t)
	ca, other := enginetest.NewCA(t), enginetest.NewCA(t)
	pair, second := ca.Client(t), other.Client(t)
	builder := func(format string, values ...any) string {
		return "provider \"datalayer\" {\n  buildkit = { " + fmt.Sprintf(format, values...) + " }\n}\n" + s.config("")
	}
	tls := func(steps ...any) []any { return append([]any{"buildkit", "tls"}, steps...) }
	s.refused(t, []mistake{
		{"certificate alone", builder(`address = "tcp://a:1", tls = { cert = %q }`, pair.Certificate), at(tls()...), []string{"Half a client certificate for BuildKit"}},
		{"key alone", builder(`tls = { key = "cnry.pem" }`), at(tls()...), []string{"Half a client certificate for BuildKit"}},
		{"empty value", builder(`tls = { ca = "" }`), at(tls("ca")...), []string{"Empty value in buildkit.tls", `buildkit.tls.ca = ""`}},
		{"blank value", builder(`tls = { ca = " " }`), at(tls("ca")...), []string{"Empty value in buildkit.tls", `buildkit.tls.ca = " "`}},
		{"key of another", builder(`tls = { cert = %q, key = %q }`, pair.Certificate, second.Key), at(tls("cert")...), []string{"Client certificate for BuildKit cannot be used", "private key does not match"}},
		{"not a certificate", builder(`tls = { ca = %q }`, pair.Key), at(tls("ca")...), []string{"No CA certificate for BuildKit"}},
		{"a socket", builder(`address = "unix:///run/x.sock", tls = { ca = %q }`, ca.PEM), at(tls()...), []string{"TLS needs a tcp:// address of BuildKit", "unix:///run/x.sock"}},
		{"platform of a node", builder(`nodes = { "linux/x86_64" = "tcp://a:1" }`), at("buildkit", "nodes", key("linux/x86_64")), []string{"Invalid platform of a BuildKit node", `"linux/amd64"`}},
		{"address of a node", builder(`nodes = { "linux/arm64" = "a:1" }`), at("buildkit", "nodes", key("linux/arm64")), []string{"Invalid BuildKit address", "no scheme"}},
		{"other scheme", builder(`address = "http://a:1"`), at("buildkit", "address"), []string{"Invalid BuildKit address", "docker-container, kube-pod, ssh"}},
	})
}

func TestProvider_NamesTheFileOfTLSThatIsMissing(t *testing.T) {
	s := newStack(t)
	path := filepath.Join(t.TempDir(), "nowhere.pem")
	config := fmt.Sprintf("provider \"datalayer\" {\n  buildkit = { address = \"tcp://127.0.0.1:1\", tls = { ca = %q } }\n}\n", path) + s.config("")
	s.run(t, resource.TestStep{Config: config, ExpectError: says("File of buildkit.tls cannot be read", "buildkit.tls.ca", path, "no such file", "-----BEGIN")}, isNew(s, config))
}

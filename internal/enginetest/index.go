package enginetest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// IndexPassword is the password of every Index: one that URLs, base64 and logs spell in ways of their own.
const IndexPassword = "cnry-index/pass+word"

// Index is a package index (PEP 503) that asks for a login, over TLS of a certificate authority that nobody knows. It has
// one wheel, private-tool, of a version that no run before had: a daemon would take the cached step of another run.
type Index struct {
	// URL is the simple index, Username its login's; the password is IndexPassword.
	URL, Username string
	CA            *CA
	// Version is the wheel's, Lock a requirements file with it.
	Version, Lock string
}

// StartIndex starts an index that ends with the test.
func StartIndex(t testing.TB) *Index {
	t.Helper()
	index := &Index{Username: "reader", CA: NewCA(t), Version: fmt.Sprintf("1.%d", time.Now().UnixNano())}
	wheel := wheelOf(t, "private_tool", index.Version)
	sum := sha256.Sum256(wheel)
	digest, file := hex.EncodeToString(sum[:]), "private_tool-"+index.Version+"-py3-none-any.whl"
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != index.Username || password != IndexPassword {
			w.Header().Set("WWW-Authenticate", `Basic realm="index"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/simple/private-tool/":
			_, _ = fmt.Fprintf(w, `<a href="/files/%s#sha256=%s">%s</a>`, file, digest, file)
		case "/files/" + file:
			_, _ = w.Write(wheel)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	server.TLS = index.CA.Server(t).TLS(t)
	server.StartTLS()
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	// pip 25 cannot check the certificate of an address.
	index.URL = "https://localhost:" + address.Port() + "/simple/"
	index.Lock = "private-tool==" + index.Version + " --hash=sha256:" + digest + "\n"
	return index
}

// wheelOf is the smallest wheel that pip installs.
func wheelOf(t testing.TB, module, version string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	info := module + "-" + version + ".dist-info/"
	record := ""
	for _, file := range []struct{ name, text string }{
		{module + ".py", "answer = 42\n"},
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + strings.ReplaceAll(module, "_", "-") + "\nVersion: " + version + "\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", ""},
	} {
		if file.text == "" {
			file.text = record + file.name + ",,\n"
		} else {
			sum := sha256.Sum256([]byte(file.text))
			record += fmt.Sprintf("%s,sha256=%s,%d\n", file.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(file.text))
		}
		w, err := archive.Create(file.name)
		if err == nil {
			_, err = w.Write([]byte(file.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

package enginetest

import (
	"archive/zip"
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
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

	server   *httptest.Server
	mutex    sync.Mutex
	wheels   map[string][]byte
	yanked   map[string]string
	md5      bool
	fresh    bool
	requests int
}

// StartIndex starts an index that ends with the test.
func StartIndex(t testing.TB) *Index {
	t.Helper()
	index := &Index{Username: "reader", CA: NewCA(t), Version: fmt.Sprintf("1.%d", time.Now().UnixNano()), wheels: map[string][]byte{}, yanked: map[string]string{}}
	index.server = httptest.NewUnstartedServer(index)
	index.server.TLS = index.CA.Server(t).TLS(t)
	index.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	index.server.StartTLS()
	t.Cleanup(index.server.Close)
	address, err := url.Parse(index.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	// pip 25 cannot check the certificate of an address.
	index.URL = "https://localhost:" + address.Port() + "/simple/"
	index.Lock = "private-tool==" + index.Version + " --hash=sha256:" + index.Add(t, "private-tool", index.Version, "py3-none-any") + "\n"
	return index
}

// Add puts a wheel of a package on the index and gives its digest in hex. tag is the wheel's ("py3-none-any"), requires
// what its metadata asks for.
func (i *Index) Add(t testing.TB, name, version, tag string, requires ...string) (digest string) {
	t.Helper()
	module := strings.ReplaceAll(name, "-", "_")
	wheel := wheelOf(t, module, version, tag, requires)
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.wheels[module+"-"+version+"-"+tag+".whl"] = wheel
	return hexDigest(wheel)
}

// HashByMD5 makes the index give the MD5 of its files, as old ones do.
func (i *Index) HashByMD5() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.md5 = true
}

// StaysFresh lets a client answer itself for ten minutes what it asked once, as PyPI does.
func (i *Index) StaysFresh() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.fresh = true
}

// Yank withdraws all versions of a package so far (PEP 592).
func (i *Index) Yank(name, reason string) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for file := range i.wheels {
		if module, _, _ := strings.Cut(file, "-"); module == strings.ReplaceAll(name, "-", "_") {
			i.yanked[file] = reason
		}
	}
}

func hexDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Requests is how many requests were made so far.
func (i *Index) Requests() int {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.requests
}

// Stop ends the index before the test ends.
func (i *Index) Stop() { i.server.Close() }

// ServeHTTP answers uv and pip.
func (i *Index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.requests++
	if user, password, ok := r.BasicAuth(); !ok || user != i.Username || password != IndexPassword {
		w.Header().Set("WWW-Authenticate", `Basic realm="index"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if file, isFile := strings.CutPrefix(r.URL.Path, "/files/"); isFile && i.wheels[file] != nil {
		_, _ = w.Write(i.wheels[file])
		return
	}
	project, isProject := strings.CutPrefix(r.URL.Path, "/simple/")
	if i.fresh {
		w.Header().Set("Cache-Control", "max-age=600")
	}
	found := false
	for _, file := range slices.Sorted(maps.Keys(i.wheels)) {
		module, _, _ := strings.Cut(file, "-")
		if isProject && strings.ReplaceAll(module, "_", "-") == strings.Trim(project, "/") {
			found = true
			yanked := ""
			if reason, is := i.yanked[file]; is {
				yanked = fmt.Sprintf(" data-yanked=%q", reason)
			}
			hash := "sha256=" + hexDigest(i.wheels[file])
			if i.md5 {
				hash = fmt.Sprintf("md5=%x", md5.Sum(i.wheels[file]))
			}
			_, _ = fmt.Fprintf(w, `<a href="/files/%s#%s"%s>%s</a>`, file, hash, yanked, file)
		}
	}
	if !found {
		w.WriteHeader(http.StatusNotFound)
	}
}

// wheelOf is the smallest wheel that pip installs.
func wheelOf(t testing.TB, module, version, tag string, requires []string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	info := module + "-" + version + ".dist-info/"
	record := ""
	metadata := "Metadata-Version: 2.1\nName: " + strings.ReplaceAll(module, "_", "-") + "\nVersion: " + version + "\n"
	for _, requirement := range requires {
		metadata += "Requires-Dist: " + requirement + "\n"
	}
	for _, file := range []struct{ name, text string }{
		{module + ".py", "answer = 42\n"},
		{info + "METADATA", metadata},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: " + tag + "\n"},
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

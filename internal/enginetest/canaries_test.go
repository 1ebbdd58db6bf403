package enginetest_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

func TestCanariesAreFoundInEverySpelling(t *testing.T) {
	secret := enginetest.Canary("self")
	pack := func(write func(io.Writer) io.WriteCloser) string {
		var packed bytes.Buffer
		w := write(&packed)
		if _, err := io.WriteString(w, "password: "+secret); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return packed.String()
	}
	quoted, err := json.Marshal("x " + secret)
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{
		"raw": "a" + secret + "b", "JSON": string(quoted), "query": url.QueryEscape("u:" + secret), "path": url.PathEscape(secret),
		"URL":  (&url.URL{Scheme: "http", Host: "proxy", User: url.UserPassword("u", secret)}).String(),
		"gzip": pack(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		"zip": pack(func(w io.Writer) io.WriteCloser {
			archive := zip.NewWriter(w)
			entry, err := archive.Create("tfstate")
			if err != nil {
				t.Fatal(err)
			}
			return struct {
				io.Writer
				io.Closer
			}{entry, archive}
		}),
	}
	for _, user := range []string{"", "a", "ab", "abc"} {
		forms["base64 after "+user] = base64.StdEncoding.EncodeToString([]byte(user + ":" + secret + "\n"))
		forms["URL base64 after "+user] = base64.RawURLEncoding.EncodeToString([]byte(user + ":" + secret))
	}
	for name, text := range forms {
		t.Run(name, func(t *testing.T) {
			if found := (enginetest.Canaries{"secret": secret}).Found([]byte(text)); len(found) != 1 {
				t.Errorf("found %v in %q, want the secret once", found, text)
			}
		})
	}
	if found := (enginetest.Canaries{"secret": secret}).Found([]byte(base64.StdEncoding.EncodeToString([]byte("something else altogether")))); found != nil {
		t.Errorf("found %v where no secret is", found)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("harmless"), 0o600); err != nil {
		t.Fatal(err)
	}
	if files := (enginetest.Canaries{"secret": secret}).NowhereIn(t, dir); files != 1 {
		t.Errorf("%d files were looked at, want 1", files)
	}
}

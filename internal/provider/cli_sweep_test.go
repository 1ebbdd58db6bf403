package provider_test

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
	"strings"
	"testing"
)

// canaries are secrets by what they are for. Their values are unlikely, and hold what URLs, JSON and HCL escape.
type canaries map[string]string

func canary(word string) string { return "cnry&" + word + "+7f3a/Q=" }

// spellings are all forms in which a secret may show: as it is, escaped, and as base64 of a longer text that holds it.
func spellings(secret string) []string {
	quoted, _ := json.Marshal(secret) // A string always has a JSON form.
	forms := []string{secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("", secret).String()[1:]}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			// What stands before shifts the bits; the characters that it shares with the secret, and the last, are cut off.
			encoded := encoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
			forms = append(forms, encoded[(before*8+5)/6:len(encoded)-1])
		}
	}
	return forms
}

// found gives the names of the secrets that the data holds, also below one layer of gzip or zip.
func (c canaries) found(data []byte) []string {
	var names []string
	for name, secret := range c {
		for _, form := range spellings(secret) {
			if bytes.Contains(data, []byte(form)) {
				names = append(names, name)
				break
			}
		}
	}
	if unpacked, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		if inner, err := io.ReadAll(unpacked); err == nil {
			names = append(names, c.found(inner)...)
		}
	}
	if archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
		for _, entry := range archive.File {
			if inner, err := archive.Open(entry.Name); err == nil {
				if text, err := io.ReadAll(inner); err == nil {
					names = append(names, c.found(text)...)
				}
				_ = inner.Close()
			}
		}
	}
	return names
}

// nowhereIn checks files, and gives how many there were.
func (c canaries) nowhereIn(t *testing.T, dir string) int {
	t.Helper()
	files := 0
	for _, path := range filesBelow(t, dir) {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		files++
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range c.found(data) {
			t.Errorf("%s is in %s", name, path)
		}
	}
	return files
}

// unsaid checks all that a run wrote.
func (c canaries) unsaid(t *testing.T, run string, o outcome) {
	t.Helper()
	for where, text := range map[string]string{"stdout": o.stdout, "stderr": o.stderr, "trace log": o.log} {
		for _, name := range c.found([]byte(text)) {
			t.Errorf("%s is in the %s of %s", name, where, run)
		}
	}
}

func TestSweep_FindsEverySpelling(t *testing.T) {
	secret := canary("self")
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
			if found := (canaries{"secret": secret}).found([]byte(text)); len(found) != 1 {
				t.Errorf("found %v in %q, want the secret once", found, text)
			}
		})
	}
	if found := (canaries{"secret": secret}).found([]byte(base64.StdEncoding.EncodeToString([]byte("something else altogether")))); found != nil {
		t.Errorf("found %v where no secret is", found)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("harmless"), 0o600); err != nil {
		t.Fatal(err)
	}
	if files := (canaries{"secret": secret}).nowhereIn(t, dir); files != 1 {
		t.Errorf("%d files were looked at, want 1", files)
	}
}

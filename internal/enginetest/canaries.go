package enginetest

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Canaries are secrets by what they are for, to be searched where no secret may be.
type Canaries map[string]string

// Canary is an unlikely secret that holds what URLs, JSON, HCL and shells escape.
func Canary(word string) string { return "cnry&" + word + "+7f3a/Q=" }

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

// Found gives the names of the secrets that the data holds, also below one layer of gzip or zip.
func (c Canaries) Found(data []byte) []string {
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
			names = append(names, c.Found(inner)...)
		}
	}
	if archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
		for _, entry := range archive.File {
			if inner, err := archive.Open(entry.Name); err == nil {
				if text, err := io.ReadAll(inner); err == nil {
					names = append(names, c.Found(text)...)
				}
				_ = inner.Close()
			}
		}
	}
	return names
}

// NowhereIn checks the files below a directory, and gives how many there were.
func (c Canaries) NowhereIn(t testing.TB, dir string) int {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		for _, name := range c.Found(data) {
			t.Errorf("%s is in %s", name, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

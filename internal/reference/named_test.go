package reference

import (
	"strings"
	"testing"
)

func TestParseNamedTakesATagOrADigest(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	tests := map[string]struct {
		want  Reference
		title string
	}{
		"r.example/a:v1":                {want: Repository{"r.example", "a"}.WithTag("v1")},
		"r.example/a@" + digest:         {want: Repository{"r.example", "a"}.WithDigest(digest)},
		"r.example:5000/a:v1@" + digest: {want: Reference{Repository{"r.example:5000", "a"}, "v1", digest}},
		"r.example:5000/a":              {title: "Image reference without a tag or digest"},
		"docker.io/python":              {title: "Image reference without a tag or digest"},
		"python:3.13":                   {title: "Image reference without a registry host"},
		"":                              {title: "Empty image reference"},
	}
	for s, tt := range tests {
		got, err := ParseNamed(s)
		if got != tt.want || (tt.title == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), tt.title) {
			t.Errorf("%q: got %v, %v, want %v, %q", s, got, err, tt.want, tt.title)
		}
	}
}

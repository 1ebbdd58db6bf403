package reference

import (
	"strings"
	"testing"
)

func TestParseHostTakesEveryFormOfAnAddress(t *testing.T) {
	tests := map[string]string{
		"https://r.example.com/team/env": "r.example.com",
		"r.example.com/":                 "r.example.com",
		"r.example.com":                  "r.example.com",
		"r.example.com:443":              "r.example.com",
		"https://r.example.com:443/":     "r.example.com",
		"R.Example.com":                  "r.example.com",
		"r.example.com:5000":             "r.example.com:5000",
		"http://r.example.com:443":       "r.example.com:443",
		"localhost":                      "localhost",
		"localhost:443":                  "localhost:443",
		"127.0.0.1:443":                  "127.0.0.1:443",
		"r.localhost:443":                "r.localhost",
		"http://localhost:5000/v2/":      "localhost:5000",
		"[::1]:5000":                     "[::1]:5000",
		"[::1]":                          "[::1]",
		"https://index.docker.io/v1/":    "docker.io",
		"registry-1.docker.io":           "docker.io",
		"docker.io":                      "docker.io",
	}
	for address, want := range tests {
		if got, err := ParseHost(address); err != nil || got != want {
			t.Errorf("ParseHost(%q) = %q, %v; want %q", address, got, err, want)
		}
	}
}

func TestCanonicalHostLeavesWhatIsNoHost(t *testing.T) {
	for host, want := range map[string]string{"r.example.com:443": "r.example.com", "r.example.com:5000": "r.example.com:5000", "localhost:443": "localhost:443", "": "", "a b": "a b"} {
		if got := CanonicalHost(host); got != want {
			t.Errorf("CanonicalHost(%q) = %q, want %q", host, got, want)
		}
	}
}

func TestParseHostRefusesWhatIsNoHost(t *testing.T) {
	for _, address := range []string{
		"", " ", " r.example.com", "r.example.com ", "registry", "/team/env", "ftp://r.example.com", "r.example.com:", "r.example.com:x",
		"r.example.com:0", "r.example.com:65536", "[::1", "https://", "a b.c", "-a.b",
	} {
		got, err := ParseHost(address)
		_ = asProblem(t, err)
		if got != "" {
			t.Errorf("ParseHost(%q) = %q with an error", address, got)
		}
	}
}

func TestParseHostNeverRepeatsUserInformation(t *testing.T) {
	for _, address := range []string{
		"https://user:cnry-1@r.example.com/", "user:cnry-1@r.example.com", "https://us er:cnry-1/x@r.example.com", "x://user:cnry-1@r.example.com",
		"r.example.com?token=cnry-1", "https://r.example.com?token=cnry-1", "https://user:cnry-1@r.example.com?token=cnry-1", "x://r.example.com/#cnry-1",
	} {
		_, err := ParseHost(address)
		p := asProblem(t, err)
		if text := p.Title + p.Detail() + p.Error(); strings.Contains(text, "cnry") || !strings.Contains(text, "r.example.com") {
			t.Errorf("ParseHost(%q): %s", address, text)
		}
	}
}

func TestPlainHTTPIsForLoopbackOnly(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:5000": true, "127.0.0.1:5000": true, "127.8.0.1": true, "[::1]:5000": true, "[::1]": true,
		"127.255.255.255": true, "[0:0:0:0:0:0:0:1]:5000": true, "[::ffff:127.0.0.1]:5000": true,
		"localhost:4430": true, "127.0.0.1:8443": true, "[::1]:443": true,
		"r.localhost": false, "r.localhost:5000": false, "localhost.": false, "localhost.:5000": false,
		"[0:0:0:0:0:0:0:1]": false, "[::2]:5000": false, "128.0.0.1:5000": false, "127.1:5000": false, "0.0.0.0:5000": false, "host.docker.internal:5000": false,
		"localhost:443": true, "127.0.0.1:443": true, "r.example.com": false, "r.example.com:80": false, "10.0.0.1:5000": false,
		"localhost.example.com": false, "notlocalhost": false, "127.example.com": false,
	} {
		if got := PlainHTTP(host); got != want {
			t.Errorf("PlainHTTP(%q) = %v", host, got)
		}
	}
}

package reference

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/distribution/reference"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

var hostPattern = lazyregexp.New(`^(?:` + reference.DomainRegexp.String() + `)$`)

// ParseHost gives the registry host of an address as people write it: "https://H/team/env", "H/team/env", "H/", "H:443"
// and "H" are all H, in lower case. Other ports stay part of the host, and so does 443 on a loopback host, whose own
// default is another one. Docker Hub's aliases are docker.io. User information, query and fragment are errors, and are not
// repeated in them.
func ParseHost(address string) (string, error) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		scheme, rest = "", address
	}
	authority, _, _ := strings.Cut(rest, "/")
	if strings.Contains(authority, "@") {
		return "", &problem.Problem{
			Title:  "Registry address with a user name",
			Object: problem.Address(authority),
			Advice: "Remove what stands before \"@\": user name and password go into their own arguments.",
		}
	}
	host := strings.ToLower(authority)
	shown := quote(problem.Address(address))
	switch {
	case scheme != "" && scheme != "https" && scheme != "http":
		return "", &problem.Problem{
			Title: "Registry address with an unknown scheme", Object: shown, Advice: "Write the host alone, or https:// before it.",
		}
	case !hostPattern.MatchString(host) || !explicitHost(host) || !validPort(host) || strings.ContainsAny(address, "?#"):
		return "", &problem.Problem{
			Title: "Registry address not understood", Object: shown,
			Advice: "Write the registry's host, with its port if it has one: registry.example.com or localhost:5000.",
		}
	}
	if bare, ok := strings.CutSuffix(host, ":443"); ok && scheme != "http" && !PlainHTTP(host) {
		host = bare
	}
	switch host {
	case "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com":
		host = dockerHub
	}
	return host, nil
}

// CanonicalHost is the one spelling of a host: "ghcr.io:443" and "ghcr.io" are one registry. What is no host stays as it is.
func CanonicalHost(host string) string {
	if parsed, err := ParseHost(host); err == nil {
		return parsed
	}
	return host
}

// PlainHTTP tells whether a registry host speaks HTTP without TLS: "localhost" and the addresses of loopback do, with any
// port. It is containerd's docker.MatchLocalhost, by which BuildKit chooses HTTP: both must speak to one registry alike.
// It takes [::1] with and without a port, and other spellings of an IPv6 address with one only. Names such as
// "r.localhost" do not.
func PlainHTTP(host string) bool {
	if host == "[::1]" {
		return true
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return name == "localhost" || net.ParseIP(name).IsLoopback()
}

// hostName is the host without its port and without the brackets of an IPv6 address.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return (&url.URL{Host: host}).Hostname()
}

func validPort(host string) bool {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		return !strings.HasSuffix(host, ":")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// explicitHost is the field's rule for telling a host from the first component of a path.
func explicitHost(s string) bool { return s == "localhost" || strings.ContainsAny(s, ".:") }

// sameHost tells whether a path's first component repeats the host, with or without the port.
func sameHost(host, component string) bool {
	component, _, _ = strings.Cut(component, "@")
	return strings.EqualFold(host, component) || strings.EqualFold(hostName(host), hostName(component))
}

func blank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

func upperCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.ToLower(r) == r {
			return -1
		}
		return r
	}, s)
}

func quote(s string) string { return strconv.Quote(s) }

package environment

import (
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

// Names and values that look like a credential, by the rules that the contract's own tools apply. Env and labels end
// up in image configs that anyone who pulls can read, so both are held to them.
var (
	credentialWord  = map[string]bool{"token": true, "secret": true, "password": true, "passwd": true, "pwd": true, "credential": true, "credentials": true}
	credentialPair  = map[string]bool{"api_key": true, "access_key": true, "private_key": true}
	nameDelimiter   = lazyregexp.New(`[^A-Za-z0-9]+`)
	credentialValue = []struct {
		kind    string
		pattern *lazyregexp.Regexp
	}{
		{"an AWS access key id", lazyregexp.New(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`)},
		{"a GitHub token", lazyregexp.New(`\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}`)},
		{"an API key", lazyregexp.New(`\bsk-[A-Za-z0-9_-]{16,}`)},
		{"an E2B API key", lazyregexp.New(`\be2b_[0-9a-f]{40}\b`)},
		{"a Daytona API key", lazyregexp.New(`\bdtn_[0-9a-f]{32,}\b`)},
		{"a Slack token", lazyregexp.New(`\bxox[a-z]-[A-Za-z0-9-]{8,}`)},
		{"a private key in PEM form", lazyregexp.New(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)},
		{"a JSON Web Token", lazyregexp.New(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)},
		{"a URL with a password in it", lazyregexp.New(`[A-Za-z0-9+.-]://[^\s/?#:@]*:[^\s/?#@]+@`)},
		{"a Datalayer secret id", lazyregexp.New(`\bdlsec_[A-Za-z0-9]+`)},
	}
)

// credentialName gives the word in a name that makes it look like a credential's, or "".
func credentialName(name string) string {
	words := nameDelimiter.Split(strings.ToLower(name), -1)
	for i, word := range words {
		if credentialWord[word] {
			return word
		}
		if i > 0 && credentialPair[words[i-1]+"_"+word] {
			return words[i-1] + "_" + word
		}
	}
	return ""
}

// credentialKind says what a value looks like, or "".
func credentialKind(value string) string {
	for _, c := range credentialValue {
		if c.pattern.MatchString(value) {
			return c.kind
		}
	}
	return ""
}

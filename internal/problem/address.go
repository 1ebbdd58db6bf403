package problem

import "strings"

// schemeLetters are those of a URL's scheme (RFC 3986).
const schemeLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-"

// Address is an address as a problem may show it, also where it is none: without what stands before its "@", and without
// query and fragment. Each may be a login.
func Address(text string) string {
	scheme, rest := CutScheme(text)
	if scheme != "" {
		scheme += "://"
	}
	at, end := strings.LastIndex(rest, "@"), strings.IndexAny(rest, "?#")
	switch {
	case end >= 0 && end < at: // The "@" may be that of a login or of a query.
		return scheme + "…"
	case end >= 0:
		return scheme + withoutUser(rest[:end+1], at) + "…"
	}
	return scheme + withoutUser(rest, at)
}

func withoutUser(text string, at int) string {
	if at < 0 {
		return text
	}
	return "…" + text[at:]
}

// CutScheme cuts the scheme off an address. It is empty where what stands before "://" is none, such as a login.
func CutScheme(text string) (scheme, rest string) {
	if scheme, rest, found := strings.Cut(text, "://"); found && strings.Trim(scheme, schemeLetters) == "" {
		return scheme, rest
	}
	return "", text
}

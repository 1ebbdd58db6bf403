package sbom

import (
	"regexp"
	"strings"
)

var licenseID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*\+?$`)

// isLicenseExpression tells whether text can stand in a document as it is: the grammar of SPDX license expressions without
// LicenseRef-, whose text the document would have to hold. Whether a license is on SPDX's list is not looked up: the build
// tools that write License-Expression have done so (PEP 639).
func isLicenseExpression(text string) bool {
	words := strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(text))
	rest, ok := licenseTerms(words)
	return ok && len(rest) == 0
}

// licenseTerms reads terms joined by AND and OR and gives the words after them.
func licenseTerms(words []string) (rest []string, ok bool) {
	for {
		if words, ok = licenseTerm(words); !ok {
			return words, false
		}
		if len(words) == 0 || words[0] != "AND" && words[0] != "OR" {
			return words, true
		}
		words = words[1:]
	}
}

func licenseTerm(words []string) (rest []string, ok bool) {
	if len(words) == 0 {
		return words, false
	}
	if words[0] == "(" {
		words, ok = licenseTerms(words[1:])
		if !ok || len(words) == 0 || words[0] != ")" {
			return words, false
		}
		return words[1:], true
	}
	if !isLicenseID(words[0]) {
		return words, false
	}
	if len(words) > 2 && words[1] == "WITH" && isLicenseID(words[2]) {
		return words[3:], true
	}
	return words[1:], true
}

func isLicenseID(word string) bool {
	switch strings.ToUpper(word) {
	case "AND", "OR", "WITH", "NONE", "NOASSERTION":
		return false
	}
	return licenseID.MatchString(word) && !strings.HasPrefix(word, "LicenseRef-") && !strings.HasPrefix(word, "DocumentRef-")
}

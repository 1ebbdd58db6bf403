package e2b

import (
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

// OwnTagPrefix begins the one tag that each build of ours carries from its request on: by it a build is found again whose
// request was not answered, it makes the build launch by its id for good, and it holds the cache key.
const OwnTagPrefix = "dl-"

var ownTagRule = lazyregexp.New(`^dl-([0-9a-f]{64})-([0-9a-f]{8})$`)

// OwnTag is the tag of a build: "dl-<64 hex of the cache key>-<nonce>". The nonce is 8 hex digits.
func OwnTag(cacheKey, nonce string) string {
	return OwnTagPrefix + strings.TrimPrefix(cacheKey, "sha256:") + "-" + nonce
}

// SplitOwnTag is the inverse of OwnTag.
func SplitOwnTag(tag string) (cacheKey, nonce string, ours bool) {
	found := ownTagRule.FindStringSubmatch(tag)
	if found == nil {
		return "", "", false
	}
	return "sha256:" + found[1], found[2], true
}

// MadeHere tells whether a template was made by a build of ours, not taken over: the build that it was made with carries a
// tag of ours. One whose first build is no longer listed may be anybody's.
func MadeHere(template Template, tags []Tag) bool {
	return slices.ContainsFunc(tags, func(tag Tag) bool {
		_, _, ours := SplitOwnTag(tag.Tag)
		return ours && template.MadeWith(tag.BuildID)
	})
}

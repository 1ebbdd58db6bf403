package environment

import (
	"encoding/hex"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

var versionPattern = lazyregexp.New(`^[A-Za-z0-9._-]{1,64}$`)

// ValidVersion tells what the version of an image may be, and so what stands between "v" and the nonce in its tag.
func ValidVersion(version string) bool { return versionPattern.MatchString(version) }

// ImageTag is the tag of an image, "v1-2d08529e": the version for people, the nonce so that two images never share one.
func ImageTag(version, nonce string) string { return "v" + version + "-" + nonce }

// SplitTag gives version and nonce of a tag that ImageTag made; ok tells whether it can have.
func SplitTag(tag string) (version, nonce string, ok bool) {
	cut := strings.LastIndex(tag, "-")
	if !strings.HasPrefix(tag, "v") || cut < 2 {
		return "", "", false
	}
	version, nonce = tag[1:cut], tag[cut+1:]
	_, err := hex.DecodeString(nonce)
	return version, nonce, ValidVersion(version) && err == nil && len(nonce) == 8 && strings.ToLower(nonce) == nonce
}

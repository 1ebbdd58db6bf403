package provider

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

// versionPattern is what version may be, and so what stands between "v" and the nonce in a tag.
var versionPattern = lazyregexp.New(`^[A-Za-z0-9._-]{1,64}$`)

// tags are the tags that this resource put: the one in state and those that a registry could not remove.
func (m builtImage) tags() []string {
	if m.Tag.IsNull() {
		return retainedTags(m.Retained)
	}
	return append(retainedTags(m.Retained), m.Tag.ValueString())
}

// ownsTag recognises every tag that this resource ever put: the nonce stays when the version changes.
func (m builtImage) ownsTag(tag string) bool {
	_, nonce, ours := splitTag(m.Tag.ValueString())
	_, other, alike := splitTag(tag)
	return ours && alike && nonce == other
}

// imageTag is the tag of an image: the version for people, the nonce so that two images never share one.
func imageTag(version, nonce string) string { return "v" + version + "-" + nonce }

// splitTag gives version and nonce of a tag that imageTag made.
func splitTag(tag string) (version, nonce string, ok bool) {
	cut := strings.LastIndex(tag, "-")
	if !strings.HasPrefix(tag, "v") || cut < 2 {
		return "", "", false
	}
	version, nonce = tag[1:cut], tag[cut+1:]
	_, err := hex.DecodeString(nonce)
	return version, nonce, versionPattern.MatchString(version) && err == nil && len(nonce) == 8 && strings.ToLower(nonce) == nonce
}

func newNonce() string {
	var raw [4]byte
	_, _ = rand.Read(raw[:]) // It never fails: the runtime ends the program instead.
	return hex.EncodeToString(raw[:])
}

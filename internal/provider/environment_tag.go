package provider

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// The grammar of our tags, which sweep reads too.
var imageTag, splitTag = environment.ImageTag, environment.SplitTag

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

func newNonce() string {
	var raw [4]byte
	_, _ = rand.Read(raw[:]) // It never fails: the runtime ends the program instead.
	return hex.EncodeToString(raw[:])
}

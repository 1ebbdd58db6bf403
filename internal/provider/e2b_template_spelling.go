package provider

import (
	"encoding/base64"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// undecided is the planned interpreter with what the configuration leaves open unknown.
func undecided(planned, given types.Object) types.Object {
	if given.IsNull() {
		return types.ObjectUnknown(interpreterType)
	}
	parts := planned.Attributes()
	for _, name := range []string{"commit", "edit_digest"} {
		if member[types.String](given, name).IsNull() {
			parts[name] = types.StringUnknown()
		}
	}
	return types.ObjectValueMust(interpreterType, parts)
}

// spelled keeps the prior spelling of arguments that mean what they meant. Each is judged by itself and whether or not
// anything is built, so that a plan in which others are not known yet says what the plan at apply will say.
func (m templateModel) spelled(state templateModel, c content) templateModel {
	if c.lock.Equal(state.LockDigest) {
		m.Lock = spelling(m.Lock, state.Lock)
	}
	if sameSpec(artifactArguments{Files: m.Files}, artifactArguments{Files: state.Files}) {
		m.Files = spelling(m.Files, state.Files)
	} else {
		m.Files = spelledEntries(m.Files, state.Files, map[string]func(string) string{"mode": environment.NormalMode, "content_base64": decoded})
	}
	if sameSpec(artifactArguments{AptPackages: m.AptPackages}, artifactArguments{AptPackages: state.AptPackages}) {
		m.AptPackages = spelling(m.AptPackages, state.AptPackages)
	}
	m.PostInstall = spelledEntries(m.PostInstall, state.PostInstall, map[string]func(string) string{"command": environment.NormalCommand})
	return m
}

// decoded is what base64 says, or the text itself where it is none.
func decoded(text string) string {
	if content, err := base64.StdEncoding.DecodeString(text); err == nil {
		return string(content)
	}
	return text
}

// sameSpec tells whether both are known and give one Spec.
func sameSpec(planned, prior artifactArguments) bool {
	one, known, faults := planned.spec()
	other, knownToo, more := prior.spec()
	return known && knownToo && len(faults)+len(more) == 0 && one.Digest() == other.Digest()
}

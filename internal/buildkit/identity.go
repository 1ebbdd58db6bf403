package buildkit

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/moby/buildkit/client/llb"
	digest "github.com/opencontainers/go-digest"

	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// identitySecret, with a digest behind it, is never given.
const identitySecret = "datalayer-known-by"

// knownBy makes the daemon tell a step by these texts, none of them secret, from steps that look the same otherwise: of
// those that run at the same time it runs one, for whomever, and the values of secrets are nothing that it looks at. The
// secret is optional and nobody has it, so that nothing is mounted: the step, its layer and the config stay what they are.
func knownBy(texts ...string) llb.RunOption {
	encoded, _ := json.Marshal(texts) // Strings always can be.
	return llb.AddSecret("/run/secrets/"+identitySecret, llb.SecretID(identitySecret+"-"+digest.FromBytes(encoded).Encoded()), llb.SecretOptional)
}

// alone is a text that no other step is known by.
func alone() string { return rand.Text() }

// processKey makes of secrets what tells them apart in this process, and nothing to nobody else.
var processKey = alone()

// apart is a text that stands for a secret as long as the process lives.
func apart(value secret.Value) string {
	sum := sha256.Sum256([]byte(processKey + value.Reveal()))
	return hex.EncodeToString(sum[:])
}

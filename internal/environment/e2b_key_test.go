package environment_test

import (
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// The keys of E2B templates stand: rows are only ever added.
func TestE2BKeysStand(t *testing.T) {
	content := environment.E2BContent{CPUCount: 2, MemoryMB: 1024, StartCommand: "start", ReadyCommand: "ready", ServerCommit: "c", EditDigest: "sha256:e"}
	bigger, changed := content, content
	bigger.MemoryMB, changed.EditDigest = 2048, "sha256:f"
	for name, tt := range map[string]struct {
		content environment.E2BContent
		want    string
	}{
		"defaults":     {content, "sha256:4174b774d27031e31e2ac09ddb7a0f80f64313518678e59547b7b7f6dc68376c"},
		"more memory":  {bigger, "sha256:63ed34f4d20a632cae67571da651cac71eca4eddf6ed82c4028636d386a74d49"},
		"another edit": {changed, "sha256:48ed43e8ad3de759bd85b837f0bbc74639abd2353b1a5d24c4bd4e4171877618"},
	} {
		got := environment.Key{Variant: environment.VariantE2B, SpecDigest: environment.Spec{}.Digest(), BaseDigest: "sha256:b", Recipe: environment.E2BRecipe(tt.content)}.CacheKey()
		if got != tt.want {
			t.Errorf("%s: the key is %s, want %s", name, got, tt.want)
		}
	}
}

package environment

import "sort"

// keyVersion changes only when what the key covers changes its meaning; every artifact would then be built anew.
const keyVersion = "cache-key/1"

// VariantDatalayer names the service in the cache key.
const VariantDatalayer = "datalayer"

// Key is what decides whether two artifacts hold the same content.
type Key struct {
	// Variant is the service: "datalayer", "e2b", "daytona" or "modal".
	Variant string
	// SpecDigest and LockDigest are "sha256:…"; an empty LockDigest means that nothing is installed.
	SpecDigest, LockDigest string
	// BaseDigest is the digest in the base reference, not its repository: the same base from a mirror is the same base.
	BaseDigest string
	// Recipe holds the variant's own content arguments, as JSON-able strings, lists and maps.
	Recipe any
}

// CacheKey is "sha256:<64 hex>" over the RFC 8785 form of the key. It never covers the built image.
func (k Key) CacheKey() string {
	var lockDigest any
	if k.LockDigest != "" {
		lockDigest = k.LockDigest
	}
	return Digest(map[string]any{
		"keyVersion": keyVersion, "variant": k.Variant, "specDigest": k.SpecDigest,
		"lockDigest": lockDigest, "baseDigest": k.BaseDigest, "recipe": k.Recipe,
	})
}

// DatalayerRecipe is the recipe of a Datalayer image: the platforms it is built for and the labels it carries.
// The order of platforms has no meaning.
func DatalayerRecipe(platforms []string, labels map[string]string) any {
	sorted := append([]string{}, platforms...)
	sort.Strings(sorted)
	if labels == nil {
		labels = map[string]string{}
	}
	return map[string]any{"platforms": sorted, "labels": labels}
}

package environment

import "sort"

// keyVersion changes only when what the key covers changes its meaning; every artifact would then be built anew.
const keyVersion = "cache-key/1"

// The variants name the service in the cache key.
const (
	VariantDatalayer = "datalayer"
	VariantE2B       = "e2b"
)

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

// E2BContent are the content arguments of an E2B template. All have a value.
type E2BContent struct {
	CPUCount, MemoryMB         int64
	StartCommand, ReadyCommand string
	// ServerCommit is that of the code-interpreter server, and EditDigest covers what is laid over it.
	ServerCommit, EditDigest string
}

// E2BRecipe is the recipe of an E2B template.
func E2BRecipe(c E2BContent) any {
	return map[string]any{
		"cpuCount": c.CPUCount, "memoryMB": c.MemoryMB, "startCommand": c.StartCommand, "readyCommand": c.ReadyCommand,
		"serverCommit": c.ServerCommit, "editDigest": c.EditDigest,
	}
}

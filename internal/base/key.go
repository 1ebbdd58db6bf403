package base

import (
	"slices"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// keyVersion changes only when what the key covers changes its meaning; every base would then be built anew.
const keyVersion = "base-cache-key/1"

// Key is what decides whether two bases hold the same content. A field added later is left out of the digested document
// while it has its default, so that keys of earlier releases stand.
type Key struct {
	// FromDigest is the digest of the image that the base is made on, not its repository: a mirror's copy is the same image.
	FromDigest string
	// Python is PythonImage or PythonApt.
	Python string
	// KernelLockDigest is lock.Lock's Digest, DoctorDigest that of the doctor: "sha256:<64 hex>".
	KernelLockDigest, DoctorDigest string
	// Platforms in OCI spelling; the order has no meaning.
	Platforms []string
	Labels    map[string]string
}

// CacheKey is "sha256:<64 hex>" over the RFC 8785 form of the key. It never covers the built image.
func (k Key) CacheKey() string {
	labels := k.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	return environment.Digest(map[string]any{
		"keyVersion": keyVersion, "contract": environment.Contract, "fromDigest": k.FromDigest, "python": k.Python,
		"kernelLockDigest": k.KernelLockDigest, "doctorDigest": k.DoctorDigest,
		"platforms": slices.Sorted(slices.Values(k.Platforms)), "labels": labels,
	})
}

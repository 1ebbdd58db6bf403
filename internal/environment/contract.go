// Package environment describes what determines the content of an artifact: the Spec that all variants share, the
// contract that their bases satisfy, and the cache key that decides replacement. It is pure: no network, no clock.
package environment

// The constants of sandbox-contract/v1, which every base and every artifact keeps.
const (
	Contract     = "sandbox-contract/v1"
	User         = "datalayer"
	UID          = 1000
	GID          = 100
	Home         = "/home/datalayer"
	WorkDir      = "/home/datalayer/content"
	ReservedPath = "/opt/datalayer"
)

// Labels that an image carries so that it can be recognised and imported. The cache key never covers them.
const (
	LabelPrefix   = "io.datalayer."
	LabelContract = LabelPrefix + "sandbox.contract"
	LabelCacheKey = LabelPrefix + "environment.cache-key"
	LabelPython   = LabelPrefix + "environment.python-version"
)

// KernelPackages are the distributions (PEP 503 names) that the runtime of a sandbox rests on. A lock may carry
// them only at the version that the base has.
var KernelPackages = []string{"ipykernel", "jupyter-client", "jupyter-server"}

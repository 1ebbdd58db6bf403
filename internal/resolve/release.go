package resolve

import (
	_ "embed"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

// uvRequirement pins the uv of this release with the hashes of its wheels; tools/install.sh installs from the same file.
//
//go:embed uv.txt
var uvRequirement string

// UVVersion is the version of uv that this release ships the hashes of.
var UVVersion = lazyregexp.New(`^uv==(\S+)`).FindStringSubmatch(uvRequirement)[1]

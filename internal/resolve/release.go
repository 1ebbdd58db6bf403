package resolve

import (
	_ "embed"
	"strings"
)

// uvRequirement pins the uv of this release with the hashes of its wheels; tools/install.sh installs from the same file.
//
//go:embed uv.txt
var uvRequirement string

// UVVersion is the version of uv that this release ships the hashes of.
var UVVersion = strings.TrimPrefix(strings.Fields(uvRequirement)[0], "uv==")

// Package steps are the programs that build steps of several variants run in a base: as root, with what a base has of its
// own and nothing else. Lines for the builder start with "datalayer: ". Pure.
package steps

import _ "embed"

// Install installs a lock into the system site-packages: "python3 -I install.py REQUIREMENTS REPORT".
//
//go:embed install.py
var Install string

// Apt installs Debian packages: "sh apt.sh PACKAGE…".
//
//go:embed apt.sh
var Apt string

// Package doctor is the program in a base that holds the sandbox it runs in against sandbox-contract/v1, and the report
// that it prints. What it finds is true of the process that starts it: run it in a started sandbox, as the kernel's own user.
package doctor

import (
	_ "embed"

	"github.com/opencontainers/go-digest"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// Where a base has the doctor, and with which mode; owner is root.
const (
	Path = environment.ReservedPath + "/bin/datalayer-sandbox"
	Mode = 0o755
)

// Version is the doctor's own, which each report carries.
const Version = "1"

//go:embed datalayer_sandbox.py
var program string

// Program is the doctor: one executable file that needs Python 3.8 or newer and nothing but its standard library.
func Program() []byte { return []byte(program) }

// Digest identifies the program, for the keys of what is built with it.
func Digest() digest.Digest { return digest.FromString(program) }

// Command runs the doctor so that it prints a report that Parse reads. It ends with status 0 if all rows pass, and with
// 1 if one does not; any other status means that there is no report.
func Command() []string { return []string{Path, "doctor", "--json"} }

package doctor

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// schema is the JSON Schema (2020-12) of a report.
//
//go:embed report.schema.json
var schema []byte

// Report is what a doctor of the contract found, ours or another's. A string is "" where the sandbox has no such thing.
type Report struct {
	Doctor string `json:"doctor"`
	// DoctorVersion is the doctor's own, Contract the version of the contract that it judges by: "sandbox-contract/v1".
	DoctorVersion string `json:"doctorVersion"`
	Contract      string `json:"contract"`
	// OK is whether all required rows pass, Failed the id of the first that does not, or "".
	OK     bool   `json:"ok"`
	Failed string `json:"failed"`
	// Rows are always the same, in the same order.
	Rows     []Row    `json:"rows"`
	Python   Python   `json:"python"`
	Identity Identity `json:"identity"`
	Paths    Paths    `json:"paths"`
	// Kernel is the version of each package that kernels need, "" for one that is not installed.
	Kernel   map[string]string `json:"kernel"`
	Locale   string            `json:"locale"`
	Timezone string            `json:"timezone"`
	CABundle string            `json:"caBundle"`
}

// Row is one point of the contract.
type Row struct {
	ID       string `json:"id"`
	Required bool   `json:"required"`
	OK       bool   `json:"ok"`
	// Expected and Actual are JSON, whose shape differs from row to row.
	Expected json.RawMessage `json:"expected"`
	Actual   json.RawMessage `json:"actual"`
	// Message is for people; "" in a row that passes.
	Message string `json:"message"`
}

// Python is the interpreter: its full version, and the paths of python3 and pip on PATH.
type Python struct {
	Version    string `json:"version"`
	Executable string `json:"executable"`
	Pip        string `json:"pip"`
}

// Identity is that of the doctor's process.
type Identity struct {
	User string `json:"user"`
	UID  int64  `json:"uid"`
	GID  int64  `json:"gid"`
	Home string `json:"home"`
	Cwd  string `json:"cwd"`
}

// Paths are those that were found to be as the contract wants them.
type Paths struct {
	Writable []string `json:"writable"`
	ReadOnly []string `json:"readOnly"`
}

// FailedRows are the rows that do not pass.
func (r *Report) FailedRows() []Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.OK })
}

var compiled = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	var parsed jsonschema.Schema
	if err := json.Unmarshal(schema, &parsed); err != nil {
		return nil, err
	}
	return parsed.Resolve(nil)
})

// Parse reads what a doctor printed. A report that the schema refuses, or that contradicts itself, is an error.
func Parse(stdout []byte) (*Report, error) {
	report, err := parse(stdout)
	if err != nil {
		return nil, &problem.Problem{Title: "Report of the doctor is not one", Object: excerpt(stdout), Cause: err,
			Advice: "Run `" + Path + " doctor --json` in the sandbox by hand: its standard output has to be the report alone."}
	}
	return report, nil
}

func parse(stdout []byte) (*Report, error) {
	rules, err := compiled()
	if err != nil {
		return nil, err
	}
	var document any
	if err := json.Unmarshal(stdout, &document); err != nil {
		return nil, err
	}
	if err := rules.Validate(document); err != nil {
		return nil, err
	}
	var report Report
	if err := json.Unmarshal(stdout, &report); err != nil {
		return nil, err
	}
	return &report, report.contradiction()
}

func (r *Report) contradiction() error {
	failed := ""
	for _, row := range r.Rows {
		if row.OK == (row.Message != "") {
			return fmt.Errorf("row %s: ok is %t and the message is %q", row.ID, row.OK, row.Message)
		}
		if failed == "" && row.Required && !row.OK {
			failed = row.ID
		}
	}
	switch {
	case r.Failed != failed:
		return fmt.Errorf("failed is %q, but the first row that fails is %q", r.Failed, failed)
	case r.OK != (failed == ""):
		return errors.New("ok and failed contradict each other")
	}
	return nil
}

// excerpt is enough of the output to see what it is.
func excerpt(stdout []byte) string {
	const enough = 200
	if len(stdout) == 0 {
		return "no output"
	}
	if len(stdout) > enough {
		return fmt.Sprintf("%q…", stdout[:enough])
	}
	return fmt.Sprintf("%q", stdout)
}

package doctor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// reported is a report that the program itself makes of a sandbox, before a test changes it.
func reported(t testing.TB) map[string]any {
	t.Helper()
	return answers[map[string]any](t, []any{"report", seen})[0]
}

func rowOf(t *testing.T, report map[string]any, i int) map[string]any {
	t.Helper()
	rows, _ := report["rows"].([]any)
	row, ok := rows[i].(map[string]any)
	if !ok {
		t.Fatalf("there is no row %d in %v", i, report)
	}
	return row
}

func TestSchemaHasTheNameThatOthersKnow(t *testing.T) {
	text, err := os.ReadFile("report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if want := "https://datalayer.io/schemas/environments/v1alpha1/doctor-report.json"; schema["$id"] != want {
		t.Errorf("its $id is %v, want %s", schema["$id"], want)
	}
}

func TestParseReadsEachField(t *testing.T) {
	report := reported(t)
	report["locale"], report["contract"] = nil, "sandbox-contract/v2"
	row := rowOf(t, report, 11)
	row["ok"], row["message"] = false, "it is French"
	report["ok"], report["failed"] = false, "locale"
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	found, err := doctor.Parse(append(text, '\n'))
	if err != nil {
		t.Fatal(err)
	}
	failed := found.FailedRows()
	if found.OK || found.Failed != "locale" || len(failed) != 1 || failed[0].ID != "locale" || failed[0].Message != "it is French" || string(failed[0].Expected) != `"C.UTF-8"` {
		t.Errorf("failed %q: %+v", found.Failed, failed)
	}
	if found.Contract != "sandbox-contract/v2" || found.Locale != "" || found.Timezone != "UTC" || found.Identity.UID != 1000 || found.Identity.User != "datalayer" ||
		found.Python.Executable != "/usr/bin/python3" || found.Kernel["jupyter_client"] != "8.9.1" || found.CABundle != "/etc/ssl/certs/ca-certificates.crt" ||
		len(found.Paths.Writable) != 1 || len(found.Paths.ReadOnly) != 1 || len(found.Rows) != 15 {
		t.Errorf("found %+v", found)
	}
	// What is read is all that is there.
	again, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	if keys := keysOf(t, again); keys != keysOf(t, text) {
		t.Errorf("read %s", keys)
	}
}

// keysOf are all names in a document, without its values.
func keysOf(t *testing.T, text []byte) string {
	t.Helper()
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var bare func(any) any
	bare = func(value any) any {
		switch v := value.(type) {
		case map[string]any:
			for name := range v {
				v[name] = bare(v[name])
			}
			return v
		case []any:
			for i := range v {
				v[i] = bare(v[i])
			}
			return v
		}
		return nil
	}
	stripped, err := json.Marshal(bare(document))
	if err != nil {
		t.Fatal(err)
	}
	return string(stripped)
}

func TestParseRefuses(t *testing.T) {
	whole := reported(t)
	for name, change := range map[string]func(map[string]any){
		"another doctor":               func(r map[string]any) { r["doctor"] = "somebody" },
		"a contract without a version": func(r map[string]any) { r["contract"] = "sandbox-contract" },
		"a key more":                   func(r map[string]any) { r["extra"] = 1 },
		"a key more in a row":          func(r map[string]any) { rowOf(t, r, 3)["extra"] = 1 },
		"a row without expected":       func(r map[string]any) { delete(rowOf(t, r, 3), "expected") },
		"rows in another order":        func(r map[string]any) { rowOf(t, r, 3)["id"], rowOf(t, r, 4)["id"] = "gid", "uid" },
		"a row less":                   func(r map[string]any) { r["rows"] = r["rows"].([]any)[:14] },                           //nolint:forcetypeassert // The program's own.
		"a row more":                   func(r map[string]any) { r["rows"] = append(r["rows"].([]any), r["rows"].([]any)[14]) }, //nolint:forcetypeassert // The program's own.
		"a name for a uid": func(r map[string]any) {
			r["identity"] = map[string]any{"user": nil, "uid": "root", "gid": 0, "home": nil, "cwd": ""}
		},
		"a kernel without ipykernel":     func(r map[string]any) { r["kernel"] = map[string]any{"jupyter_client": "8"} },
		"a failed row that is not named": func(r map[string]any) { rowOf(t, r, 0)["ok"], rowOf(t, r, 0)["message"] = false, "no" },
		"a named row that passes":        func(r map[string]any) { r["failed"], r["ok"] = "os", false },
		"ok that is not":                 func(r map[string]any) { r["ok"] = false },
		"a message without a failure":    func(r map[string]any) { rowOf(t, r, 0)["message"] = "no" },
		"a failure without a message":    func(r map[string]any) { rowOf(t, r, 0)["ok"], r["ok"], r["failed"] = false, false, "architecture" },
	} {
		t.Run(name, func(t *testing.T) {
			report := cloned(t, whole)
			change(report)
			refused(t, report)
		})
	}
	for key := range whole {
		t.Run("no "+key, func(t *testing.T) {
			report := cloned(t, whole)
			delete(report, key)
			refused(t, report)
		})
	}
}

func cloned(t *testing.T, report map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var clone map[string]any
	if err := json.Unmarshal(text, &clone); err != nil {
		t.Fatal(err)
	}
	return clone
}

func refused(t *testing.T, report map[string]any) {
	t.Helper()
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	found, err := doctor.Parse(text)
	if said := new(problem.Problem); !errors.As(err, &said) || found != nil {
		t.Errorf("read %+v, %v", found, err)
	}
}

func TestParseShowsWhatItCouldNotRead(t *testing.T) {
	for stdout, want := range map[string]string{"": "no output", "sh: not found\n": `"sh: not found\n"`, strings.Repeat("x", 500): strings.Repeat("x", 200) + `"…`} {
		_, err := doctor.Parse([]byte(stdout))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), strings.Repeat("x", 201)) {
			t.Errorf("%q: %v", stdout, err)
		}
	}
}

// Whatever is printed, Parse gives a report that does not contradict itself, or an error.
func FuzzParse(f *testing.F) {
	text, err := json.Marshal(reported(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(bytes.Replace(text, []byte(`"ok":true`), []byte(`"ok":false`), 1))
	f.Add([]byte(`{"rows":[]}`))
	f.Fuzz(func(t *testing.T, stdout []byte) {
		report, err := doctor.Parse(stdout)
		if (err == nil) == (report == nil) {
			t.Fatalf("both or neither: %v, %v", report, err)
		}
		if report != nil && (report.OK != (report.Failed == "") || len(report.Rows) != 15) {
			t.Errorf("report is %+v", report)
		}
	})
}

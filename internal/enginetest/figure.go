package enginetest

import (
	"fmt"
	"os"
	"testing"
)

// FiguresVariable names a file that Figure adds to; tools/test.sh prints it, since go test shows nothing of tests that pass.
const FiguresVariable = "DATALAYER_TEST_FIGURES"

// Figure says what a test counted, in its log and in the file of FiguresVariable, a line each.
func Figure(t testing.TB, format string, values ...any) {
	t.Helper()
	said := fmt.Sprintf(format, values...)
	t.Log(said)
	name := os.Getenv(FiguresVariable)
	if name == "" {
		return
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(file, "%s: %s\n", t.Name(), said)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Errorf("the figure is not in %s: %v", name, err)
	}
}

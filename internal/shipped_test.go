package internal_test

import (
	"os/exec"
	"strings"
	"testing"
)

// What stands in for a service in tests is in no program that is shipped.
func TestShippedProgramHoldsNoTestService(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/datalayer/terraform-provider-datalayer").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(output))
	if len(packages) < 100 {
		t.Fatalf("the program is made of %d packages", len(packages))
	}
	for _, name := range packages {
		inside, ours := strings.CutPrefix(name, module)
		if ours && (strings.HasSuffix(inside, "test") || strings.HasSuffix(inside, "leaseprovider")) {
			t.Errorf("the program is made of %s", name)
		}
	}
}

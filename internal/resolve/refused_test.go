package resolve

import (
	"errors"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// A version may hold the number of a status.
func TestExplain_NumbersOfAVersionAreNoStatus(t *testing.T) {
	for said, title := range map[string]string{
		"error: No solution found when resolving dependencies\n  Because only tool==1.1401403 is available and you require tool<1": "Requirements cannot be resolved",
		"error: Failed to fetch: `https://h.example/simple/tool/`\n  HTTP status client error (401 Unauthorized)":                  "Package index refused uv",
		"error: No solution found when resolving dependencies\n  hint: lack of valid authentication credentials (403 Forbidden)":   "Package index refused uv",
	} {
		err := explain(t.Context(), Request{}, strings.Split(said, "\n"), errors.New("exit status 1"))
		if got := problem.From(err, "")[0].Title; got != title {
			t.Errorf("%q is explained by %q, want %q", said, got, title)
		}
	}
}

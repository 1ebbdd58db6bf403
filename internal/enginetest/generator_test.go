package enginetest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest/engine"
)

// Who pins the generator by digest must not meet another one after the next build of the same source.
func TestGeneratorIsTheSameInEveryRegistry(t *testing.T) {
	var digests []string
	for range 2 {
		registry := enginetest.StartRegistry(t)
		reference, err := engine.PushGenerator(t.Context(), http.DefaultClient, registry.Host)
		if err != nil {
			t.Fatal(err)
		}
		left := registry.Left(t)
		if len(left) != 1 || registry.Host+"/"+left[0] != reference {
			t.Errorf("registry holds %q, want only %s", left, reference)
		}
		_, digest, _ := strings.Cut(reference, "@")
		digests = append(digests, digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("pushed %q", digests)
	}
}

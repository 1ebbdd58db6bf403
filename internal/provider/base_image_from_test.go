package provider

import (
	"errors"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Nobody who left from out knows which argument names the registry that does not answer.
func TestUnresolved_NamesFromWhereItIsTheDefault(t *testing.T) {
	for text, named := range map[string]bool{base.DefaultFrom: true, "registry.example.com/mirror/python:3.13-slim-bookworm": false} {
		from, err := reference.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p := problem.From(unresolved(from, errors.New("connection refused")), "")[0]
		if p.Title != "Tag of the parent image cannot be resolved" || strings.Contains(p.Advice, "It is the default of from: set from") != named || !strings.Contains(p.Advice, "must reach that registry") {
			t.Errorf("%s: got %q / %q", text, p.Title, p.Advice)
		}
	}
}

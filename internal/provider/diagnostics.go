package provider

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// appendProblems turns an error of an engine into diagnostics, one for each problem in it. title serves an error that
// carries no problem of its own.
func appendProblems(diagnostics *diag.Diagnostics, err error, title string) {
	for _, p := range problem.From(err, title) {
		if len(p.Path) == 0 {
			diagnostics.AddError(p.Title, p.Detail())
			continue
		}
		at := attributePath(p.Path)
		diagnostics.AddAttributeError(at, p.Title, withPath(at, p.Detail()))
	}
}

// withPath begins a detail with the nested attribute that it is about, unless it does so itself: Terraform points to the line of
// the resource where it cannot find that of a nested value.
func withPath(at path.Path, detail string) string {
	name := at.String()
	if first, rest, more := strings.Cut(detail, "\n\n"); more && strings.HasPrefix(name, first) {
		return name + "\n\n" + rest
	}
	if len(at.Steps()) < 2 || strings.HasPrefix(detail, name) {
		return detail
	}
	return name + ": " + detail
}

// attributePath turns the path of a problem into Terraform's.
func attributePath(steps []any) path.Path {
	result := path.Empty()
	for _, step := range steps {
		switch s := step.(type) {
		case string:
			result = result.AtName(s)
		case int:
			result = result.AtListIndex(s)
		case problem.Key:
			result = result.AtMapKey(string(s))
		}
	}
	return result
}

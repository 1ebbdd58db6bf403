package provider

import (
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
		detail := p.Detail()
		if len(p.Path) > 1 {
			// Terraform points to the line of the resource where it cannot find that of a nested value.
			detail = at.String() + ": " + detail
		}
		diagnostics.AddAttributeError(at, p.Title, detail)
	}
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

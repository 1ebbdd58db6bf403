package provider

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

type fileModel struct {
	Path          types.String `tfsdk:"path"`
	Content       types.String `tfsdk:"content"`
	ContentBase64 types.String `tfsdk:"content_base64"`
	Mode          types.String `tfsdk:"mode"`
}

type commandModel struct {
	Command types.String `tfsdk:"command"`
	Network types.Bool   `tfsdk:"network"`
}

// specReader turns arguments into a Spec. Where a value is unknown it puts a valid one in its place, so that all others
// keep their index and are validated, and known turns false, so that nothing is digested.
type specReader struct {
	known  bool
	faults problem.List
}

// spec gives the Spec of the arguments; known is false when a part of it is unknown yet.
func (a artifactArguments) spec(ctx context.Context) (spec environment.Spec, known bool, diagnostics diag.Diagnostics) {
	reader := &specReader{known: true}
	spec.Env = map[string]string{}
	for name, value := range reader.elements(a.Env, a.Env.Elements()) {
		if text, ok := value.(types.String); ok && reader.settled(text) && !text.IsNull() {
			spec.Env[name] = text.ValueString()
		}
	}
	var apt []types.String
	if reader.settled(a.AptPackages) {
		diagnostics.Append(a.AptPackages.ElementsAs(ctx, &apt, false)...)
	}
	for i, entry := range apt {
		spec.AptPackages = append(spec.AptPackages, reader.text(entry, fmt.Sprintf("unknown-%d", i)))
	}
	var commands []commandModel
	if reader.settled(a.PostInstall) {
		diagnostics.Append(a.PostInstall.ElementsAs(ctx, &commands, false)...)
	}
	for _, c := range commands {
		reader.settled(c.Network)
		spec.PostInstall = append(spec.PostInstall, environment.Command{Command: reader.text(c.Command, "true"), Network: c.Network.ValueBoolPointer()})
	}
	var files []fileModel
	if reader.settled(a.Files) {
		diagnostics.Append(a.Files.ElementsAs(ctx, &files, false)...)
	}
	for i, f := range files {
		spec.Files = append(spec.Files, reader.file(i, f))
	}
	appendProblems(&diagnostics, reader.faults.Err(), "")
	return spec, reader.known, diagnostics
}

func (r *specReader) elements(m types.Map, elements map[string]attr.Value) map[string]attr.Value {
	r.settled(m)
	return elements
}

// settled tells whether a value is known, and remembers when one is not.
func (r *specReader) settled(value attr.Value) bool {
	if value.IsUnknown() {
		r.known = false
	}
	return !value.IsUnknown()
}

func (r *specReader) text(value types.String, instead string) string {
	if !r.settled(value) {
		return instead
	}
	return value.ValueString()
}

func (r *specReader) file(index int, f fileModel) environment.File {
	file := environment.File{Path: r.text(f.Path, fmt.Sprintf("/srv/unknown/%d", index)), Mode: "0644"}
	if r.settled(f.Mode) && !f.Mode.IsNull() {
		file.Mode = f.Mode.ValueString()
	}
	if !r.settled(f.Content) || !r.settled(f.ContentBase64) {
		return file
	}
	if f.Content.IsNull() == f.ContentBase64.IsNull() {
		r.faults = append(r.faults, &problem.Problem{Title: "File needs one content", Path: []any{"files", index}, Object: fmt.Sprintf("%q", file.Path), Advice: "Set exactly one of content and content_base64."})
		return file
	}
	if !f.Content.IsNull() {
		file.Content = []byte(f.Content.ValueString())
		return file
	}
	decoded, err := base64.StdEncoding.DecodeString(f.ContentBase64.ValueString())
	if err != nil {
		r.faults = append(r.faults, &problem.Problem{Title: "File content is not base64", Path: []any{"files", index, "content_base64"}, Object: fmt.Sprintf("%q", file.Path), Cause: err,
			Advice: "Use the standard alphabet with padding, as filebase64() gives it."})
	}
	file.Content = decoded
	return file
}

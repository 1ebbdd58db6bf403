package provider

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// specReader turns arguments into a Spec. Where a value is unknown it puts a valid one in its place, so that all others
// keep their index and are validated, and known turns false, so that nothing is digested.
type specReader struct {
	known  bool
	faults problem.List
}

// spec gives the Spec of the arguments; known is false when a part of it is unknown yet. The faults are those that keep a
// value from being read at all: Spec.Validate judges the rest.
func (a artifactArguments) spec() (spec environment.Spec, known bool, faults problem.List) {
	reader := &specReader{known: true}
	reader.settled(a.Env)
	spec.Env = map[string]string{}
	for name, value := range a.Env.Elements() {
		if text, ok := value.(types.String); ok && reader.settled(text) && !text.IsNull() {
			spec.Env[name] = text.ValueString()
		}
	}
	reader.settled(a.AptPackages)
	for i, element := range a.AptPackages.Elements() {
		instead := fmt.Sprintf("unknown-%d", i)
		if entry, _ := element.(types.String); !entry.IsNull() { // The list's own validator refuses a null.
			instead = reader.text(entry, instead)
		}
		spec.AptPackages = append(spec.AptPackages, instead)
	}
	reader.settled(a.PostInstall)
	for i, element := range a.PostInstall.Elements() {
		spec.PostInstall = append(spec.PostInstall, reader.command(i, element))
	}
	reader.settled(a.Files)
	for i, element := range a.Files.Elements() {
		spec.Files = append(spec.Files, reader.file(i, element))
	}
	return spec, reader.known, reader.faults
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

func (r *specReader) fault(title, object, advice string, at ...any) {
	r.faults = append(r.faults, &problem.Problem{Title: title, Path: at, Object: object, Advice: advice})
}

func (r *specReader) command(index int, element attr.Value) environment.Command {
	if !r.settled(element) {
		return environment.Command{Command: "true"}
	}
	text, network := member[types.String](element, "command"), member[types.Bool](element, "network")
	if text.IsNull() {
		r.fault("Post-install entry without a command", fmt.Sprintf("post_install[%d]", index), "Set command, or remove the entry.", "post_install", index)
		return environment.Command{Command: "true"}
	}
	r.settled(network)
	return environment.Command{Command: r.text(text, "true"), Network: network.ValueBoolPointer()}
}

func (r *specReader) file(index int, element attr.Value) environment.File {
	file := environment.File{Path: fmt.Sprintf("/srv/unknown/%d", index), Mode: "0644"}
	if !r.settled(element) {
		return file
	}
	path, mode := member[types.String](element, "path"), member[types.String](element, "mode")
	content, encoded := member[types.String](element, "content"), member[types.String](element, "content_base64")
	if path.IsNull() {
		r.fault("File without a path", fmt.Sprintf("files[%d]", index), "Set path, or remove the entry.", "files", index)
		return file
	}
	file.Path = r.text(path, file.Path)
	if r.settled(mode) && !mode.IsNull() {
		file.Mode = mode.ValueString()
	}
	if !r.settled(content) || !r.settled(encoded) {
		return file
	}
	if content.IsNull() == encoded.IsNull() {
		r.fault("File needs one content", fmt.Sprintf("%q", file.Path), "Set exactly one of content and content_base64.", "files", index)
		return file
	}
	if !content.IsNull() {
		file.Content = []byte(content.ValueString())
		return file
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded.ValueString())
	if err != nil {
		r.faults = append(r.faults, &problem.Problem{Title: "File content is not base64", Path: []any{"files", index, "content_base64"}, Object: fmt.Sprintf("%q", file.Path), Cause: err,
			Advice: "Use the standard alphabet with padding, as filebase64() gives it."})
	}
	file.Content = decoded
	return file
}

// member gives an attribute of an object; of a null object it is null.
func member[V attr.Value](object attr.Value, name string) V {
	var none V
	of, ok := object.(types.Object)
	if !ok {
		return none
	}
	value, ok := of.Attributes()[name].(V)
	if !ok {
		return none
	}
	return value
}

// undefaulted is a plan of files in which an entry that the configuration does not know as a whole yet is unknown: the framework
// puts the default of mode into it, and Terraform takes nothing there but what is configured or was there.
func undefaulted(planned, configured types.List) types.List {
	entries := slices.Clone(planned.Elements())
	if len(entries) == 0 || len(entries) != len(configured.Elements()) {
		return planned
	}
	for i, entry := range configured.Elements() {
		if entry.IsUnknown() {
			entries[i] = entry
		}
	}
	return types.ListValueMust(planned.ElementType(context.Background()), entries)
}

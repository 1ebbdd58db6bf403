package provider

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/resolve"
)

// ImportState takes a lock that was made elsewhere. The id is its text: a lock is nowhere but in state.
func (r *packageLockResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	if strings.TrimSpace(req.ID) == "" {
		resp.Diagnostics.AddError("Empty import id for a lock", "The id of an import is the text of a lock: id = file(\"requirements.lock\").")
		return
	}
	locked, err := lock.Parse(req.ID)
	if err != nil {
		for _, fault := range problem.From(err, "Imported lock cannot be read") {
			resp.Diagnostics.AddError(fault.Title, fault.Detail()+"\n\nThe id of an import is the text of a lock: id = file(\"requirements.lock\").")
		}
		return
	}
	packages, known, err := locked.Packages(nil)
	if err != nil || !known {
		resp.Diagnostics.AddError("Imported lock is for more than one target", "It has markers that differ between platforms or Pythons, and a lock of this resource is for one target. Compile it without --universal.")
		return
	}
	made := locked.MadeFor()
	for name, value := range map[string]any{
		"content": made.Header() + locked.Canonical(), "digest": locked.Digest(), "packages": packages,
		"python_version": orNull(lock.MajorMinor(made.Python)), "python_platform": orNull(made.PythonPlatform),
	} {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), value)...)
	}
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedMark, []byte("true"))...)
}

// onImport is what the first plan after an import means for the lock: it is kept, unless its own comments say that it is for
// another target than the one that is configured. Of requirements and all else nothing is known to compare with.
func (m packageLockModel) onImport(prior packageLockModel, given givenTarget) decision {
	made := importedTarget(prior)
	python := lock.MajorMinor(made.Python)
	platform, wanted := made.PythonPlatform, given.platform.ValueString()
	if platform == "" {
		platform, wanted = made.Platform, resolve.OCIPlatform(wanted)
	}
	switch {
	case python != "" && given.python.IsUnknown(), platform != "" && given.platform.IsUnknown():
		return notKnown
	case python != "" && !given.python.IsNull() && python != given.python.ValueString(), platform != "" && !given.platform.IsNull() && platform != wanted:
		return resolveAgain
	}
	return keepLock
}

// importedTarget is what a lock in state says that it was made for.
func importedTarget(state packageLockModel) lock.Target {
	locked, err := lock.Parse(state.Content.ValueString())
	if err != nil {
		return lock.Target{} // It was read when it was imported.
	}
	return locked.MadeFor()
}

// warnOfImport says what becomes of an imported lock.
func warnOfImport(decided decision, prior packageLockModel, given givenTarget, diagnostics *diag.Diagnostics) {
	switch decided {
	case keepLock:
		diagnostics.AddWarning("Imported lock is not held against the requirements", "The lock is taken as it is: nothing is resolved. Whether it is for these requirements is not checked, and its target only where its own comments and the configuration both name it. A change of upgrade_trigger resolves all anew, any other change of what decides the content keeps the versions that still fit.")
	case resolveAgain:
		made := importedTarget(prior)
		made.Platform = cmp.Or(made.PythonPlatform, made.Platform)
		diagnostics.AddWarning("Imported lock is for another target", fmt.Sprintf("Its comments say that it was made for %s, and the configuration says %s: it is resolved again, in place. Each version that still fits is kept.",
			made, lock.Target{Python: given.python.ValueString(), Platform: given.platform.ValueString()}))
	case upgradeLock, notKnown:
	}
}

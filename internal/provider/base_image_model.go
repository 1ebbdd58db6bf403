package provider

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// key is the cache key of a model in which all that it covers is known.
func (m baseImageModel) key() string {
	return base.Key{
		FromDigest: m.FromDigest.ValueString(), Python: m.Python.ValueString(), KernelLockDigest: m.KernelLockDigest.ValueString(), DoctorDigest: m.DoctorDigest.ValueString(),
		Platforms: texts(m.Platforms), Labels: stringMap(m.Labels),
	}.CacheKey()
}

// kernelLock is the lock that a base is built with: the one given, or the default of this release.
func (m baseImageModel) kernelLock() types.String {
	if m.KernelLock.IsNull() {
		return types.StringValue(base.KernelLock)
	}
	return m.KernelLock
}

// ofKernelLock puts what is wrong with a lock to the argument of a base that holds it.
func ofKernelLock(err error) error { return problem.Moved(err, "lock", "kernel_lock") }

// targetsOf are the platforms with a Python that is not known yet.
func targetsOf(platforms []string) []lock.Target {
	targets := make([]lock.Target, len(platforms))
	for i, platform := range platforms {
		targets[i].Platform = platform
	}
	return targets
}

// request turns a plan, in which all arguments are known by now, into what the builder takes.
func (m baseImageModel) request(from reference.Reference, diagnostics *diag.Diagnostics) buildkit.Request {
	var err error
	locked, err := lock.Parse(m.kernelLock().ValueString())
	err = ofKernelLock(err)
	if err == nil {
		err = base.CheckKernelLock(locked, targetsOf(texts(m.Platforms))...)
	}
	if err != nil {
		appendProblems(diagnostics, err, "Base image cannot be built as planned")
		return buildkit.Request{}
	}
	m.KernelLockDigest = types.StringValue(locked.Digest())
	m.CacheKey = types.StringValue(m.key())
	request := m.builtImage.request(base.LabelCacheKey, diagnostics)
	request.Base, request.Lock = from, locked
	request.BaseImage = &base.Spec{Python: m.Python.ValueString(), Doctor: doctor.Program()}
	request.Labels[base.LabelFromDigest] = from.Digest
	request.Labels[base.LabelKernelLockDigest] = locked.Digest()
	request.Labels[base.LabelDoctorDigest] = m.DoctorDigest.ValueString()
	return request
}

// logins are what the configuration brings for the hosts of from and repository.
func (m baseImageModel) logins(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics) []login {
	return resourceLogins(ctx, config, diagnostics, loginFor{"from_registry", m.From.ValueString()}, loginFor{"registry", m.Repository.ValueString()})
}

// pushed is the state from the moment that the registry holds the digest: enough to delete it, the rest null.
func (m baseImageModel) pushed(repository reference.Repository, p buildkit.Published, tag string) baseImageModel {
	m.builtImage = m.builtImage.pushed(repository, p, tag)
	m.PythonVersion, m.Libc, m.Packages = types.StringValue(p.Python), orNull(p.Libc), stringMapValue(p.Packages)
	return m.settled()
}

// settled makes null what is still unknown: a state with unknowns in it is refused as a whole.
func (m baseImageModel) settled() baseImageModel {
	m.builtImage = m.builtImage.settled()
	settleTexts(&m.From, &m.KernelLock, &m.FromDigest, &m.KernelLockDigest, &m.DoctorDigest, &m.PythonVersion, &m.Libc)
	settleMaps(&m.Packages)
	return m
}

// unresolved explains why the tag of the image to make a base on has no digest.
func unresolved(from reference.Reference, err error) error {
	if withheld := image.CredentialProblem(err, "from"); withheld != nil {
		return withheld
	}
	p := &problem.Problem{Title: "Tag of the parent image cannot be resolved", Path: []any{"from"}, Object: from.String(), Cause: err, Advice: "Check the reference."}
	var inner *problem.Problem
	if errors.As(err, &inner) {
		p.Cause, p.Advice = inner.Cause, inner.Advice
	}
	p.Advice = strings.TrimSpace(p.Advice + " The machine that runs Terraform must reach that registry, and the daemon too.")
	if from.String() == base.DefaultFrom {
		p.Advice += " It is the default of from: set from to take the image from a mirror that both reach."
	}
	if image.NotFound(err) {
		p.Title, p.Advice = "Parent image has no such tag", "The registry has no such repository or tag. Write a tag that it has, or a digest."
	}
	return p
}

package buildkit

import (
	"net/url"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// Request is one image to build and push.
type Request struct {
	// Base is pinned by digest and has at least these Platforms.
	Base      reference.Reference
	Platforms []string
	// BaseImage makes a base image: Base is then a plain image, Lock the kernel stack, and Spec is not used. nil makes an environment.
	BaseImage *base.Spec
	// Spec is valid. Lock is nil when nothing is to be installed.
	Spec environment.Spec
	Lock *lock.Lock
	// Python is the "major.minor" that the base must have; empty takes what it has.
	Python string
	// Labels are put on the image beside the base's own.
	Labels map[string]string
	// Attestations are the statements that BuildKit makes about the image.
	Attestations Attestations
	// Repository takes the image, by digest; no tag is put.
	Repository reference.Repository
	// Credentials are asked for each host while the daemon pulls and pushes.
	Credentials image.Credentials
	// Secrets are masked in logs and errors.
	Secrets []secret.Value
	// PackageIndex is where the lock's files come from; nil leaves it to the base's pip.
	PackageIndex *PackageIndex
	// BuildSecrets are mounted by name in the apt and post-install steps, as /run/secrets/<name>.
	BuildSecrets map[string]secret.Value
	// RebuildTrigger is part of what the steps that use a network are known by in the daemon's cache, and of nothing that they
	// make: with another one they run again. Empty for none.
	RebuildTrigger string
	// Cache is where finished steps come from and go to.
	Cache Cache
	// Network is what the steps need to reach package indexes.
	Network Network

	// alone, if not empty, keeps the daemon from taking the install step for anybody else's.
	alone string
}

// Attestations says which in-toto statements to attach.
type Attestations struct {
	// SBOM asks for a list of what is in the image. SBOMGenerator is the image that BuildKit runs for it, pinned by
	// digest; zero takes DefaultSBOMGenerator as it stands when the build begins.
	SBOM          bool
	SBOMGenerator reference.Reference
	// Provenance is "max", "min", or "" for none.
	Provenance string
}

// PackageIndex is a package index (PEP 503). Address and login reach pip through a secret mount alone.
type PackageIndex struct {
	// URL is the simple index, without a login.
	URL *url.URL
	// CACertificates holds PEM certificates that pip trusts for it, and none other.
	CACertificates []byte
	Username       string
	Password       secret.Value
}

// Network is what stands between a step and the package indexes.
type Network struct {
	// CABundle holds PEM certificates that the package steps trust beside none other; it is mounted as a secret, never written to the image.
	CABundle []byte
	// HTTPProxy, HTTPSProxy and NoProxy reach the steps that use the network, and no layer.
	HTTPProxy, HTTPSProxy, NoProxy string
}

// Result is what a build made.
type Result struct {
	// Digest is what was pushed: a manifest for one platform, an index for several.
	Digest string
	// Python is the base's "major.minor", equal on all platforms.
	Python string
	// Libc is the C library of the base's Python, "glibc 2.36"; "" where it does not tell, or platforms differ.
	Libc string
	// Packages are name → version as installed from the lock, equal on all platforms.
	Packages map[string]string
	// Unexported is why the build cache was not exported; nil if it was, or was not to be.
	Unexported error
}

// Package enginetest gives tests the real things: an OCI registry of their own (StartRegistry), and the BuildKit daemon,
// registry, base image and SBOM generator that one run of the tests shares (Engine).
package enginetest

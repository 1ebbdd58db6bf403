// Package enginetest gives tests the real things: an OCI registry of their own (StartRegistry), and the BuildKit daemon,
// registry, images (a base, and the plain ones that bases are made on) and SBOM generator that one run of the tests shares (Engine).
package enginetest

// Package engine starts and stops what an environment is really built with, on loopback only: a BuildKit daemon, an OCI
// registry that keeps its data on disk, a base image on the lines of sandbox-contract/v1, the plain images that bases are made
// on, and the project's own SBOM generator as an image. The tests and the demo share it; no other room imports it.
package engine

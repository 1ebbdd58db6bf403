// Package e2b is the room of the E2B variant: the client of E2B's control plane, of the daemon in its sandboxes (envd)
// and of the code-interpreter server, and the builder that turns a list of steps into a template build that is ready.
//
// A template keeps its id for life; each build of it has an id of its own that never changes what it launches. Tags
// move between builds. The types are those of E2B's OpenAPI document and of envd's protocol buffers, both kept in
// testdata and compared with this package by its tests.
//
// Errors are *problem.Problem; errors.As finds the *Error of the request within, and *BuildFailure where a build ended
// badly. The API key, access tokens and registry passwords appear in neither.
package e2b

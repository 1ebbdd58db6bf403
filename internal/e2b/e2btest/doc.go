// Package e2btest is a stand-in for E2B on loopback: its control plane, and envd and the code-interpreter server of its
// sandboxes. It keeps state, checks keys and access tokens, keeps the order and the words of E2B's own checks, and runs
// builds on a clock that tests may turn. It runs no code: what commands, code and build steps give is written down
// beforehand (answers.go).
//
// Its types are its own, so that a mistake in the client's is not made twice, and E2B's own SDKs and command line drive
// it in "make contract": what they can do against it, it does as E2B does.
package e2btest

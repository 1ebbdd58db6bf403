// Package buildkit builds environments on a BuildKit daemon and runs containers on it. It speaks the daemon's own
// API through its Go client: nothing is executed on this machine, and no file of the user is read or written.
package buildkit

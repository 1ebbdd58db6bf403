// Package resolve turns requirements into a hash-locked set with uv (`uv pip compile --generate-hashes`), for a target
// Python and platform that the caller names: nothing about the machine on which uv runs gets into the result. Two runners
// start the same uv with the same arguments: Local on this machine, Remote in a throw-away step on a base image.
//
// uv is given an environment of its own. Configuration files, UV_* and PIP_* variables, netrc and keyrings of the machine
// are not read; the login of an index is in the environment of uv alone: in no argument, no file and no error.
package resolve

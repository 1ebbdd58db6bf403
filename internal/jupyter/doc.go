// Package jupyter is a client of Jupyter Server: its REST API (api.go), and kernels over the WebSocket on which the
// server carries all of a kernel's channels (kernel.go). A frame is read and written in message.go.
//
// Errors are *problem.Problem; errors.As finds the *StatusError of an answer within. The token never appears in either.
package jupyter

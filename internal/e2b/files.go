package e2b

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// FileType is what a path in a sandbox is.
type FileType string

// The words of envd.
const (
	TypeFile      FileType = "FILE_TYPE_FILE"
	TypeDirectory FileType = "FILE_TYPE_DIRECTORY"
	TypeSymlink   FileType = "FILE_TYPE_SYMLINK"
)

// Entry is a file, a directory or a link in a sandbox.
type Entry struct {
	Name string   `json:"name"`
	Type FileType `json:"type"`
	Path string   `json:"path"`
	// Size in bytes.
	Size        Int64     `json:"size"`
	Mode        uint32    `json:"mode"`
	Permissions string    `json:"permissions"`
	Owner       string    `json:"owner"`
	Group       string    `json:"group"`
	ModifiedAt  time.Time `json:"modifiedTime"`
	// Target is where a link points to.
	Target string `json:"symlinkTarget"`
}

// Int64 is a number that the JSON of protocol buffers writes as a string.
type Int64 int64

// UnmarshalJSON takes the number in either form.
func (n *Int64) UnmarshalJSON(text []byte) error {
	value, err := strconv.ParseInt(string(bytes.Trim(text, `"`)), 10, 64)
	if err != nil {
		return fmt.Errorf("not a whole number: %s", text)
	}
	*n = Int64(value)
	return nil
}

type pathRequest struct {
	Path string `json:"path"`
}

type listDirRequest struct {
	Path  string `json:"path"`
	Depth uint32 `json:"depth"`
}

type moveRequest struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
}

type entryResponse struct {
	Entry Entry `json:"entry"`
}

type listDirResponse struct {
	Entries []Entry `json:"entries"`
}

// WriteFile writes a file, with the directories above it, as the template's user or the one named. What was there is
// overwritten.
func (r *Running) WriteFile(ctx context.Context, path, user string, content []byte) error {
	const title = "File in the E2B sandbox could not be written"
	object := r.sandbox.SandboxID + ": " + path
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", path)
	if err != nil {
		return report(title, object, err)
	}
	if _, err := part.Write(content); err != nil {
		return report(title, object, err)
	}
	if err := form.Close(); err != nil {
		return report(title, object, err)
	}
	request := r.call(envdPort, http.MethodPost, "/files", "")
	request.header.Set("Content-Type", form.FormDataContentType())
	request.query, request.raw = url.Values{"path": {path}}, body.Bytes()
	if user != "" {
		request.query.Set("username", user)
	}
	_, err = r.client.send(ctx, request)
	return report(title, object, err)
}

// Stat tells what is at a path. NotFound tells if nothing is.
func (r *Running) Stat(ctx context.Context, path string) (Entry, error) {
	var got entryResponse
	return got.Entry, r.filesystem(ctx, "Path in the E2B sandbox could not be looked at", path, "Stat", false, pathRequest{path}, &got)
}

// ListDir lists a directory, and those in it down to depth levels.
func (r *Running) ListDir(ctx context.Context, path string, depth uint32) ([]Entry, error) {
	var got listDirResponse
	err := r.filesystem(ctx, "Directory in the E2B sandbox could not be listed", path, "ListDir", false, listDirRequest{path, depth}, &got)
	return got.Entries, err
}

// MakeDir makes a directory, with those above it.
func (r *Running) MakeDir(ctx context.Context, path string) error {
	return r.filesystem(ctx, "Directory in the E2B sandbox could not be made", path, "MakeDir", true, pathRequest{path}, nil)
}

// Move renames a file or directory.
func (r *Running) Move(ctx context.Context, from, to string) error {
	return r.filesystem(ctx, "Path in the E2B sandbox could not be moved", from, "Move", true, moveRequest{from, to}, nil)
}

// Remove removes a file, or a directory with all that is in it.
func (r *Running) Remove(ctx context.Context, path string) error {
	return r.filesystem(ctx, "Path in the E2B sandbox could not be removed", path, "Remove", false, pathRequest{path}, nil)
}

func (r *Running) filesystem(ctx context.Context, title, path, method string, changes bool, message, into any) error {
	request := r.call(envdPort, http.MethodPost, "/filesystem.Filesystem/"+method, "")
	request.json, request.changes = message, changes
	got, err := r.client.send(ctx, request)
	if err != nil {
		return report(title, r.sandbox.SandboxID+": "+path, err)
	}
	if into != nil {
		if err := json.Unmarshal(got.body, into); err != nil {
			return report(title, r.sandbox.SandboxID+": "+path, err)
		}
	}
	return nil
}

// NoSuchPath tells whether envd answered that nothing is at a path.
func NoSuchPath(err error) bool {
	e := requestError(err)
	return e != nil && e.Status == http.StatusNotFound && e.ours
}

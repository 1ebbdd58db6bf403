package e2btest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// file is a file or a directory in a sandbox.
type file struct {
	dir     bool
	content []byte
	owner   string
	at      time.Time
}

func rawBase64(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

func homeDir(user string) string {
	if user == "root" {
		return "/root"
	}
	return "/home/" + user
}

// homeOf are the directories that every sandbox begins with.
func homeOf(b *build) map[string]*file {
	files := map[string]*file{}
	for _, dir := range []string{"/tmp", "/root", "/home/user", homeDir(orUser(b.user)), b.dir()} {
		for ; dir != "/"; dir = path.Dir(dir) {
			files[dir] = &file{dir: true, owner: orUser(b.user), at: b.finished}
		}
	}
	files["/"] = &file{dir: true, owner: "root", at: b.finished}
	return files
}

func orUser(name string) string {
	if name == "" {
		return "user"
	}
	return name
}

// absolute is a path as the user means it.
func absolute(user, name string) string {
	if name == "~" || strings.HasPrefix(name, "~/") {
		name = strings.TrimPrefix(strings.TrimPrefix(name, "~"), "/")
	}
	if !path.IsAbs(name) {
		name = path.Join(homeDir(user), name)
	}
	return path.Clean(name)
}

func (b *sandbox) put(name, owner string, content []byte, at time.Time) error {
	if known := b.files[name]; known != nil && known.dir {
		return fmt.Errorf("path is a directory: %s", name)
	}
	if err := b.mkdir(path.Dir(name), owner, at); err != nil {
		return err
	}
	b.files[name] = &file{content: content, owner: owner, at: at}
	return nil
}

func (b *sandbox) mkdir(name, owner string, at time.Time) error {
	for ; name != "/"; name = path.Dir(name) {
		if known := b.files[name]; known == nil {
			b.files[name] = &file{dir: true, owner: owner, at: at}
		} else if !known.dir {
			return fmt.Errorf("path already exists but it is not a directory: %s", name)
		}
	}
	return nil
}

func (b *sandbox) entry(name string) map[string]any {
	one := b.files[name]
	entry := map[string]any{"name": path.Base(name), "type": "FILE_TYPE_FILE", "path": name, "size": strconv.Itoa(len(one.content)), "mode": 0o644,
		"permissions": "-rw-r--r--", "owner": one.owner, "group": one.owner, "modifiedTime": one.at.UTC().Format(time.RFC3339Nano)}
	if one.dir {
		entry["type"], entry["mode"], entry["permissions"], entry["size"] = "FILE_TYPE_DIRECTORY", 0o755, "drwxr-xr-x", "4096"
	}
	return entry
}

// as gives who a request for files acts as: its username, its login, or the template's user.
func (c *call) as(box *sandbox) (string, bool) {
	if name := c.r.URL.Query().Get("username"); name != "" {
		if name != "root" && name != "user" && name != box.build.user {
			c.fail(http.StatusUnauthorized, "invalid username: '%s'", name)
			return "", false
		}
		return name, true
	}
	return c.user(box)
}

func getFile(c *call, box *sandbox) {
	user, ok := c.as(box)
	if !ok {
		return
	}
	name := absolute(user, c.r.URL.Query().Get("path"))
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	one := box.files[name]
	switch {
	case one == nil:
		c.fail(http.StatusNotFound, "path '%s' does not exist", name)
	case one.dir:
		c.fail(http.StatusBadRequest, "path '%s' is a directory", name)
	default:
		c.w.Header().Set("Content-Type", "application/octet-stream")
		c.bytes(http.StatusOK, one.content)
	}
}

func postFile(c *call, box *sandbox) {
	user, ok := c.as(box)
	if !ok {
		return
	}
	given := c.r.URL.Query().Get("path")
	kind, parameters, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	contents := map[string][]byte{}
	if kind == "multipart/form-data" {
		form := multipart.NewReader(bytes.NewReader(c.body), parameters["boundary"])
		for {
			part, err := form.NextPart()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				c.fail(http.StatusBadRequest, "error parsing multipart form: %s", err)
				return
			}
			if part.FormName() != "file" {
				continue
			}
			name := given
			if name == "" {
				_, disposition, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
				name = disposition["filename"]
			}
			content, err := io.ReadAll(part)
			if err != nil {
				c.fail(http.StatusBadRequest, "error reading part: %s", err)
				return
			}
			contents[absolute(user, name)] = content
		}
	} else {
		if given == "" {
			c.fail(http.StatusBadRequest, "path is required for application/octet-stream")
			return
		}
		contents[absolute(user, given)] = c.body
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	var written []any
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		if err := box.put(name, user, contents[name], c.server.options.Now()); err != nil {
			c.fail(http.StatusBadRequest, "%s", err)
			return
		}
		written = append(written, map[string]any{"path": name, "name": path.Base(name), "type": "file"})
	}
	c.json(http.StatusOK, written)
}

// pathOf reads the path that a call of the file system is about, as its user means it.
func (c *call) pathOf(box *sandbox, into any, given *string) (name, user string, ok bool) {
	if !c.message(into) {
		return "", "", false
	}
	if user, ok = c.user(box); !ok {
		return "", "", false
	}
	return absolute(user, *given), user, true
}

func statPath(c *call, box *sandbox) {
	var body struct{ Path string }
	name, _, ok := c.pathOf(box, &body, &body.Path)
	if !ok {
		return
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if box.files[name] == nil {
		c.refuse("not_found", "file not found: stat "+name+": no such file or directory")
		return
	}
	c.unary(map[string]any{"entry": box.entry(name)})
}

func listDir(c *call, box *sandbox) {
	var body struct {
		Path  string
		Depth int
	}
	name, _, ok := c.pathOf(box, &body, &body.Path)
	if !ok {
		return
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if known := box.files[name]; known == nil || !known.dir {
		c.refuse("not_found", "path not found: "+name)
		return
	}
	entries := []any{}
	for _, one := range slices.Sorted(maps.Keys(box.files)) {
		inside, below := strings.CutPrefix(one, strings.TrimSuffix(name, "/")+"/")
		if below && inside != "" && strings.Count(inside, "/") < max(1, body.Depth) {
			entries = append(entries, box.entry(one))
		}
	}
	c.unary(map[string]any{"entries": entries})
}

func makeDir(c *call, box *sandbox) {
	var body struct{ Path string }
	name, user, ok := c.pathOf(box, &body, &body.Path)
	if !ok {
		return
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if known := box.files[name]; known != nil && known.dir {
		c.refuse("already_exists", "directory already exists: "+name)
		return
	}
	if err := box.mkdir(name, user, c.server.options.Now()); err != nil {
		c.refuse("invalid_argument", err.Error())
		return
	}
	c.unary(map[string]any{"entry": box.entry(name)})
}

func movePath(c *call, box *sandbox) {
	var body struct{ Source, Destination string }
	from, user, ok := c.pathOf(box, &body, &body.Source)
	if !ok {
		return
	}
	to := absolute(user, body.Destination)
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if box.files[from] == nil {
		c.refuse("not_found", "source file not found: rename "+from+": no such file or directory")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(box.files)) {
		if name == from || strings.HasPrefix(name, from+"/") {
			box.files[to+strings.TrimPrefix(name, from)] = box.files[name]
			delete(box.files, name)
		}
	}
	c.unary(map[string]any{"entry": box.entry(to)})
}

func removePath(c *call, box *sandbox) {
	var body struct{ Path string }
	name, _, ok := c.pathOf(box, &body, &body.Path)
	if !ok {
		return
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	for one := range box.files {
		if one == name || strings.HasPrefix(one, name+"/") {
			delete(box.files, one)
		}
	}
	c.unary(map[string]any{})
}

package engine

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Content is what a registry's storage directory holds, sorted.
type Content struct {
	// Tags are "repository:tag".
	Tags []string
	// Manifests are "repository@sha256:…", children of indexes included.
	Manifests []string
	// Uploads are "repository upload id": sessions that were opened and neither finished nor cancelled.
	Uploads []string
}

// Contents reads a registry's storage directory, because its API lists tags only.
func Contents(storage string) (Content, error) {
	var content Content
	root := filepath.Join(storage, "docker", "registry", "v2", "repositories")
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			// Another request may remove a directory while this one looks.
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if repository, digest, ok := strings.Cut(name, "/_manifests/revisions/sha256/"); ok {
			if hex, link := strings.CutSuffix(digest, "/link"); link {
				content.Manifests = append(content.Manifests, repository+"@sha256:"+hex)
			}
		} else if repository, rest, ok := strings.Cut(name, "/_manifests/tags/"); ok {
			if tag, link := strings.CutSuffix(rest, "/current/link"); link {
				content.Tags = append(content.Tags, repository+":"+tag)
			}
		} else if repository, rest, ok := strings.Cut(name, "/_uploads/"); ok {
			// The registry keeps the directory of a cancelled upload, but not this file.
			if id, open := strings.CutSuffix(rest, "/startedat"); open {
				content.Uploads = append(content.Uploads, repository+" upload "+id)
			}
		}
		return nil
	})
	slices.Sort(content.Tags)
	slices.Sort(content.Manifests)
	return content, err
}

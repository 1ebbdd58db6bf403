package e2btest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

var hashRule = lazyregexp.New(`^[0-9a-f]{64}$`)

const urlLives = 30 * time.Minute

func (s *Server) getFiles(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := c.path["hash"]
	one := s.byID(c.path["templateID"])
	if one == nil || one.team != c.team {
		c.fail(http.StatusNotFound, "Error when getting template: template '%s' not found", c.path["templateID"])
		return
	}
	if !hashRule.MatchString(hash) {
		c.fail(http.StatusBadRequest, "Invalid files hash")
		return
	}
	_, present := c.team.files[hash]
	ends := strconv.FormatInt(s.options.Now().Add(urlLives).Unix(), 10)
	path := "/upload/" + c.team.Slug + "/" + hash
	answer := map[string]any{"present": present, "url": s.URL + path + "?expires=" + ends + "&signature=" + signature(path, ends)}
	if len(s.options.UploadHeaders) > 0 {
		answer["headers"] = s.options.UploadHeaders
	}
	c.json(http.StatusCreated, answer)
}

func signature(path, ends string) string {
	sum := sha256.Sum256([]byte("signed " + path + " " + ends))
	return hex.EncodeToString(sum[:])
}

// putFiles takes an upload as an object store does: only signed, in time, with its length, and never with an API key,
// which would have gone to a stranger.
func (s *Server) putFiles(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := func(status int, code string) {
		c.bytes(status, []byte("<?xml version=\"1.0\"?><Error><Code>"+code+"</Code></Error>"))
	}
	query := c.r.URL.Query()
	ends, _ := strconv.ParseInt(query.Get("expires"), 10, 64)
	switch {
	case query.Get("signature") != signature(c.r.URL.Path, query.Get("expires")):
		refuse(http.StatusForbidden, "SignatureDoesNotMatch")
		return
	case s.options.Now().Unix() > ends:
		refuse(http.StatusForbidden, "AccessDenied")
		return
	case c.r.ContentLength < 0 || len(c.r.TransferEncoding) > 0:
		refuse(http.StatusNotImplemented, "NotImplemented")
		return
	case c.r.Header.Get("X-API-Key") != "" || c.r.Header.Get("Authorization") != "":
		refuse(http.StatusBadRequest, "InvalidRequest")
		return
	}
	for name, value := range s.options.UploadHeaders {
		if c.r.Header.Get(name) != value {
			refuse(http.StatusBadRequest, "MissingRequiredHeader")
			return
		}
	}
	for _, one := range s.teams {
		if one.Slug == c.path["team"] {
			one.files[c.path["hash"]] = c.body
		}
	}
	c.bytes(http.StatusOK, nil)
}

// Uploaded gives the entries of each archive that a team put, by hash: "src/main.py 0644 12" or "src/link -> main.py".
func (s *Server) Uploaded(slug string) (map[string][]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string][]string{}
	for _, one := range s.teams {
		if one.Slug != slug {
			continue
		}
		for hash, content := range one.files {
			entries, err := entriesOf(content)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", hash, err)
			}
			all[hash] = entries
		}
	}
	return all, nil
}

func entriesOf(archive []byte) ([]string, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	entries := []string{}
	for reader := tar.NewReader(unpacked); ; {
		header, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return entries, nil
		case err != nil:
			return nil, err
		case header.Typeflag == tar.TypeSymlink:
			entries = append(entries, header.Name+" -> "+header.Linkname)
		default:
			entries = append(entries, fmt.Sprintf("%s %04o %d", header.Name, header.Mode&0o7777, header.Size))
		}
	}
}

package environment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/gowebpki/jcs"
)

// specDocument is the version of the document that SpecDigest covers. A field added later is left out of the
// document while it has its default, so that digests of earlier specs stand.
const specDocument = "environment-spec/1"

// Spec is what the user says about the content of an environment beside base and lock. It is equal on all variants.
type Spec struct {
	// Env are the environment variables that every process of a sandbox sees.
	Env map[string]string
	// Files are written after the packages are installed, owned by 1000:100.
	Files []File
	// AptPackages are Debian packages, each "name" or "name=version"; the order has no meaning.
	AptPackages []string
	// PostInstall are shell commands, run in this order as 1000:100 in the working directory.
	PostInstall []Command
}

// File is one file of a Spec.
type File struct {
	// Path is absolute and clean, under /home/datalayer/, /opt/ or /srv/.
	Path string
	// Content is the file's bytes, at most 1 MiB.
	Content []byte
	// Mode is three octal digits with an optional leading zero: "0644".
	Mode string
}

// Command is one post-install step.
type Command struct {
	// Command is given to /bin/sh -c; it may span lines.
	Command string
	// Network asks for network access during the step. nil: cut off where the service can.
	Network *bool
}

// Normalize gives the spec in the one spelling that is digested and built: files by path, modes of four digits,
// packages sorted, line ends of commands folded to LF. Order of commands is kept: it has a meaning.
func (s Spec) Normalize() Spec {
	n := Spec{Env: map[string]string{}}
	for name, value := range s.Env {
		n.Env[name] = value
	}
	for _, f := range s.Files {
		f.Mode = NormalMode(f.Mode)
		n.Files = append(n.Files, f)
	}
	sort.Slice(n.Files, func(i, j int) bool { return n.Files[i].Path < n.Files[j].Path })
	n.AptPackages = append(n.AptPackages, s.AptPackages...)
	sort.Strings(n.AptPackages)
	for _, c := range s.PostInstall {
		c.Command = NormalCommand(c.Command)
		n.PostInstall = append(n.PostInstall, c)
	}
	return n
}

// NormalMode is the mode of a file in the spelling that is digested.
func NormalMode(mode string) string {
	if len(mode) == 3 {
		return "0" + mode
	}
	return mode
}

// NormalCommand is a command in the spelling that is digested.
func NormalCommand(command string) string { return strings.ReplaceAll(command, "\r\n", "\n") }

// Digest is "sha256:<64 hex>" over the RFC 8785 form of the normalized spec.
func (s Spec) Digest() string {
	type file struct {
		Path   string `json:"path"`
		Mode   string `json:"mode"`
		SHA256 string `json:"sha256"`
	}
	type command struct {
		Command string `json:"command"`
		Network bool   `json:"network,omitempty"`
	}
	n := s.Normalize()
	document := struct {
		Document    string            `json:"document"`
		Env         map[string]string `json:"env"`
		Files       []file            `json:"files"`
		AptPackages []string          `json:"aptPackages"`
		PostInstall []command         `json:"postInstall"`
	}{Document: specDocument, Env: n.Env, Files: []file{}, AptPackages: []string{}, PostInstall: []command{}}
	for _, f := range n.Files {
		sum := sha256.Sum256(f.Content)
		document.Files = append(document.Files, file{f.Path, f.Mode, hex.EncodeToString(sum[:])})
	}
	document.AptPackages = append(document.AptPackages, n.AptPackages...)
	for _, c := range n.PostInstall {
		document.PostInstall = append(document.PostInstall, command{c.Command, c.Network != nil && *c.Network})
	}
	return Digest(document)
}

// Digest is "sha256:<64 hex>" over the RFC 8785 form of a document made of strings, booleans, small integers, lists and maps.
func Digest(document any) string {
	encoded, err := json.Marshal(document)
	if err == nil {
		encoded, err = jcs.Transform(encoded)
	}
	if err != nil {
		panic(fmt.Sprintf("environment: a document of plain strings did not encode: %v", err))
	}
	sum := sha256.Sum256(encoded)
	return "sha256:" + hex.EncodeToString(sum[:])
}

package e2b

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

var (
	//go:embed codeinterpreter/manifest.json
	interpreterManifest []byte
	//go:embed codeinterpreter/server.lock
	interpreterLock []byte
	//go:embed codeinterpreter/start.py
	interpreterStart []byte
	//go:embed codeinterpreter/jupyter_server_config.py
	interpreterJupyter []byte
	//go:embed codeinterpreter/server.py
	interpreterProgram []byte
)

const (
	// InterpreterSource is where the code-interpreter server comes from where nothing else is said; "{commit}" stands for
	// the commit in this and in any other source.
	InterpreterSource = "https://raw.githubusercontent.com/e2b-dev/code-interpreter/{commit}"
	// StartCommand starts the code-interpreter server.
	StartCommand = interpreterFolder + "/start"
	// ReadyCommand tells when it is up.
	ReadyCommand = `curl -s -o /dev/null -w "%{http_code}" http://localhost:49999/health | grep -q "200"`

	interpreterFolder = environment.ReservedPath + "/code-interpreter"
)

// Interpreter says which code-interpreter server a template has.
type Interpreter struct {
	// Source is an https address, or a folder on this machine whose files are uploaded: a checkout of the server's
	// repository at Commit. It is no content: each file is checked on its digest.
	Source string
	// Commit is that of github.com/e2b-dev/code-interpreter, and EditDigest covers all that this release lays over it:
	// the edit, its packages, Jupyter's configuration and the start program.
	Commit, EditDigest string
}

// manifest is codeinterpreter/manifest.json, as far as Go reads it.
type manifest struct {
	Commit string
	Folder string
	Files  []struct {
		Path   string
		SHA256 string
	}
}

func readManifest() manifest {
	var m manifest
	if err := json.Unmarshal(interpreterManifest, &m); err != nil {
		panic("e2b: the manifest of the code-interpreter server: " + err.Error())
	}
	return m
}

// CarriedInterpreter is the code-interpreter server of this release.
func CarriedInterpreter() Interpreter {
	digests := map[string]string{}
	for name, content := range map[string][]byte{
		"manifest.json": interpreterManifest, "server.lock": interpreterLock, "start.py": interpreterStart, "jupyter_server_config.py": interpreterJupyter,
	} {
		sum := sha256.Sum256(content)
		digests[name] = hex.EncodeToString(sum[:])
	}
	return Interpreter{Source: InterpreterSource, Commit: readManifest().Commit, EditDigest: environment.Digest(digests)}
}

// CheckCommit refuses a commit of the server that this release does not carry.
func CheckCommit(commit string) error {
	carried := CarriedInterpreter().Commit
	if commit == carried {
		return nil
	}
	return &problem.Problem{Title: "Commit of the code-interpreter server is not carried", Path: []any{"code_interpreter", "commit"}, Object: fmt.Sprintf("%q", commit),
		Advice: "This release of the provider carries " + carried + ". Write that, or remove the argument."}
}

// CheckEdit refuses an edit of the server that this release does not carry.
func CheckEdit(digest string) error {
	carried := CarriedInterpreter().EditDigest
	if digest == carried {
		return nil
	}
	return &problem.Problem{Title: "Edit of the code-interpreter server is not carried", Path: []any{"code_interpreter", "edit_digest"}, Object: fmt.Sprintf("%q", digest),
		Advice: "This release of the provider carries " + carried + ". Write that, or remove the argument."}
}

// CheckSource says what is wrong with a source, and does not repeat it. A folder is not looked at: it is read when the template is built.
func CheckSource(source string) error {
	p := &problem.Problem{Title: "Not a source of the code-interpreter server", Path: []any{"code_interpreter", "source"},
		Advice: "Give an https address, in which {commit} stands for the commit, or the folder of a checkout at that commit."}
	remote := strings.Contains(source, "://")
	switch {
	case source == "":
		p.Cause = errors.New("it is empty")
	case scpForm.MatchString(source):
		p.Cause = errors.New("it is the address of a Git repository, and files are taken one by one")
	case loginForm.MatchString(source) && !driveForm.MatchString(source):
		p.Cause = errors.New("it holds a user or password")
	case remote && !strings.HasPrefix(source, "https://"):
		p.Cause = errors.New("it does not begin with https://")
	case remote:
		if _, err := parseAddress(source); err != nil {
			p.Cause = err
		}
	}
	if p.Cause == nil {
		return nil
	}
	return p
}

// scpForm is a Git address as in "git@github.com:e2b-dev/code-interpreter".
var scpForm = lazyregexp.New(`^[A-Za-z0-9._-]+@[^/:]+:`)

// loginForm is an address without a scheme that begins with user and password, as a folder on a drive of Windows may look.
var loginForm, driveForm = lazyregexp.New(`^[^/]*:[^/]*@`), lazyregexp.New(`^[A-Za-z]:\\`)

// remote is the address that the files are fetched from; "" if they are uploaded.
func (i Interpreter) remote() string {
	if !strings.Contains(i.Source, "://") {
		return ""
	}
	return strings.TrimRight(strings.ReplaceAll(i.Source, "{commit}", i.Commit), "/")
}

// local reads the files of a folder, by path, and checks their digests.
func (i Interpreter) local() (map[string][]byte, error) {
	m := readManifest()
	info, err := os.Stat(i.Source)
	if err == nil && !info.IsDir() {
		err = errors.New("it is a file, not a folder")
	}
	if err != nil {
		return nil, i.notTaken(m, i.Source, err)
	}
	files := map[string][]byte{}
	for _, f := range m.Files {
		content, err := os.ReadFile(filepath.Join(i.Source, filepath.FromSlash(m.Folder), filepath.FromSlash(f.Path)))
		if err == nil {
			if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != f.SHA256 {
				err = fmt.Errorf("it has the SHA-256 %x, and %s is pinned", sum, f.SHA256)
			}
		}
		if err != nil {
			return nil, i.notTaken(m, m.Folder+"/"+f.Path, err)
		}
		files["source/"+m.Folder+"/"+f.Path] = content
	}
	return files, nil
}

func (i Interpreter) notTaken(m manifest, object string, err error) error {
	return &problem.Problem{Title: "Code-interpreter server cannot be taken from the folder", Path: []any{"code_interpreter", "source"}, Object: object, Cause: err,
		Advice: "The folder is to be a checkout of github.com/e2b-dev/code-interpreter at " + m.Commit + "."}
}

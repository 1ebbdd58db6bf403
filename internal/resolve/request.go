package resolve

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// DefaultIndex is where packages come from if a request names no index.
const DefaultIndex = "https://pypi.org/simple"

// Request is one resolution.
type Request struct {
	// Requirements and Constraints are requirements before they are locked, as Requirements gives them.
	Requirements, Constraints []string
	// Python is the target's version, "3.13" (which uv takes for 3.13.0) or "3.13.5"; Platform is one of Platforms.
	// With a base either may be empty: the base tells it.
	Python, Platform string
	// Index is asked first, ExtraIndexes after it in this order: a package comes from the first that has it. Without an
	// Index, DefaultIndex is asked. The login goes to the host of Index alone; its certificates are for all of them.
	Index        *buildkit.PackageIndex
	ExtraIndexes []*url.URL
	// OnlyBinary keeps source distributions out: resolving one runs its code.
	OnlyBinary bool
	// ExcludeNewer leaves out files uploaded after it, and those of which the index does not tell; zero leaves out none.
	ExcludeNewer time.Time
	// Prior is a lock whose versions are kept where they still fit.
	Prior *lock.Lock
	// Upgrade asks the indexes anew for what uv's cache would still answer.
	Upgrade bool
	// Network is what stands between uv and the indexes.
	Network buildkit.Network
	// Secrets are masked in logs and errors beside those that the request holds itself.
	Secrets []secret.Value
}

// Runner starts uv somewhere. Its errors are *problem.Problem; none shows a secret or a path of a machine.
type Runner interface {
	Resolve(ctx context.Context, request Request) (*Result, error)
}

// Result is what uv resolved.
type Result struct {
	Lock *lock.Lock
	// UV is the version that resolved it.
	UV string
	// Python and Platform are the target's, which a base may have told.
	Python, Platform string
	// Warnings are what uv warned of, a yanked version for one.
	Warnings []string
}

// Requirements reads a list of requirements in which an entry may be a comment. It gives their canonical texts in the
// order given, and a problem for each entry that is not understood, at its index below attribute.
func Requirements(attribute string, entries []string) (texts []string, faults problem.List) {
	for i, entry := range entries {
		wanted, err := lock.ParseWanted(entry)
		for _, p := range problem.From(err, "Requirement cannot be read") {
			p.Path = append([]any{attribute, i}, p.Path...)
			faults = append(faults, p)
		}
		if wanted != nil {
			texts = append(texts, wanted.Text)
		}
	}
	return texts, faults
}

// files are what uv reads, by name.
func (r Request) files() map[string]string {
	files := map[string]string{requirementsFile: strings.Join(r.Requirements, "\n") + "\n"}
	if len(r.Constraints) > 0 {
		files[constraintsFile] = strings.Join(r.Constraints, "\n") + "\n"
	}
	if r.Prior != nil {
		// Without their hashes: uv would keep those of a version to which files were added since.
		var pins strings.Builder
		for _, requirement := range r.Prior.Requirements() {
			if requirement.Version == "" {
				continue
			}
			pins.WriteString(requirement.Name + "==" + requirement.Version)
			if requirement.Marker != "" {
				pins.WriteString(" ; " + requirement.Marker)
			}
			pins.WriteString("\n")
		}
		files[lockFile] = pins.String()
	}
	return files
}

// Names of the files that uv reads and writes in its working directory. Its errors repeat the first two.
const (
	requirementsFile = "requirements"
	constraintsFile  = "constraints"
	lockFile         = "lock.txt"
)

// indexName is how uv's variables for the login name the index.
const indexName = "datalayer"

// arguments are those of uv. No path and no secret is in them.
func (r Request) arguments(output string) []string {
	arguments := []string{
		"pip", "compile", requirementsFile, "--output-file", output, "--generate-hashes", "--no-header", "--no-annotate",
		"--no-config", "--no-python-downloads", "--python", "cpython", "--keyring-provider", "disabled", "--color", "never",
		"--python-version", r.Python, "--python-platform", r.Platform,
	}
	if len(r.Constraints) > 0 {
		arguments = append(arguments, "--constraint", constraintsFile)
	}
	if r.OnlyBinary {
		arguments = append(arguments, "--only-binary", ":all:")
	}
	if !r.ExcludeNewer.IsZero() {
		arguments = append(arguments, "--exclude-newer", r.ExcludeNewer.UTC().Format(time.RFC3339))
	}
	if r.Upgrade {
		arguments = append(arguments, "--upgrade")
	}
	indexes := r.indexes()
	for i, index := range indexes {
		option := "--index"
		if i == len(indexes)-1 {
			option = "--default-index"
		}
		if i == 0 {
			index = indexName + "=" + index
		}
		arguments = append(arguments, option, index)
	}
	return arguments
}

func (r Request) indexes() []string {
	if r.Index == nil {
		return []string{DefaultIndex}
	}
	indexes := []string{r.Index.URL.String()}
	for _, extra := range r.ExtraIndexes {
		indexes = append(indexes, extra.String())
	}
	return indexes
}

// hostNamedIn is the host of a requirement by URL that uv names when it fails; "" where it names none.
func (r Request) hostNamedIn(said string) string {
	for _, text := range slices.Concat(r.Requirements, r.Constraints) {
		_, source, isURL := strings.Cut(text, " @ ")
		source, _, _ = strings.Cut(source, " ")
		source, _, _ = strings.Cut(source, "#")
		if address, err := url.Parse(source); isURL && err == nil && strings.Contains(said, source) {
			return address.Host
		}
	}
	return ""
}

// login is the environment that tells uv the login of the index.
func (r Request) login() map[string]secret.Value {
	if r.Index == nil || r.Index.Username == "" {
		return nil
	}
	prefix := "UV_INDEX_" + strings.ToUpper(indexName)
	return map[string]secret.Value{prefix + "_USERNAME": secret.New(r.Index.Username), prefix + "_PASSWORD": r.Index.Password}
}

// certificates are the PEM certificates that uv trusts, in place of all others; none leaves it to the machine.
func (r Request) certificates() []byte {
	if r.Index != nil && len(r.Index.CACertificates) > 0 {
		return r.Index.CACertificates
	}
	return r.Network.CABundle
}

// hidden are the values that nothing may show.
func (r Request) hidden() []secret.Value {
	values := append([]secret.Value{}, r.Secrets...)
	if r.Index != nil {
		values = append(values, r.Index.Password, r.Index.Basic())
	}
	return append(values, r.Network.Passwords()...)
}

func (r Request) masker() secret.Masker { return secret.NewMasker(r.hidden()...) }

// parse reads what uv wrote.
func (r Request) parse(text string) (*lock.Lock, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &problem.Problem{Title: "Resolution without a package", Path: []any{"requirements"},
			Cause:  errors.New("no requirement's marker holds on the target"),
			Advice: "Require at least one package on the target, or leave `lock` out of the environment to install nothing."}
	}
	if weak := weakHashes(text); len(weak) > 0 {
		return nil, &problem.Problem{Title: "Package index gives hashes that no lock takes", Path: []any{"index"}, Object: strings.Join(r.indexes(), ", "), Cause: errors.New(strings.Join(weak, ", ")),
			Advice: "pip takes sha256, sha384 and sha512. Let the index give one of them with each file (`#sha256=…`), or no hash at all: uv then reads the file and makes its own."}
	}
	locked, err := lock.Parse(text)
	if err != nil {
		// The lock's own problems speak of a text that nobody sees: only their words are told.
		return nil, &problem.Problem{Title: "uv wrote a lock that cannot be read", Path: []any{"requirements"}, Cause: errors.New(err.Error()),
			Advice: "A version of uv other than the one that this release ships may write another form. Leave uv_version out, or report it."}
	}
	return locked, nil
}

var uvHash = lazyregexp.New(`(?m)^(\S+==\S+)|^\s+--hash=([^:\s]+):`)

// weakHashes are the packages that uv locked by hashes that pip does not take, each with the algorithm: uv writes what the
// index gives.
func weakHashes(text string) []string {
	var weak []string
	name := ""
	for _, match := range uvHash.FindAllStringSubmatch(text, -1) {
		switch algorithm := match[2]; algorithm {
		case "":
			name = match[1]
		case "sha256", "sha384", "sha512":
		default:
			weak = append(weak, name+" by "+algorithm)
		}
	}
	return slices.Compact(weak)
}

package resolve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/datalayer/terraform-provider-datalayer/internal/childprocess"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// Local runs uv on this machine.
type Local struct {
	// Path is uv's program; "" looks for uv on the PATH.
	Path string
	// Version is the one that uv must be of; "" is UVVersion.
	Version string
	// Base is what the lock is for, if it is for one: its labels tell what the request leaves open.
	Base *Base
	// Getenv reads this machine's environment: the PATH, and where a user's cache is.
	Getenv func(string) string
	Logger *slog.Logger
}

// Resolve runs uv once, and once before for its version.
func (l Local) Resolve(ctx context.Context, request Request) (result *Result, err error) {
	program, err := l.find()
	if err != nil {
		return nil, err
	}
	if l.Base != nil {
		if request, err = l.Base.byLabels(ctx, request); err != nil {
			return nil, err
		}
	}
	folder, err := os.MkdirTemp("", "datalayer-lock-")
	if err != nil {
		return nil, &problem.Problem{Title: "No temporary folder for uv", Cause: withoutPath(err), Advice: "uv needs one to work in: see TMPDIR."}
	}
	defer func() {
		if left := os.RemoveAll(folder); left != nil {
			err = errors.Join(err, &problem.Problem{Title: "Temporary folder of uv was not removed", Cause: withoutPath(left), Advice: "Its name begins with datalayer-lock-: see TMPDIR. Nothing in it is a secret."})
		}
	}()
	for name, text := range request.files() {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return nil, &problem.Problem{Title: "Requirements cannot be given to uv", Cause: withoutPath(err), Advice: "uv reads them in a temporary folder: see TMPDIR."}
		}
	}
	environment, err := l.environment(request, folder)
	if err != nil {
		return nil, err
	}
	run := process{program: program, folder: folder, environment: environment, request: request, masked: l.masked(request, folder)}
	version, err := run.version(ctx, l.wanted())
	if err != nil {
		return nil, err
	}
	l.Logger.InfoContext(ctx, "uv resolves", "version", version, "python", request.Python, "platform", request.Platform, "requirements", len(request.Requirements))
	said, err := run.start(ctx, request.arguments(lockFile)...)
	for _, line := range said.lines {
		l.Logger.InfoContext(ctx, line, "program", "uv")
	}
	if err != nil {
		return nil, explain(ctx, request, said.lines, err)
	}
	text, err := os.ReadFile(filepath.Join(folder, lockFile))
	if err != nil {
		return nil, &problem.Problem{Title: "uv wrote no lock", Object: "uv " + version, Cause: withoutPath(err), Advice: "This is a bug in uv or in the provider."}
	}
	locked, err := request.parse(string(text))
	if err != nil {
		return nil, err
	}
	return &Result{Lock: locked, UV: version, Python: lock.MajorMinor(request.Python), Platform: request.Platform, Warnings: warnings(said.lines)}, nil
}

func (l Local) wanted() string {
	if l.Version != "" {
		return l.Version
	}
	return UVVersion
}

func (l Local) find() (string, error) {
	if l.Path != "" {
		path, err := exec.LookPath(l.Path)
		if err != nil {
			return "", &problem.Problem{Title: "uv is not at uv_path", Path: []any{"uv_path"}, Object: l.Path, Cause: errors.Unwrap(err), Advice: "Give the path of uv's program, or leave uv_path out to take uv from the PATH."}
		}
		return filepath.Abs(path)
	}
	path, err := exec.LookPath("uv")
	if err != nil {
		return "", &problem.Problem{Title: "uv is not on this machine", Path: []any{"runner"}, Cause: errors.New("there is no uv on the PATH"),
			Advice: fmt.Sprintf("Install uv %s where Terraform runs (`pip install uv==%s`), give its path in uv_path, or set base and runner = \"buildkit\", which needs no program here.", l.wanted(), l.wanted())}
	}
	return filepath.Abs(path)
}

// environment is all that uv gets: enough to find a Python and its own cache, and the request's network and login.
func (l Local) environment(request Request, folder string) ([]string, error) {
	variables := map[string]string{
		"PATH": l.Getenv("PATH"), "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_CONFIG_DIRS": folder, "XDG_DATA_HOME": folder, "TMPDIR": folder,
		"UV_CACHE_DIR": l.cache(folder), "UV_NO_PROGRESS": "1", "NETRC": os.DevNull,
	}
	if runtime.GOOS == "windows" {
		for _, name := range []string{"SYSTEMROOT", "SYSTEMDRIVE", "PATHEXT"} {
			variables[name] = l.Getenv(name)
		}
		variables["TEMP"], variables["TMP"], variables["APPDATA"], variables["USERPROFILE"] = folder, folder, folder, folder
	}
	// Pythons that uv itself installed: which one runs decides nothing but whether there is one.
	if pythons := l.userFolder("XDG_DATA_HOME", ".local/share"); pythons != "" {
		variables["UV_PYTHON_INSTALL_DIR"] = filepath.Join(pythons, "uv", "python")
	}
	maps.Copy(variables, request.Network.Variables())
	for name, value := range request.login() {
		variables[name] = value.Reveal()
	}
	if pem := request.certificates(); len(pem) > 0 {
		path := filepath.Join(folder, "ca.pem")
		if err := os.WriteFile(path, pem, 0o600); err != nil {
			return nil, &problem.Problem{Title: "Certificates cannot be given to uv", Cause: withoutPath(err), Advice: "uv reads them in a temporary folder: see TMPDIR."}
		}
		variables["SSL_CERT_FILE"] = path
	} else {
		// This machine's own certificates, as all of the provider's connections; older versions know the second name.
		variables["UV_SYSTEM_CERTS"], variables["UV_NATIVE_TLS"] = "true", "true"
	}
	var environment []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		environment = append(environment, name+"="+variables[name])
	}
	return environment, nil
}

// cache is the user's own cache of uv, so that what was fetched once is not again; without one it ends with the run.
func (l Local) cache(folder string) string {
	path := l.userFolder("XDG_CACHE_HOME", ".cache")
	if runtime.GOOS == "windows" {
		path = l.Getenv("LOCALAPPDATA")
	}
	if path != "" {
		path = filepath.Join(path, "uv")
		if runtime.GOOS == "windows" {
			path = filepath.Join(path, "cache")
		}
		if writable(path) {
			return path
		}
	}
	return filepath.Join(folder, "cache")
}

func writable(path string) bool {
	if os.MkdirAll(path, 0o755) != nil {
		return false
	}
	file, err := os.CreateTemp(path, ".datalayer-")
	if err != nil {
		return false
	}
	return errors.Join(file.Close(), os.Remove(file.Name())) == nil
}

// userFolder is what the XDG variable names, or the folder below the home; "" where there is neither.
func (l Local) userFolder(variable, below string) string {
	if path := l.Getenv(variable); filepath.IsAbs(path) {
		return path
	}
	home := l.home()
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(below))
}

func (l Local) home() string {
	if runtime.GOOS == "windows" {
		return l.Getenv("USERPROFILE")
	}
	return l.Getenv("HOME")
}

// masked takes secrets and the names of folders on this machine out of what uv says.
func (l Local) masked(request Request, folder string) func(string) string {
	pairs := []string{folder + string(filepath.Separator), "", folder, "."}
	if resolved, err := filepath.EvalSymlinks(folder); err == nil && resolved != folder {
		pairs = append([]string{resolved + string(filepath.Separator), "", resolved, "."}, pairs...)
	}
	if cache := l.cache(folder); !strings.HasPrefix(cache, folder) {
		pairs = append(pairs, cache, "(uv's cache)")
	}
	names, programs, secrets := strings.NewReplacer(pairs...), l.folders(), request.masker()
	return func(text string) string { return secrets.Mask(programs(names.Replace(text))) }
}

// folders takes the folders of programs out of a text, and the home, where they begin a path and are no part of a URL.
func (l Local) folders() func(string) string {
	separator := regexp.QuoteMeta(string(filepath.Separator))
	var known []string
	for _, path := range append(filepath.SplitList(l.Getenv("PATH")), l.home()) {
		// A name that is not UTF-8 fits into no regular expression.
		if path = filepath.Clean(path); filepath.IsAbs(path) && path != filepath.Dir(path) && utf8.ValidString(path) {
			known = append(known, regexp.QuoteMeta(path))
		}
	}
	if len(known) == 0 {
		return func(text string) string { return text }
	}
	// The longest first: a regular expression takes the first that fits.
	slices.SortFunc(known, func(a, b string) int { return len(b) - len(a) })
	begins := regexp.MustCompile(`(^|[^\w.~%/-])(?:` + strings.Join(known, "|") + `)` + separator)
	return func(text string) string { return begins.ReplaceAllString(text, "$1") }
}

// process starts uv.
type process struct {
	program, folder string
	environment     []string
	request         Request
	masked          func(string) string
}

// output is what uv printed.
type output struct {
	stdout string
	// lines are those of standard error, masked.
	lines []string
}

// grace is how long uv may take to end once it is told to.
const grace = 5 * time.Second

func (p process) start(ctx context.Context, arguments ...string) (output, error) {
	cmd := exec.CommandContext(ctx, p.program, arguments...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.folder, p.environment, grace
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	childprocess.EndWithAll(cmd)
	err := childprocess.Run(cmd)
	return output{stdout: stdout.String(), lines: readable(p.masked(stderr.String()))}, err
}

// version asks uv for its version, which must be the one wanted.
func (p process) version(ctx context.Context, wanted string) (string, error) {
	said, err := p.start(ctx, "--version")
	words := strings.Fields(said.stdout)
	isUV := len(words) > 1 && words[0] == "uv"
	switch {
	case ctx.Err() != nil:
		return "", explain(ctx, p.request, nil, err)
	case err != nil || !isUV:
		if err == nil {
			err = fmt.Errorf("it calls itself %q", shorten(p.masked(strings.TrimSpace(said.stdout))))
		}
		return "", &problem.Problem{Title: "uv does not start", Path: []any{"runner"}, Cause: withoutPath(err), Logs: said.lines, Advice: "Check that the program at uv_path, or named uv on the PATH, is uv and runs on this machine."}
	case words[1] != wanted:
		return "", &problem.Problem{Title: "uv has another version", Path: []any{"uv_version"}, Cause: fmt.Errorf("the uv of this machine is %s, and %s is wanted", words[1], wanted),
			Advice: fmt.Sprintf("Install uv %s (`pip install uv==%s`) and name it in uv_path, or set uv_version = %q if that version is to resolve.", wanted, wanted, words[1])}
	}
	return words[1], nil
}

func shorten(text string) string {
	if len(text) > 80 {
		return text[:80] + "…"
	}
	return text
}

// withoutPath drops the name of the temporary file from an error.
func withoutPath(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

package resolve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// What uv says, by what it means.
var (
	noWheel     = []string{"no usable wheels", "no wheels", "building from source"}
	noPython    = []string{"No interpreter found", "No Python ", "Failed to inspect Python interpreter", "Querying Python "}
	refused     = []string{"401 Unauthorized", "403 Forbidden", "missing credentials"}
	certificate = []string{"certificate", "Certificate", "UnknownIssuer", "BadSignature", "TLS handshake"}
	unreached   = []string{"Failed to fetch", "error sending request", "dns error", "tcp connect error", "Connection refused", "timed out", "Could not connect", "Request failed"}
	unparsed    = []string{"Couldn't parse", "invalid value"}
)

const (
	unsatisfiable = "No solution found"
	notOnIndex    = "not found in the package registry"
	// tooNew is in uv's hint on packages whose files exclude_newer leaves out.
	tooNew = "exclude-newer"
	// otherPython begins uv's remark on the interpreter that it would build with, which no target is.
	otherPython = "warning: The requested Python version "
)

func says(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
}

// uncoloured drops the escape sequences of terminals (ECMA-48: ESC, "[", parameters, a letter).
func uncoloured(text string) string {
	parts := strings.Split(text, "\x1b[")
	for i, part := range parts[1:] {
		if end := strings.IndexFunc(part, unicode.IsLetter); end >= 0 {
			parts[i+1] = part[end+1:]
		}
	}
	return strings.Join(parts, "")
}

// readable are the lines of what uv said, without colours.
func readable(text string) []string {
	var lines []string
	for line := range strings.Lines(uncoloured(text)) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" && !strings.HasPrefix(line, otherPython) {
			lines = append(lines, line)
		}
	}
	return lines
}

func warnings(lines []string) []string {
	var found []string
	for _, line := range lines {
		if text, is := strings.CutPrefix(line, "warning: "); is {
			found = append(found, text)
		}
	}
	return found
}

// verdict are the lines from uv's error on: what it says above is progress.
func verdict(lines []string) []string {
	for i, line := range lines {
		if strings.HasPrefix(line, "error: ") || strings.HasPrefix(strings.TrimSpace(line), "×") {
			return lines[i:]
		}
	}
	return lines
}

// stopped says that nothing came of a resolution that time or a person ended.
func stopped(ctx context.Context, request Request, object string) error {
	came := "No lock was made."
	if request.Prior != nil || request.Upgrade {
		came = "The lock is as it was."
	}
	return errors.Join(ctx.Err(), &problem.Problem{Title: "Resolution was stopped", Object: object, Cause: ctx.Err(), Advice: came + " Asked: " + strings.Join(request.indexes(), ", ") + "."})
}

// adviceOnInstall is for pip, which says of an index that refuses a login what it says of one that has no uv.
func adviceOnInstall(request Request) string {
	login := "An index that asks for a login answers pip in the same way: give index.username and index.password_wo."
	if request.Index != nil && request.Index.Username != "" {
		login = "A login that is refused looks the same: check index.username and index.password_wo."
	}
	return fmt.Sprintf("pip installs uv %s by its hashes from %s, as seen from the daemon's machine. Put it on that index, name one that has it in index.extra_urls, or set runner = %q. %s", UVVersion, strings.Join(request.indexes(), ", "), "local", login)
}

// adviceOnLogin says which index has to take the login, and which none.
func adviceOnLogin(request Request) string {
	indexes := request.indexes()
	advice := "Check index.username and index.password_wo, and that the login may read " + indexes[0] + "."
	if len(indexes) > 1 {
		advice += " It goes to that host alone: elsewhere index.extra_urls (" + strings.Join(indexes[1:], ", ") + ") must answer without one."
	}
	return advice
}

// explain turns what uv said when it failed into an error that a person can act on.
func explain(ctx context.Context, request Request, lines []string, err error) error {
	target := fmt.Sprintf("Python %s on %s", request.Python, request.Platform)
	said := strings.Join(verdict(lines), "\n")
	fault := func(attribute, title, advice string) error {
		cause := errors.New(said)
		if said == "" {
			cause = fmt.Errorf("uv said nothing and ended with %w", err)
		}
		return &problem.Problem{Title: title, Path: []any{attribute}, Object: target, Cause: cause, Advice: advice}
	}
	indexes := strings.Join(request.indexes(), ", ")
	host := request.hostNamedIn(said)
	switch {
	case ctx.Err() != nil:
		return stopped(ctx, request, target)
	case host != "" && (says(said, refused) || says(said, certificate) || says(said, unreached)):
		return fault("requirements", "File of a URL requirement could not be fetched", "The address in the requirement is on "+host+", and no index is asked for it. Check that it is right, that "+host+" lets it be read without a login, and, where it has an authority of its own, that index.ca_certificates or the file in DATALAYER_CA_BUNDLE has that too.")
	case says(said, noPython):
		return fault("runner", "uv found no Python to run with", "uv reads metadata with a Python of the machine, of any version and not that of the target. Put a python3 that starts first on the PATH where Terraform runs, or set base and runner = \"buildkit\".")
	case says(said, refused):
		return fault("index", "Package index refused uv", adviceOnLogin(request))
	case strings.Contains(said, unsatisfiable) && strings.Contains(said, tooNew) && !request.ExcludeNewer.IsZero():
		return fault("exclude_newer", "Requirements cannot be resolved", "exclude_newer ("+request.ExcludeNewer.Format(time.RFC3339)+") leaves out every file that was uploaded after it, and all files of an index that does not tell when they were. Set a later time, or remove it: it holds for all packages. Asked: "+indexes+".")
	case strings.Contains(said, unsatisfiable) && says(said, noWheel):
		advice := "No version that requirements, constraints and the kernel stack of base allow has a wheel for this Python and platform. Where an older or newer version has one, they rule it out: loosen what bounds that package, or another that needs it. Otherwise change the target."
		if request.OnlyBinary {
			advice += " only_binary = false takes source distributions too. Then their code, which is not yours, runs where uv runs, and as root in the build of an environment, whose base must have what builds them: the build backend, such as setuptools, and for machine code a compiler."
		}
		return fault("requirements", "Package has no wheel for the target", advice)
	case strings.Contains(said, unsatisfiable):
		advice := "Change requirements or constraints so that they have a common solution. Where base is set, constraints that nobody wrote are its kernel stack, whose versions a lock must keep."
		if strings.Contains(said, notOnIndex) {
			advice = "No index that was asked has a package of that name: check its spelling, index.url and index.extra_urls."
		}
		return fault("requirements", "Requirements cannot be resolved", advice+" Asked: "+indexes+".")
	case says(said, certificate) && says(said, unreached):
		return fault("index", "Certificate of the package index is not trusted by uv", "Give index.ca_certificates, or the file of certificates in DATALAYER_CA_BUNDLE. Asked: "+indexes+".")
	case says(said, unreached):
		return fault("index", "Package index did not answer uv", "Check index.url, the network and the proxies. Asked: "+indexes+".")
	case says(said, unparsed):
		return fault("requirements", "uv does not understand an argument", "Correct it, or check that uv_version knows it.")
	}
	return fault("requirements", "uv could not resolve the requirements", "")
}

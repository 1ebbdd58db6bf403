package buildkit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/moby/buildkit/util/grpcerrors"
	"google.golang.org/grpc/codes"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// errIndexLogin marks a login that the package index refused.
var errIndexLogin = errors.New("refused by the index")

// refusedByIndex is what the index answered to a login.
type refusedByIndex struct{ error }

func (refusedByIndex) Is(target error) bool { return target == errIndexLogin }

// errPassing marks a push that failed for a reason that may pass.
var errPassing = errors.New("passing")

// passing is a problem that another attempt may not meet.
type passing struct{ *problem.Problem }

func (p passing) Is(target error) bool { return target == errPassing }
func (p passing) Unwrap() error        { return p.Problem }

// buildFailure is all that is known when a solve ended in an error.
type buildFailure struct {
	request Request
	daemon  *Daemon
	// logins is what the daemon was given, and why it was not given more.
	logins *credentialServer
	step   *step
	masker secret.Masker
}

var (
	pushFailed = lazyregexp.New(`failed to push|error writing manifest|error writing layer blob|pushing layers|pushing manifest`)
	pullFailed = lazyregexp.New(`failed to resolve source metadata|failed to copy:|failed to fetch|failed to load cache key|pull access denied`)
	statusWord = lazyregexp.New(`\b([45]\d\d) [A-Z][A-Za-z ]+|unexpected status.*?: ([45]\d\d)\b`)
	// The daemon leaves out the status of an answer that is OCI's JSON, and shows its code.
	refusedCode  = lazyregexp.New(`failed to push \S+: (unauthorized|denied)\b`)
	brokenWire   = lazyregexp.New(`connection reset|broken pipe|\bEOF\b|connection refused|i/o timeout|TLS handshake timeout|\b(429|5\d\d) [A-Z]`)
	diskFull     = lazyregexp.New(`no space left on device|disk quota exceeded`)
	processEnded = lazyregexp.New(`(?s)process ".*" did not complete successfully: (exit code: \d+)`)
	aptMissing   = lazyregexp.New(`E: Unable to locate package (\S+)|E: Version '(\S+)' for '(\S+)' was not found|E: Package '(\S+)' has no installation candidate`)
	notFoundExec = lazyregexp.New(`executable file not found|exit code: 127`)
)

// explain turns the error of a solve into one that a person can act on.
func (f buildFailure) explain(ctx context.Context, err error) error {
	var own *problem.Problem
	if errors.As(err, &own) {
		return own
	}
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), f.problem("Image build was stopped", err, "Nothing was tagged. What was built stays in the daemon's cache."))
	}
	text := shorten(err.Error())
	// What a user's own command prints is not the daemon's word.
	if diskFull.MatchString(text) || f.step != nil && !f.ownCommand() && diskFull.MatchString(strings.Join(f.step.lines, "\n")) {
		return f.problem("BuildKit is out of disk space", err, "Free space on the daemon's machine ("+f.daemon.Address+"): `buildctl prune` empties its cache.")
	}
	if found := f.unread(text); found != nil {
		return found
	}
	if found := f.generatorProblem(err); found != nil {
		return found
	}
	if f.step != nil {
		if found := f.stepProblem(err); found != nil {
			return found
		}
	}
	switch {
	case pushFailed.MatchString(text), f.quotesRefusal(text, f.request.Repository.Host):
		return f.pushProblem(ctx, err)
	case pullFailed.MatchString(text):
		p := f.problem("BuildKit cannot read the "+strings.ToLower(f.request.words().parent), f.withRefusal(err, f.request.Base.Host), "The daemon pulls it itself: it must reach the registry of "+f.request.Base.String()+", and the credentials for that host must allow pulls.")
		if refusedLogin(text) && f.logins.renewed(ctx, f.request.Base.Host) {
			return passing{p}
		}
		return p
	case grpcerrors.Code(err) == codes.Unavailable:
		return f.problem("Connection to BuildKit was lost during the build", err, "Apply again: finished steps are in the daemon's cache.")
	}
	return f.problem("Image build failed", err, "")
}

func (f buildFailure) problem(title string, cause error, advice string) *problem.Problem {
	p := &problem.Problem{Title: title, Object: "image for " + f.request.Repository.String() + ", from " + f.request.Base.String() + ", for " + strings.Join(f.request.Platforms, " and ") + " on " + f.daemon.Address, Cause: errors.New(f.masker.Mask(shorten(cause.Error()))), Advice: advice}
	if f.step != nil {
		p.Object = fmt.Sprintf("step %q of the %s", f.step.name, p.Object)
		p.Logs = f.step.tail()
	}
	return p
}

func (f buildFailure) ownCommand() bool { return strings.HasPrefix(f.step.name, stepPostInstall) }

// networked tells whether the post-install command that failed had the network.
func (f buildFailure) networked() bool {
	for i, command := range f.request.Spec.PostInstall {
		if strings.HasSuffix(f.step.name, fmt.Sprintf("%s[%d]", stepPostInstall, i)) {
			return command.Network != nil && *command.Network
		}
	}
	return false
}

// stepProblem knows what the provider's own steps print when they fail.
func (f buildFailure) stepProblem(err error) error {
	log := strings.Join(f.step.lines, "\n")
	switch {
	case strings.HasSuffix(f.step.name, stepProbe) && notFoundExec.MatchString(log+err.Error()):
		return unsuitableBase(f.request, errors.New("it has no python3 on its PATH"))
	case strings.HasSuffix(f.step.name, stepApt):
		if missing := aptMissing.FindAllString(log, -1); missing != nil {
			return f.at(f.request.words().apt, f.problem("Debian package not found", errors.New(strings.Join(missing, "\n")), "Check the name and version against the Debian release of the base."))
		}
		return f.at(f.request.words().apt, f.problem("Debian packages were not installed", err, ""))
	case strings.HasSuffix(f.step.name, stepLock):
		return f.at(f.request.words().lock, f.lockProblem(err, log))
	case strings.HasSuffix(f.step.name, stepSystem):
		return f.at("from", f.problem("User or folders of the contract could not be made", err, "The image has something else in their place. Take another image, or mend this one."))
	case strings.HasPrefix(f.step.name, stepWrite):
		return f.at("files", f.problem("File could not be written", err, "The base has something else at this path or above it. Choose another path."))
	case f.ownCommand():
		network := "cut off from the network: network = true lets it reach one"
		if f.networked() {
			network = "with the daemon's network"
		}
		return f.at("post_install", f.problem("Post-install command failed", err, "Mend the command, or what it needs. It ran as 1000:100 in /home/datalayer/content, "+network+"."))
	}
	return nil
}

// at says where a problem lies that does not say so itself.
func (f buildFailure) at(attribute string, p *problem.Problem) *problem.Problem {
	if p.Path == nil {
		p.Path = []any{attribute}
	}
	return p
}

func (f buildFailure) pushProblem(ctx context.Context, err error) error {
	text, host := err.Error(), f.request.Repository.Host
	renewed := refusedLogin(text) && f.logins.renewed(ctx, host)
	refusal := f.logins.refusal(host)
	p := f.problem("Image was built but not pushed", f.withRefusal(err, host), "The build is in the daemon's cache; apply again once the registry takes it.")
	p.Object, p.Logs = "push to "+f.request.Repository.String(), nil
	if renewed {
		return passing{p}
	}
	var unavailable *problem.Problem
	if errors.As(refusal, &unavailable) {
		p.Advice = fmt.Sprintf("The build finished, but the login for %s had expired when the image was pushed, and no new one could be had. %s Then apply again: the build is in the daemon's cache.", host, unavailable.Advice)
		return p
	}
	if refusal != nil {
		// The registry's own answer is then to a token that is none.
		text = refusal.Error()
	}
	if status := codeStatus(text); status != "" && statusWord.FindString(text) == "" {
		p.Cause = fmt.Errorf("%w (%s)", p.Cause, status)
	}
	switch {
	case refusedLogin(text):
		p.Advice = fmt.Sprintf("The registry at %s refused the credentials that it is given for a push, though the build finished. If they have expired, renew them and apply again: the build is in the daemon's cache. %s", host, image.Sought(f.request.Credentials, host))
	case brokenWire.MatchString(text):
		if strings.HasSuffix(strings.TrimSpace(text), "EOF") {
			p.Advice += " A registry that closes the connection without a word may not have the repository."
		}
		return passing{p}
	}
	return p
}

// codeStatus is the status that a registry's code in a refused push stands for; "" without one.
func codeStatus(text string) string {
	code := refusedCode.FindStringSubmatch(text)
	if code == nil {
		return ""
	}
	return map[string]string{"unauthorized": "401 Unauthorized", "denied": "403 Forbidden"}[code[1]]
}

// refusedLogin recognises what a daemon says of a registry that does not take its login.
func refusedLogin(text string) bool {
	status := statusWord.FindString(text) + codeStatus(text)
	return strings.Contains(status, "401") || strings.Contains(status, "403") || strings.Contains(text, "insufficient_scope")
}

// withRefusal adds why a login or token for the host could not be had.
func (f buildFailure) withRefusal(err error, host string) error {
	if refusal := f.logins.refusal(host); refusal != nil && !strings.Contains(err.Error(), refusal.Error()) {
		return fmt.Errorf("%w\n%w", err, refusal)
	}
	return err
}

// quotesRefusal tells whether the daemon passes on why it got no login for the host.
func (f buildFailure) quotesRefusal(text, host string) bool {
	refusal := f.logins.refusal(host)
	return refusal != nil && strings.Contains(text, refusal.Error())
}

func unsuitableBase(request Request, cause error) *problem.Problem {
	w := request.words()
	return &problem.Problem{Title: w.parent + " does not fit", Path: []any{w.base}, Object: request.Base.String(), Cause: cause, Advice: w.wanted}
}

func pythonMismatch(request Request, found string) *problem.Problem {
	return &problem.Problem{Title: "Base image has another Python", Path: []any{"python_version"}, Object: request.Base.String(),
		Cause:  fmt.Errorf("python_version is %s, and the base has %s", request.Python, found),
		Advice: "Change one of the two, and resolve the lock for the Python of the base."}
}

// shorten drops the layers that BuildKit's client puts around the words that matter.
func shorten(text string) string {
	for _, wrapping := range []string{"failed to solve: ", "failed to run Build function: ", "rpc error: code = Unknown desc = "} {
		text = strings.TrimPrefix(text, wrapping)
	}
	return processEnded.ReplaceAllString(text, "$1")
}

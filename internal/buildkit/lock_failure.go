package buildkit

import (
	"errors"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// What pip and the install step print when a lock is not installed.
var (
	hashMismatch = lazyregexp.New(`DO NOT MATCH THE HASHES`)
	mismatched   = lazyregexp.New(`^\s+(\S+==\S+|\S+ @ \S+) from (\S+)`)
	expectedHash = lazyregexp.New(`Expected (?:or )?(\S+) ([0-9a-f]{32,})|\bor ([0-9a-f]{32,})`)
	gotHash      = lazyregexp.New(`Got\s+([0-9a-f]{32,})`)
	indexSilent  = lazyregexp.New(`(?m)^datalayer: index did not answer: (.*)$`)
	indexAnswer  = lazyregexp.New(`(?m)^datalayer: (index answered (\d+) .* for (\S+))$`)
	noSuchDist   = lazyregexp.New(`No matching distribution found for (\S+)`)
	otherPython  = lazyregexp.New(`Ignored the following versions that require a different python version: (.*)`)
	noBackend    = lazyregexp.New(`Cannot import '[\w.]+'|No module named '(setuptools|hatchling|flit_core|poetry|wheel)[\w.]*'`)
	collecting   = lazyregexp.New(`Collecting (\S+==\S+|\S+ @ \S+)`)
	// pip says that a connection failed when it tries again, and of certificates when it gives up; of an answer it says nothing.
	brokenByIndex = lazyregexp.New(`(?m)after connection broken by '.*': \S*/([A-Za-z0-9._-]+)/$`)
	unfetched     = lazyregexp.New(`Could not fetch URL \S*/([A-Za-z0-9._-]+)/: .*`)
	newProblem    = lazyregexp.New(`^datalayer: new problem: (.*)$`)
)

func (f buildFailure) lockProblem(err error, log string) *problem.Problem {
	var incomplete []string
	for _, line := range f.step.lines {
		if match := newProblem.FindStringSubmatch(line); match != nil {
			incomplete = append(incomplete, match[1])
		}
	}
	if len(incomplete) > 0 {
		return f.problem("Locked packages do not fit together", errors.New(strings.Join(incomplete, "\n")),
			"`pip check` found this after the installation and not before. Resolve the lock again with all its dependencies (`uv pip compile --generate-hashes`).")
	}
	if hashMismatch.MatchString(log) {
		return f.problem("Hash mismatch in the locked packages", errors.New(describeMismatch(f.step.lines)),
			"The index serves other bytes than the lock was made from. Nothing was installed. Resolve the lock again, and find out why the file changed before you trust it.")
	}
	if found := f.indexProblem(log); found != nil {
		return found
	}
	if match := noSuchDist.FindStringSubmatch(log); match != nil {
		advice := "Check that the version exists, and that it has a file for this Python and platform; make the lock with `uv pip compile --python-version … --python-platform …`."
		cause := match[0]
		if other := otherPython.FindStringSubmatch(log); other != nil {
			cause += "\nOther Pythons only: " + other[1]
		}
		return f.problem("Locked package has no file for this Python", errors.New(cause), advice)
	}
	if noBackend.MatchString(log) {
		found := noBackend.FindAllString(log, -1)
		cause := found[len(found)-1]
		if collected := collecting.FindAllStringSubmatch(log, -1); collected != nil {
			cause = collected[len(collected)-1][1] + ": " + cause
		}
		return f.problem("Locked package needs a build backend", errors.New(cause),
			"It comes as source only, and its backend would have to be fetched without a hash. Lock a version that has a wheel, or use a base that holds the backend.")
	}
	return f.problem("Locked packages were not installed", err, "")
}

// indexProblem tells a package index that failed from a lock that did.
func (f buildFailure) indexProblem(log string) *problem.Problem {
	missing := ""
	if match := noSuchDist.FindStringSubmatch(log); match != nil {
		missing, _, _ = strings.Cut(match[1], "==")
	}
	if f.request.PackageIndex == nil {
		return f.foreignIndexProblem(log, lock.NormalName(missing))
	}
	address := f.request.PackageIndex.URL.Redacted()
	for _, answer := range indexAnswer.FindAllStringSubmatch(log, -1) {
		switch {
		case answer[2] == "401" || answer[2] == "403":
			p := f.atIndex(f.problem("Package index refused the login", errors.New(answer[1]), "Check package_index.username and package_index.password_wo, and that the login may read the index "+address+"."))
			p.Cause = refusedByIndex{p.Cause}
			return p
		case answer[2] != "404":
			return f.atIndex(f.problem("Package index failed", errors.New(answer[1]), "Apply again once package_index.url ("+address+") answers; finished steps are in the daemon's cache."))
		case answer[3] == lock.NormalName(missing):
			return f.atIndex(f.problem("Package index does not have the package", errors.New(answer[1]), "Add the package to "+address+", or correct package_index.url: a simple index answers below it at <package>/."))
		}
	}
	if match := indexSilent.FindStringSubmatch(log); match != nil {
		if untrusted(match[1]) {
			return f.atIndex(f.problem("Certificate of the package index is not trusted by pip", errors.New(match[1]), "Give the authority of "+address+" in package_index.ca_certificates, or, without that, in the file of DATALAYER_CA_BUNDLE. Either is trusted in place of all others."))
		}
		return f.atIndex(f.problem("Package index cannot be reached", errors.New(match[1]), "Check package_index.url ("+address+") and package_index.ca_certificates, as seen from the daemon's machine ("+f.daemon.Address+"), and the proxies (HTTPS_PROXY, HTTP_PROXY, NO_PROXY) of the Terraform process."))
	}
	return nil
}

// foreignIndexProblem reads from pip's own log that the index which the base's configuration names did not answer for the package.
func (f buildFailure) foreignIndexProblem(log, missing string) *problem.Problem {
	for _, pattern := range []*lazyregexp.Regexp{brokenByIndex, unfetched} {
		found := pattern.FindAllStringSubmatch(log, -1)
		for i := len(found) - 1; i >= 0; i-- {
			if missing != "" && missing != lock.NormalName(found[i][1]) {
				continue
			}
			source := "The packages come from the index that the base's pip is configured for, which is PyPI unless it says another; the lock is not at fault. "
			if f.request.BaseImage != nil {
				source = "The kernel stack comes from the index that the pip of from is configured for, which is PyPI unless it says another. "
			}
			if untrusted(found[i][0]) {
				return f.atIndex(f.problem("Certificate of the index of the base's pip is not trusted", errors.New(found[i][0]), source+
					"Put its authority, or that of the proxy on the way to it, into the file of DATALAYER_CA_BUNDLE, which is trusted in place of all others. package_index names another index, with ca_certificates of its own."))
			}
			return f.atIndex(f.problem("Index of the base's pip cannot be reached", errors.New(found[i][0]), source+
				"Check that the daemon's machine ("+f.daemon.Address+") reaches it, the proxies that the Terraform process passes on (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), and the certificates in DATALAYER_CA_BUNDLE. package_index names another index."))
		}
	}
	return nil
}

// untrusted says whether a connection ended because of the index's certificate, by the words of Python's ssl and of pip.
func untrusted(said string) bool {
	return strings.Contains(said, "CERTIFICATE_VERIFY_FAILED") || strings.Contains(said, "confirming the ssl certificate")
}

// atIndex is where a problem of an index lies: not in the lock.
func (f buildFailure) atIndex(p *problem.Problem) *problem.Problem {
	p.Path = []any{}
	if f.request.PackageIndex != nil {
		p.Path = []any{"package_index"}
	}
	return p
}

// describeMismatch gathers pip's report: package, expected hashes, and the one it got.
func describeMismatch(lines []string) string {
	var out []string
	for _, line := range lines {
		if match := mismatched.FindStringSubmatch(line); match != nil {
			out = append(out, match[1]+" from "+match[2])
		} else if match := expectedHash.FindStringSubmatch(line); match != nil {
			if match[3] != "" {
				out = append(out, "  or       "+match[3])
			} else {
				out = append(out, "  expected "+match[1]+" "+match[2])
			}
		} else if match := gotHash.FindStringSubmatch(line); match != nil {
			out = append(out, "  got      "+match[1])
		}
	}
	return strings.Join(out, "\n")
}

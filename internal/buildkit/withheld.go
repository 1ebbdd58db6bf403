package buildkit

import (
	"errors"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// withheld is why a login that the daemon asked for could not be had, laid at the argument that names an image on that host;
// nil if it could. Whoever looked for it knows best what to do, and the daemon passes on no more than its cause.
func (s *credentialServer) withheld(host string, at ...any) *problem.Problem {
	var said *problem.Problem
	if !errors.As(s.refusal(host), &said) {
		return nil
	}
	p := *said
	p.Path = at
	return &p
}

// unread is why the login for an image that the daemon was to read could not be had; nil if that is not what ended the build.
func (f buildFailure) unread(text string) *problem.Problem {
	generator := f.request.Attestations.SBOMGenerator
	if f.reads(generator, text) {
		if p := f.logins.withheld(generator.Host, "attestations", "sbom_generator"); p != nil {
			return ofGenerator(p, generator.String())
		}
	}
	if f.reads(f.request.Base, text) {
		return f.logins.withheld(f.request.Base.Host, f.request.words().base)
	}
	return nil
}

// reads tells whether the daemon failed while it read the image: it names it in the error or in the step, or it quotes why
// there is no login for a host that nothing else is read from or pushed to.
func (f buildFailure) reads(image reference.Reference, text string) bool {
	switch refusal := f.logins.refusal(image.Host); {
	case image.Digest == "" || refusal == nil || pushFailed.MatchString(text):
		return false
	case strings.Contains(text, image.Digest), f.step != nil && strings.Contains(f.step.name, image.Digest):
		return pullFailed.MatchString(text) || f.quotesRefusal(text, image.Host)
	default:
		hosts := []string{f.request.Base.Host, f.request.Repository.Host, f.request.Attestations.SBOMGenerator.Host}
		alone := len(slices.DeleteFunc(hosts, func(host string) bool { return host != image.Host })) == 1
		return alone && f.quotesRefusal(text, image.Host)
	}
}

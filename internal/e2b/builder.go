package e2b

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// Order is what a Builder builds: which template, from what, in which steps. It says nothing of where these come from.
type Order struct {
	Request BuildRequest
	Start   BuildStart
	// Archives are what the COPY steps take, by their hashes.
	Archives []Archive
	// Accept is told E2B's first answer, before anything else is done: the moment to keep the ids. Its error ends the
	// build there, with the build waiting at E2B for good. May be nil.
	Accept func(RequestedBuild) error
	// Observe is told each line of the build's log, with secrets masked. May be nil.
	Observe func(LogEntry)
	// Secrets are taken out of log lines and E2B's words, beside the API key and the registry's password.
	Secrets []secret.Value
}

// Built is a build that is ready.
type Built struct {
	RequestedBuild
	// Lines is how many log lines the build wrote, all of which were read; fewer if Warning says so.
	Lines int
	// Warning is a lesser failure after the build was ready: its log could not be read to the end. Nil is none.
	Warning error
}

// Builder builds templates: it asks for a build, uploads files, starts it and waits until it is ready.
type Builder struct {
	client *Client
	logger *slog.Logger
	clock  retry.Clock
}

// NewBuilder makes a builder; nothing is asked or sent yet.
func (c *Client) NewBuilder() *Builder { return &Builder{client: c, logger: c.logger, clock: c.clock} }

const (
	// lookups is how often a build is looked for whose request was not answered, lookPause the time in between: E2B
	// may be carrying it out still.
	lookups, lookPause = 3, 3 * time.Second
	// starts is how often a build is started whose start was not answered and which still waits.
	starts = 3
)

// Build carries an order out. The request must carry exactly one tag that no other build has: by it a build whose
// request was not answered is found again. A failed build is a *BuildFailure within the problem.
func (b *Builder) Build(ctx context.Context, order Order) (Built, error) {
	if len(order.Request.Tags) != 1 {
		return Built{}, &problem.Problem{Title: "E2B build without a tag of its own", Object: order.Request.Name, Cause: fmt.Errorf("tags %q", order.Request.Tags),
			Advice: "This is a mistake of the provider: please report it."}
	}
	requested, err := b.request(ctx, order.Request)
	if err != nil {
		return Built{}, err
	}
	built := Built{RequestedBuild: requested}
	if order.Accept != nil {
		if err := order.Accept(requested); err != nil {
			return built, err
		}
	}
	for _, archive := range order.Archives {
		if err := b.client.Upload(ctx, requested.TemplateID, archive); err != nil {
			return built, err
		}
	}
	if err := b.start(ctx, requested, order.Start); err != nil {
		return built, err
	}
	secrets := append(order.Secrets[:len(order.Secrets):len(order.Secrets)], b.client.key)
	if order.Start.Registry != nil {
		secrets = append(secrets, order.Start.Registry.Password)
	}
	built.Lines, built.Warning, err = b.wait(ctx, requested, secret.NewMasker(secrets...), order.Observe)
	err = order.Start.explainPull(err)
	return built, err
}

// request asks for the build. If the answer is lost, it looks for a build that carries the tag, and never asks again:
// a second request would make a second build.
func (b *Builder) request(ctx context.Context, request BuildRequest) (RequestedBuild, error) {
	requested, err := b.client.RequestBuild(ctx, request)
	if err == nil || !Unclear(err) {
		return requested, err
	}
	lost := err
	// The look has a time of its own: the request may have been cancelled while it was under way.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	advice := "No build with this tag was found under the name. Nothing was asked twice: apply again."
	for look := 1; ; look++ {
		found, err := b.find(ctx, request.Name, request.Tags[0])
		switch {
		case err == nil && found != nil:
			b.logger.InfoContext(ctx, "the E2B build was made although its request was not answered", "template", found.TemplateID, "build", found.BuildID)
			return *found, nil
		case err != nil:
			lost = errors.Join(lost, err)
		}
		if look == lookups || b.clock.Sleep(ctx, retry.Jitter(lookPause)) != nil {
			if err != nil {
				advice = fmt.Sprintf("Whether E2B took it could not be looked up either: template %s may be there, with a build of this tag that was not started and ends after 40 minutes. Nothing was asked twice. Apply again: what E2B made is named then, and how to import it.", request.Name)
			}
			break
		}
	}
	return RequestedBuild{}, &problem.Problem{Title: "E2B did not answer whether it took the template build", Object: request.Name + ", tag " + request.Tags[0], Cause: lost, Advice: advice}
}

// find looks for the build of a template that carries the tag; nil if there is none.
func (b *Builder) find(ctx context.Context, name, tag string) (*RequestedBuild, error) {
	alias, err := b.client.Alias(ctx, name)
	if NotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tags, err := b.client.Tags(ctx, alias.TemplateID)
	if err != nil {
		return nil, err
	}
	for _, one := range tags {
		if one.Tag != tag {
			continue
		}
		template, err := b.client.TemplateWith(ctx, alias.TemplateID, one.BuildID)
		if err != nil {
			return nil, err
		}
		return &RequestedBuild{TemplateID: alias.TemplateID, BuildID: one.BuildID, Public: alias.Public, Names: template.Names, Tags: []string{tag}}, nil
	}
	return nil, nil
}

// start starts the build. If the answer is lost, its status tells whether E2B did start it.
func (b *Builder) start(ctx context.Context, requested RequestedBuild, start BuildStart) error {
	for attempt := 1; ; attempt++ {
		err := b.client.StartBuild(ctx, requested.TemplateID, requested.BuildID, start)
		switch {
		case err == nil, started(err):
			return nil
		case !Unclear(err) || ctx.Err() != nil || attempt == starts:
			return err
		}
		info, look := b.client.BuildStatus(ctx, requested.TemplateID, requested.BuildID, 0)
		if look != nil {
			return report("E2B did not answer whether it started the template build", named(requested.TemplateID, requested.BuildID), errors.Join(err, look))
		}
		if info.Status != StatusWaiting {
			return nil
		}
		if b.clock.Sleep(ctx, retry.Jitter(lookPause)) != nil {
			return err
		}
	}
}

// BuildFailure is a build that E2B ended as failed.
type BuildFailure struct {
	TemplateID, BuildID string
	// Message is E2B's reason with secrets masked; "" if it gave none.
	Message string
	// Step is the step that failed: "base", "finalize", a number from "1" as in the order, or "".
	Step string
}

// Error is E2B's reason, or that it gave none.
func (f *BuildFailure) Error() string {
	switch {
	case f.Message == "":
		return "E2B gave no reason"
	case f.Step == "":
		return f.Message
	}
	return "step " + f.Step + ": " + f.Message
}

// StepIndex is the index of the failed step in the order's steps; false if it was none of them.
func (f *BuildFailure) StepIndex() (int, bool) {
	var number int
	if _, err := fmt.Sscanf(f.Step, "%d", &number); err != nil || number < 1 {
		return 0, false
	}
	return number - 1, true
}

// pullRefusals are E2B's words for a base that it may not pull, or does not find: registries hide so what a login may not see.
var pullRefusals = []string{"access denied to '", "authentication required", "error getting auth option", "the image or tag does not exist in the registry", "verify the image name is correct", "failed to pull image '"}

// explainPull adds to a build that failed on its base which login E2B had for it.
func (s BuildStart) explainPull(err error) error {
	var failed *BuildFailure
	var p *problem.Problem
	if !errors.As(err, &failed) || !errors.As(err, &p) || p.Advice != "" ||
		!slices.ContainsFunc(pullRefusals, func(words string) bool { return strings.Contains(failed.Message, words) }) {
		return err
	}
	said := *p
	said.Advice = "E2B had no login for the registry: none was found. Give one in base_registry or in the provider's registries; for Amazon ECR the provider's aws gets one."
	if s.Registry != nil {
		from := ""
		if s.Registry.Source != "" {
			from = " from " + s.Registry.Source
		}
		said.Advice = fmt.Sprintf("E2B was given the user %q%s. Check that this login may pull the image, that it is not over, and that the image is there.", s.Registry.Username, from)
	}
	said.Advice += " The registry must be reachable from E2B."
	return &said
}

// failure is what a person reads of a build that failed.
func failure(requested RequestedBuild, reason *Reason, log *buildLog, mask secret.Masker) error {
	f := &BuildFailure{TemplateID: requested.TemplateID, BuildID: requested.BuildID}
	if reason != nil {
		f.Message, f.Step = excerpt(mask, reason.Message), reason.Step
	}
	p := &problem.Problem{Title: "E2B template build failed", Object: named(requested.TemplateID, requested.BuildID), Cause: f, Logs: log.last(f.Step)}
	switch {
	case f.Message == "":
		p.Advice = "See the build in the team's dashboard (https://e2b.dev/dashboard), or ask E2B's support with the build id."
	case strings.Contains(f.Message, "superseded"):
		p.Advice = "Another build of the template with the same tag was started. Each apply uses a tag of its own, so this was not made by the provider alone."
	case strings.Contains(f.Message, "internal error") || strings.Contains(f.Message, "syncing took too long") || strings.Contains(f.Message, "unrecoverable error"):
		p.Advice = "The service failed, not the configuration: apply again, or ask E2B's support with the build id."
	}
	return p
}

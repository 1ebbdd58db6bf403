package buildkit

import (
	"context"
	"log/slog"
	"strings"

	"github.com/moby/buildkit/client"
	"github.com/opencontainers/go-digest"

	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// tailLines is how many lines of the failing step an error shows.
const tailLines = 40

// keptLines bounds what is remembered of each step, so that an error's cause further up can still be found.
const keptLines = 2000

// progress follows a solve: it logs what the steps print, line by line, and remembers the last lines of each.
type progress struct {
	ctx    context.Context
	logger *slog.Logger
	masker secret.Masker
	steps  map[digest.Digest]*step
}

type step struct {
	name, failure string
	announced     bool
	lines         []string
	// partial holds, by stream, the beginning of a line whose end has not come yet: logs arrive as raw chunks.
	partial map[int]string
}

func newProgress(ctx context.Context, logger *slog.Logger, masker secret.Masker) *progress {
	return &progress{ctx: ctx, logger: logger, masker: masker, steps: map[digest.Digest]*step{}}
}

// follow reads until the channel is closed, which the client does when the solve has ended.
func (p *progress) follow(statuses <-chan *client.SolveStatus) {
	for status := range statuses {
		p.take(status)
	}
	for _, s := range p.steps {
		for stream, rest := range s.partial {
			if rest != "" {
				p.keep(s, rest)
			}
			delete(s.partial, stream)
		}
	}
}

func (p *progress) take(status *client.SolveStatus) {
	for _, vertex := range status.Vertexes {
		s := p.step(vertex.Digest)
		s.name, s.failure = vertex.Name, vertex.Error
		switch {
		case vertex.Completed != nil && vertex.Error == "" && vertex.Cached:
			p.logger.DebugContext(p.ctx, "step was cached", "step", s.name)
		case vertex.Started != nil && !s.announced:
			s.announced = true
			p.logger.InfoContext(p.ctx, "step started", "step", s.name)
		}
	}
	for _, log := range status.Logs {
		s := p.step(log.Vertex)
		text := s.partial[log.Stream] + string(log.Data)
		lines := strings.Split(text, "\n")
		for _, line := range lines[:len(lines)-1] {
			p.keep(s, line)
		}
		s.partial[log.Stream] = lines[len(lines)-1]
	}
	for _, warning := range status.Warnings {
		p.logger.WarnContext(p.ctx, p.masker.Mask(string(warning.Short)))
	}
}

func (p *progress) step(id digest.Digest) *step {
	s, ok := p.steps[id]
	if !ok {
		s = &step{partial: map[int]string{}}
		p.steps[id] = s
	}
	return s
}

func (p *progress) keep(s *step, line string) {
	line = p.masker.Mask(strings.TrimRight(line, "\r"))
	p.logger.InfoContext(p.ctx, line, "step", s.name)
	s.lines = append(s.lines, line)
	if len(s.lines) > keptLines {
		s.lines = s.lines[len(s.lines)-keptLines:]
	}
}

// failed gives the step that failed, or nil. A solve that stops at one step cancels the others, so theirs is not the cause.
func (p *progress) failed() *step {
	var found *step
	cancelled := func(s *step) bool { return strings.Contains(s.failure, "context canceled") }
	for _, s := range p.steps {
		if s.failure == "" || s.ofCache() || found != nil && cancelled(s) {
			continue
		}
		if found == nil || cancelled(found) || len(s.lines) > len(found.lines) {
			found = s
		}
	}
	return found
}

func (s *step) tail() []string {
	if len(s.lines) > tailLines {
		return s.lines[len(s.lines)-tailLines:]
	}
	return s.lines
}

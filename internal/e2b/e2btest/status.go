package e2btest

import (
	"net/http"
	"strconv"
	"time"
)

type logLine struct {
	at                   time.Time
	message, level, step string
}

func (l logLine) json() map[string]any {
	entry := map[string]any{"timestamp": l.at.UTC().Format("2006-01-02T15:04:05.000Z"), "message": l.message, "level": l.level}
	if l.step != "" {
		entry["step"] = l.step
	}
	return entry
}

// reading finds the build that a request reads, and answers if there is none.
func (s *Server) reading(c *call) *build {
	id := c.path["buildID"]
	if !uuidRule.MatchString(id) {
		c.fail(http.StatusBadRequest, "Invalid build id")
		return nil
	}
	one := s.byID(c.path["templateID"])
	b := s.buildOf(one, id)
	switch {
	case b == nil:
		c.fail(http.StatusBadRequest, "Build '%s' not found", id)
		return nil
	case one.team != c.team:
		c.fail(http.StatusForbidden, "You don't have access to this sandbox template (%s)", one.id)
		return nil
	}
	return b
}

var levels = []string{"debug", "info", "warn", "error"}

func levelOf(name string) int {
	for i, level := range levels {
		if level == name {
			return i
		}
	}
	return -1
}

// page gives the log lines written by now at a level or above, from an offset, up to a limit of 100.
func (s *Server) page(c *call, b *build, offset string) ([]logLine, bool) {
	query := c.r.URL.Query()
	from, limit, least := 0, 100, 0
	for name, into := range map[string]*int{offset: &from, "limit": &limit} {
		if text := query.Get(name); text != "" && name != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || name == "limit" && n > 100 {
				c.fail(http.StatusBadRequest, "validation error: error in openapi3filter.RequestError: parameter %q in query has an error: number must be at most 100", name)
				return nil, false
			}
			*into = n
		}
	}
	if text := query.Get("level"); text != "" {
		if least = levelOf(text); least < 0 {
			c.fail(http.StatusBadRequest, "validation error: error in openapi3filter.RequestError: parameter \"level\" in query has an error: value is not one of the allowed values")
			return nil, false
		}
	}
	now, lines := s.options.Now(), []logLine{}
	for _, line := range b.lines {
		if !line.at.After(now) && levelOf(line.level) >= least {
			lines = append(lines, line)
		}
	}
	from = min(from, len(lines))
	return lines[from:min(from+limit, len(lines))], true
}

func (s *Server) getStatus(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.reading(c)
	if b == nil {
		return
	}
	status := s.statusOf(b)
	lines, ok := s.page(c, b, "logsOffset")
	if !ok {
		return
	}
	entries, warned := []any{}, []any{}
	for _, line := range lines {
		entries = append(entries, line.json())
		if line.step == b.reason.step && levelOf(line.level) >= levelOf("warn") {
			warned = append(warned, line.json())
		}
	}
	info := map[string]any{"templateID": b.template.id, "buildID": b.id, "status": status, "logs": []any{}, "logEntries": entries}
	if status == failed && b.reason.message != "" {
		reason := map[string]any{"message": b.reason.message, "logEntries": warned}
		if b.reason.step != "" {
			reason["step"] = b.reason.step
		}
		info["reason"] = reason
	}
	c.json(http.StatusOK, info)
}

func (s *Server) getLogs(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.reading(c)
	if b == nil {
		return
	}
	lines, ok := s.page(c, b, "")
	if !ok {
		return
	}
	after, _ := strconv.ParseInt(c.r.URL.Query().Get("cursor"), 10, 64)
	entries := []any{}
	for _, line := range lines {
		if line.at.UnixMilli() > after {
			entries = append(entries, line.json())
		}
	}
	c.json(http.StatusOK, map[string]any{"logs": entries})
}

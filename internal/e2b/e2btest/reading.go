package e2btest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const zeroUUID = "00000000-0000-0000-0000-000000000000"

func (s *Server) listed(one *template) map[string]any {
	listed := map[string]any{"templateID": one.id, "buildID": zeroUUID, "cpuCount": 0, "memoryMB": 0, "diskSizeMB": 0, "public": one.public,
		"aliases": []string{one.alias}, "names": []string{one.name()}, "createdAt": stamp(one.created), "updatedAt": stamp(one.updated), "createdBy": nil,
		"lastSpawnedAt": one.spawnedAt(), "spawnCount": one.spawned, "buildCount": one.requests, "envdVersion": "", "buildStatus": waiting}
	if b := s.launched(one, "default"); b != nil {
		listed["buildID"], listed["cpuCount"], listed["memoryMB"], listed["diskSizeMB"], listed["envdVersion"] = b.id, b.cpu, b.memory, diskSize, envdVersion
	}
	for _, row := range one.tags {
		if row.tag == "default" {
			listed["buildStatus"] = s.statusOf(row.build)
		}
	}
	return listed
}

func (t *template) spawnedAt() any {
	if t.lastUsed.IsZero() {
		return nil
	}
	return stamp(t.lastUsed)
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000Z") }

// own are the team's templates, the newest first.
func (s *Server) own(t *team) []*template {
	var own []*template
	for _, one := range slices.Backward(s.templates) {
		if one.team == t && !one.deleted {
			own = append(own, one)
		}
	}
	return own
}

func (s *Server) listTemplates(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []any{}
	for _, one := range s.own(c.team) {
		all = append(all, s.listed(one))
	}
	c.json(http.StatusOK, all)
}

func (s *Server) pageTemplates(c *call) {
	if id := c.r.URL.Query().Get("teamID"); id != "" {
		c.fail(http.StatusBadRequest, "Team ID param mismatch with the API key")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []any
	for _, one := range s.own(c.team) {
		all = append(all, s.listed(one))
	}
	if page, ok := paged(c, all); ok {
		c.json(http.StatusOK, page)
	}
}

// paged cuts a page out of a list and names the next in X-Next-Token.
func paged(c *call, all []any) ([]any, bool) {
	query := c.r.URL.Query()
	limit, from := 100, 0
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			c.fail(http.StatusBadRequest, "validation error: error in openapi3filter.RequestError: parameter \"limit\" in query has an error: number must be at most 100")
			return nil, false
		}
		limit = n
	}
	if token := query.Get("nextToken"); token != "" {
		text, spoiled := base64.URLEncoding.DecodeString(token)
		n, ours := strings.CutPrefix(string(text), "from__")
		var err error
		if from, err = strconv.Atoi(n); spoiled != nil || err != nil || !ours || from < 0 {
			c.fail(http.StatusBadRequest, "Invalid next token")
			return nil, false
		}
	}
	from = min(from, len(all))
	end := min(from+limit, len(all))
	if end < len(all) {
		c.w.Header().Set("X-Next-Token", base64.URLEncoding.EncodeToString(fmt.Appendf(nil, "from__%d", end)))
	}
	return append([]any{}, all[from:end]...), true
}

func (s *Server) getTemplate(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byID(c.path["templateID"])
	if one == nil {
		c.fail(http.StatusNotFound, "Template %s not found", c.path["templateID"])
		return
	}
	if one.team != c.team {
		c.fail(http.StatusForbidden, "You don't have access to this sandbox template (%s)", one.id)
		return
	}
	var all []any
	for _, b := range slices.Backward(one.builds) {
		if one.has(b) {
			all = append(all, s.listedBuild(b))
		}
	}
	page, ok := paged(c, all)
	if !ok {
		return
	}
	c.json(http.StatusOK, map[string]any{"templateID": one.id, "public": one.public, "aliases": []string{one.alias}, "names": []string{one.name()},
		"createdAt": stamp(one.created), "updatedAt": stamp(one.updated), "lastSpawnedAt": one.spawnedAt(), "spawnCount": one.spawned, "builds": page})
}

func (s *Server) getAlias(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := parseRef(c.path["alias"])
	if err != nil {
		c.fail(http.StatusBadRequest, "Invalid alias: %s", err)
		return
	}
	if c.foreign(r) {
		return
	}
	one := s.named(c.team, r)
	shown := r.alias
	if r.namespace != "" {
		shown = r.namespace + "/" + r.alias
	} else if one == nil {
		shown = c.team.Slug + "/" + r.alias
	}
	switch {
	case one == nil:
		c.fail(http.StatusNotFound, "template '%s' not found", shown)
	case one.team != c.team && !one.public:
		c.fail(http.StatusForbidden, "You don't have access to this template alias")
	case r.tag != "" && s.launched(one, r.tag) == nil:
		c.fail(http.StatusNotFound, "tag '%s' does not exist for template '%s'", r.tag, shown)
	default:
		c.json(http.StatusOK, map[string]any{"templateID": one.id, "public": one.public})
	}
}

// ownRef finds one of the team's own templates by id or name, and answers if there is none.
func (s *Server) ownRef(c *call, text, invalid string) *template {
	r, err := parseRef(text)
	if err != nil {
		c.fail(http.StatusBadRequest, "%s: %s", invalid, err)
		return nil
	}
	one := s.named(c.team, r)
	switch {
	case one == nil:
		c.fail(http.StatusNotFound, "template '%s' not found", text)
		return nil
	case one.team != c.team:
		c.fail(http.StatusForbidden, "You don't have access to template '%s'", text)
		return nil
	}
	return one
}

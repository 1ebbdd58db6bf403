package e2btest

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

type template struct {
	id       string
	team     *team
	alias    string
	public   bool
	promoted bool
	deleted  bool
	created  time.Time
	updated  time.Time
	builds   []*build
	tags     []tagRow
	requests int
	spawned  int
	lastUsed time.Time
}

// tagRow is one assignment of a tag. Older ones stay, so a build that lost a tag can still be launched by its id.
type tagRow struct {
	tag   string
	build *build
	at    time.Time
}

// has tells whether a build has any assignment left, without which E2B neither lists nor launches it.
func (t *template) has(b *build) bool {
	return slices.ContainsFunc(t.tags, func(row tagRow) bool { return row.build == b })
}

func (t *template) name() string {
	if t.promoted {
		return t.alias
	}
	return t.team.Slug + "/" + t.alias
}

// addPromoted makes templates that every team may launch by their bare name, as E2B's own are.
func (s *Server) addPromoted(names ...string) {
	owner, now := newTeam(Team{Slug: "e2b"}), s.options.Now()
	for _, name := range names {
		one := &template{id: s.newID(), team: owner, alias: name, public: true, promoted: true, created: now, updated: now}
		b := &build{id: s.newUUID(), template: one, cpu: 2, memory: 512, requested: now, started: now, finished: now, state: ready}
		one.builds, one.tags = []*build{b}, []tagRow{{"default", b, now}}
		s.templates = append(s.templates, one)
	}
}

const schemaOf = "validation error: error in openapi3filter.RequestError: request body has an error: doesn't match schema #/components/schemas/%s: Error at \"/%s\": %s"

func (s *Server) createBuild(c *call) {
	var body struct {
		Name, Alias *string
		Tags        []string
		CPUCount    *int
		MemoryMB    *int
	}
	if !c.read(&body) {
		return
	}
	const schema = "TemplateBuildRequestV3"
	cpu, memory := 2, 1024
	if body.CPUCount != nil {
		if cpu = *body.CPUCount; cpu < 1 {
			c.fail(http.StatusBadRequest, schemaOf, schema, "cpuCount", "number must be at least 1")
			return
		}
	}
	if body.MemoryMB != nil {
		if memory = *body.MemoryMB; memory < 128 {
			c.fail(http.StatusBadRequest, schemaOf, schema, "memoryMB", "number must be at least 128")
			return
		}
	}
	name := body.Name
	if name == nil {
		name = body.Alias
	}
	if name == nil || *name == "" {
		c.fail(http.StatusBadRequest, "Name is required")
		return
	}
	if len(*name) > 128 {
		c.fail(http.StatusBadRequest, schemaOf, schema, "name", "maximum string length is 128")
		return
	}
	r, err := parseRef(*name)
	if err != nil {
		c.fail(http.StatusBadRequest, "Invalid name: %s", err)
		return
	}
	if c.foreign(r) {
		return
	}
	if r.tag != "" && r.tag != "default" {
		body.Tags = append([]string{r.tag}, body.Tags...)
	}
	tags, err := checkTags(body.Tags)
	if err != nil {
		c.fail(http.StatusBadRequest, "Invalid tag: %s", err)
		return
	}
	if len(tags) == 0 {
		tags = []string{"default"}
	}
	if message := refusedSize(c.team, cpu, memory); message != "" {
		c.fail(http.StatusBadRequest, "%s", message)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.ofTeam(c.team, r.alias)
	if others := s.answers.meanwhile; others != nil {
		s.answers.meanwhile = nil
		s.mu.Unlock()
		others()
		s.mu.Lock()
	}
	s.register(c, one, r.alias, tags, cpu, memory)
}

// ofTeam is the team's own template of a name; nil if there is none.
func (s *Server) ofTeam(t *team, alias string) *template {
	for _, one := range s.templates {
		if one.team == t && one.alias == alias && !one.deleted {
			return one
		}
	}
	return nil
}

// register makes the build, in the template that the team had of that name when the request came, or in one that is made.
func (s *Server) register(c *call, one *template, alias string, tags []string, cpu, memory int) {
	switch {
	case s.everID(alias):
		c.fail(http.StatusConflict, "Alias '%s' is already used", alias)
		return
	case one == nil && s.ofTeam(c.team, alias) != nil:
		c.fail(http.StatusForbidden, "Alias '%s' already used", alias)
		return
	case one != nil && one.deleted:
		c.fail(http.StatusNotFound, "Template '%s' has been deleted and cannot be rebuilt", one.id)
		return
	}
	if s.busy(c.team, one, tags) >= c.team.MaxBuilds {
		c.fail(http.StatusTooManyRequests, "you have reached the maximum number of concurrent template builds (%d). Please wait for existing builds to complete or contact support if you need more concurrent builds.", c.team.MaxBuilds)
		return
	}
	now := s.options.Now()
	if one == nil {
		one = &template{id: s.newID(), team: c.team, alias: alias, created: now}
		s.templates = append(s.templates, one)
	}
	one.updated = now
	one.requests++
	for _, older := range one.builds {
		if s.statusOf(older) == waiting && overlap(older.asked, tags) {
			s.end(older, superseded)
		}
	}
	b := &build{id: s.newUUID(), template: one, asked: tags, cpu: cpu, memory: memory, requested: now, state: waiting}
	one.builds = append(one.builds, b)
	for _, tag := range tags {
		one.tags = append(one.tags, tagRow{tag, b, now})
	}
	c.json(http.StatusAccepted, map[string]any{"templateID": one.id, "buildID": b.id, "public": one.public, "aliases": []string{alias},
		"names": []string{one.name()}, "tags": tags})
}

func refusedSize(t *team, cpu, memory int) string {
	switch {
	case cpu > 32:
		return "CPU count must be at most 32"
	case cpu != 1 && cpu%2 != 0:
		return "CPU count must be 1 or an even number"
	case cpu > t.MaxCPU:
		return fmt.Sprintf("CPU count can't be higher than %d (if you need to increase this limit, please contact support)", t.MaxCPU)
	case memory%2 != 0:
		return "Memory must be divisible by 2"
	case memory > t.MaxMemoryMB:
		return fmt.Sprintf("Memory can't be higher than %d MiB (if you need to increase this limit, please contact support)", t.MaxMemoryMB)
	}
	return ""
}

// everID tells whether a template has, or had, the id. None is used again.
func (s *Server) everID(id string) bool {
	return slices.ContainsFunc(s.templates, func(one *template) bool { return one.id == id })
}

// busy counts the team's builds that are not done, without those that the new one would supersede.
func (s *Server) busy(t *team, same *template, tags []string) int {
	count := 0
	for _, one := range s.templates {
		if one.team != t || one.deleted {
			continue
		}
		for _, b := range one.builds {
			status := s.statusOf(b)
			if (status == waiting || status == building) && (one != same || !overlap(b.asked, tags)) {
				count++
			}
		}
	}
	return count
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(one string) bool { return slices.Contains(b, one) })
}

func (s *Server) patchTemplate(c *call) {
	var body struct{ Public *bool }
	if !c.read(&body) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.ownRef(c, c.path["templateID"], "Invalid template ID")
	if one == nil {
		return
	}
	if body.Public != nil {
		one.public, one.updated = *body.Public, s.options.Now()
	}
	c.json(http.StatusOK, map[string]any{"names": []string{one.name()}})
}

func (s *Server) deleteTemplate(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.ownRef(c, c.path["templateID"], "Invalid template ID")
	if one == nil {
		return
	}
	for _, state := range []string{running, paused} {
		for _, sandbox := range s.living() {
			if sandbox.build.template == one && sandbox.state == state {
				c.fail(http.StatusBadRequest, "cannot delete template '%s' because there are %s sandboxes using it", one.id, state)
				return
			}
		}
	}
	one.deleted = true
	c.bytes(http.StatusNoContent, nil)
}

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
	if r.namespace != "" && r.namespace != c.team.Slug {
		c.fail(http.StatusBadRequest, "namespace '%s' must match your team '%s'", r.namespace, c.team.Slug)
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
	s.register(c, r.alias, tags, cpu, memory)
}

// register makes the build, in a template that is made if the team has none of that name.
func (s *Server) register(c *call, alias string, tags []string, cpu, memory int) {
	if s.everID(alias) {
		c.fail(http.StatusConflict, "Alias '%s' is already used", alias)
		return
	}
	var one *template
	for _, known := range s.templates {
		if known.team == c.team && known.alias == alias && !known.deleted {
			one = known
		}
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
			s.end(older, failed, "", superseded)
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
		text, err := base64.URLEncoding.DecodeString(token)
		n, numeric := strings.CutPrefix(string(text), "from__")
		if from, err = strconv.Atoi(n); err != nil || !numeric {
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

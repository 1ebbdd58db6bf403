package e2btest

import (
	"net/http"
	"slices"
	"sort"
	"strings"
)

func (s *Server) assignTags(c *call) {
	var body struct {
		Target string
		Tags   []string
	}
	if !c.read(&body) {
		return
	}
	if len(body.Tags) == 0 {
		c.fail(http.StatusBadRequest, "At least one tag is required")
		return
	}
	tags, err := checkTags(body.Tags)
	if err != nil {
		c.fail(http.StatusBadRequest, "Invalid tag: %s", err)
		return
	}
	r, err := parseRef(body.Target)
	if err != nil {
		c.fail(http.StatusBadRequest, "Invalid target: %s", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tag := r.tag
	if tag == "" {
		tag = "default"
	}
	one := s.named(c.team, r)
	var target *build
	if one != nil && one.team == c.team {
		target = s.launched(one, tag)
	}
	if target == nil {
		c.fail(http.StatusNotFound, "Template '%s' with tag '%s' not found", body.Target, tag)
		return
	}
	now := s.options.Now()
	for _, tag := range tags {
		one.tags = append(one.tags, tagRow{tag, target, now})
	}
	c.json(http.StatusCreated, map[string]any{"tags": tags, "buildID": target.id})
}

func (s *Server) removeTags(c *call) {
	var body struct {
		Name string
		Tags []string
	}
	if !c.read(&body) {
		return
	}
	r, err := parseRef(body.Name)
	if err != nil {
		c.fail(http.StatusBadRequest, "Invalid name: %s", err)
		return
	}
	if r.tag != "" {
		c.fail(http.StatusBadRequest, "Template name should not contain a tag, use the 'tags' field instead")
		return
	}
	tags, err := checkTags(body.Tags)
	if err != nil {
		c.fail(http.StatusBadRequest, "Invalid tag: %s", err)
		return
	}
	if slices.Contains(tags, "default") {
		c.fail(http.StatusBadRequest, "Cannot delete the 'default' tag")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.ownRef(c, body.Name, "Invalid name")
	if one == nil {
		return
	}
	one.tags = slices.DeleteFunc(one.tags, func(row tagRow) bool { return slices.Contains(tags, row.tag) })
	c.bytes(http.StatusNoContent, nil)
}

func (s *Server) listTags(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.ownRef(c, c.path["templateID"], "Invalid template ID")
	if one == nil {
		return
	}
	latest := map[string]tagRow{}
	for _, row := range one.tags {
		latest[row.tag] = row
	}
	listed := []any{}
	names := make([]string, 0, len(latest))
	for name := range latest {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		listed = append(listed, map[string]any{"tag": name, "buildID": latest[name].build.id, "createdAt": stamp(latest[name].at)})
	}
	c.json(http.StatusOK, listed)
}

// Assignment is where a tag of a template points to.
type Assignment struct{ Tag, BuildID string }

// Tags gives the tags of a template, each with the build that was last given it, sorted by tag.
func (s *Server) Tags(name string) []Assignment {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := map[string]string{}
	for _, one := range s.templates {
		if one.name() == name || one.alias == name && !one.promoted {
			for _, row := range one.tags {
				latest[row.tag] = row.build.id
			}
		}
	}
	var all []Assignment
	for tag, id := range latest {
		all = append(all, Assignment{tag, id})
	}
	slices.SortFunc(all, func(a, b Assignment) int { return strings.Compare(a.Tag, b.Tag) })
	return all
}

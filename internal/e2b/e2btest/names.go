package e2btest

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

var (
	aliasRule = lazyregexp.New(`^[a-z0-9-_]+$`)
	tagRule   = lazyregexp.New(`^[a-z0-9-_.]+$`)
	uuidRule  = lazyregexp.New(`^([0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$`)
)

// ref is "[namespace/]alias[:tag]", trimmed and lower-cased. A tag that is a UUID is a build id.
type ref struct{ namespace, alias, tag string }

func parseRef(text string) (ref, error) {
	var r ref
	rest := strings.ToLower(strings.TrimSpace(text))
	if before, tag, found := strings.Cut(rest, ":"); found {
		r.tag, rest = strings.TrimSpace(tag), before
		if !tagRule.MatchString(r.tag) {
			return r, fmt.Errorf("invalid tag: %s", r.tag)
		}
	}
	if namespace, alias, found := strings.Cut(rest, "/"); found {
		r.namespace, rest = strings.TrimSpace(namespace), alias
		if !aliasRule.MatchString(r.namespace) {
			return r, fmt.Errorf("invalid namespace: %s", r.namespace)
		}
	}
	r.alias = strings.TrimSpace(rest)
	if !aliasRule.MatchString(r.alias) {
		return r, fmt.Errorf("invalid template ID: %s", r.alias)
	}
	return r, nil
}

// foreign answers a name in another team's namespace, where only the team's own may be named.
func (c *call) foreign(r ref) bool {
	if r.namespace == "" || r.namespace == c.team.Slug {
		return false
	}
	c.fail(http.StatusBadRequest, "namespace '%s' must match your team '%s'", r.namespace, c.team.Slug)
	return true
}

// checkTags trims, lower-cases and de-duplicates tags.
func checkTags(tags []string) ([]string, error) {
	var kept []string
	seen := map[string]bool{}
	for _, given := range tags {
		tag := strings.ToLower(strings.TrimSpace(given))
		switch {
		case !tagRule.MatchString(tag):
			return nil, fmt.Errorf("invalid tag '%s': invalid tag: %s", given, tag)
		case uuidRule.MatchString(tag):
			return nil, fmt.Errorf("invalid tag '%s': tag cannot be a UUID", given)
		case !seen[tag]:
			seen[tag] = true
			kept = append(kept, tag)
		}
	}
	return kept, nil
}

// named finds a template by name or id, deleted ones aside: the namespace's name, else the team's own, else a promoted
// one, else the id.
func (s *Server) named(t *team, r ref) *template {
	for _, one := range s.templates {
		if one.deleted || one.alias != r.alias {
			continue
		}
		if r.namespace != "" && one.team.Slug == r.namespace || r.namespace == "" && one.team == t {
			return one
		}
	}
	if r.namespace != "" {
		return nil
	}
	for _, one := range s.templates {
		if !one.deleted && one.promoted && one.alias == r.alias {
			return one
		}
	}
	return s.byID(r.alias)
}

func (s *Server) byID(id string) *template {
	for _, one := range s.templates {
		if one.id == id && !one.deleted {
			return one
		}
	}
	return nil
}

// usable finds what a reference launches, or says in E2B's words, and with its status, why nothing.
func (s *Server) usable(t *team, text string) (*template, *build, int, string) {
	r, err := parseRef(text)
	if err != nil {
		return nil, nil, 400, err.Error()
	}
	one := s.named(t, r)
	shown := r.alias
	if r.namespace != "" {
		shown = r.namespace + "/" + r.alias
	} else if one == nil {
		shown = t.Slug + "/" + r.alias
	}
	switch {
	case one == nil, r.namespace != "" && one.team != t && !one.public:
		return nil, nil, 404, fmt.Sprintf("template '%s' not found", shown)
	case one.team != t && !one.public:
		return nil, nil, 403, fmt.Sprintf("you don't have access to template '%s'", shown)
	}
	tag := r.tag
	if tag == "" {
		tag = "default"
	}
	found := s.launched(one, tag)
	if found == nil {
		return one, nil, 404, fmt.Sprintf("tag '%s' does not exist for template '%s'", tag, shown)
	}
	return one, found, 0, ""
}

// launched is the newest assignment whose tag, or whose build's id, is the one given and whose build is ready.
func (s *Server) launched(one *template, tag string) *build {
	for i := len(one.tags) - 1; i >= 0; i-- {
		row := one.tags[i]
		if (row.tag == tag || row.build.id == tag) && s.statusOf(row.build) == ready {
			return row.build
		}
	}
	return nil
}

package e2btest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// call is one request on its way to its answer.
type call struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	body   []byte
	path   map[string]string
	team   *team
	note   func(status int, answer []byte)
}

type route struct {
	method, pattern string
	serve           func(*call)
	segments        []string
}

// find gives the route of a request. Patterns are matched segment by segment in their order, and a segment may hold an
// escaped slash.
func (s *Server) find(r *http.Request) (route, *call) {
	c := &call{path: map[string]string{}}
	routes := s.routes
	if id, port, ok := sandboxTarget(r); ok {
		c.path["sandbox"], c.path["port"] = id, port
		if routes = inside(port); routes == nil {
			routes = []route{{method: r.Method, serve: entered(open, closedPort), segments: strings.Split(r.URL.EscapedPath(), "/"), pattern: "(port " + port + ")"}}
		}
	}
	known := false
	for _, one := range routes {
		values, ok := one.matches(r.URL.EscapedPath())
		if !ok {
			continue
		}
		known = true
		if one.method == r.Method {
			for name, value := range values {
				c.path[name] = value
			}
			return one, c
		}
	}
	message := "validation error: no matching operation was found"
	if known {
		message = "validation error: method not allowed"
	}
	return route{method: r.Method, pattern: "(none) " + r.URL.Path, serve: func(c *call) { c.fail(http.StatusNotFound, "%s", message) }}, c
}

func (one route) matches(path string) (map[string]string, bool) {
	segments := strings.Split(path, "/")
	if len(segments) != len(one.segments) {
		return nil, false
	}
	values := map[string]string{}
	for i, want := range one.segments {
		got, err := url.PathUnescape(segments[i])
		if err != nil {
			return nil, false
		}
		if name, ok := strings.CutPrefix(want, "{"); ok {
			if got == "" {
				return nil, false
			}
			values[strings.TrimSuffix(name, "}")] = got
		} else if got != want {
			return nil, false
		}
	}
	return values, true
}

func on(name string, serve func(*call)) route {
	method, pattern, _ := strings.Cut(name, " ")
	return route{method: method, pattern: pattern, serve: serve, segments: strings.Split(pattern, "/")}
}

// json answers with a JSON body.
func (c *call) json(status int, value any) {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	c.bytes(status, content)
}

// bytes answers with the body given; with none it says so, since clients take an empty chunked body for broken JSON.
func (c *call) bytes(status int, content []byte) {
	c.note(status, content)
	if status != http.StatusNoContent {
		c.w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	}
	c.w.WriteHeader(status)
	_, _ = c.w.Write(content)
}

// fail answers as E2B does when it refuses.
func (c *call) fail(status int, format string, arguments ...any) {
	c.json(status, map[string]any{"code": status, "message": fmt.Sprintf(format, arguments...)})
}

// read takes the body's JSON. Unknown members are ignored, as E2B does.
func (c *call) read(into any) bool {
	if len(c.body) > 16<<20 {
		c.fail(http.StatusRequestEntityTooLarge, "validation error: request body too large")
		return false
	}
	if err := json.Unmarshal(c.body, into); err != nil {
		c.fail(http.StatusBadRequest, "validation error: error in openapi3filter.RequestError: request body has an error: failed to decode request body: %s", err)
		return false
	}
	return true
}

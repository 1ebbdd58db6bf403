package e2btest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

func (s *Server) matching(c *call, states []string) ([]any, bool) {
	query := c.r.URL.Query()
	// The SDKs escape keys and values, then the pairs, and E2B takes that back in the same two steps.
	pairs, err := url.QueryUnescape(query.Get("metadata"))
	var wanted url.Values
	if err == nil {
		wanted, err = url.ParseQuery(pairs)
	}
	if err != nil {
		c.fail(http.StatusBadRequest, "Error parsing metadata: %s", err)
		return nil, false
	}
	all := []any{}
	for _, one := range slices.Backward(s.living()) {
		fits := one.team == c.team && slices.Contains(states, one.state)
		for name := range wanted {
			fits = fits && one.metadata[name] == wanted.Get(name)
		}
		if name := query.Get("template"); name != "" {
			fits = fits && (one.build.template.id == name || one.build.template.alias == name)
		}
		if fits {
			all = append(all, one.listed())
		}
	}
	if query.Get("order") == "asc" {
		slices.Reverse(all)
	}
	return all, true
}

func (s *Server) listSandboxes(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all, ok := s.matching(c, []string{running}); ok {
		c.json(http.StatusOK, all)
	}
}

func (s *Server) pageSandboxes(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := []string{running, paused}
	if given := c.r.URL.Query()["state"]; len(given) > 0 {
		states = strings.Split(strings.Join(given, ","), ",")
	}
	all, ok := s.matching(c, states)
	if !ok {
		return
	}
	count := 0
	for _, one := range s.living() {
		if one.team == c.team && one.state == running {
			count++
		}
	}
	c.w.Header().Set("X-Total-Running", fmt.Sprint(count))
	if page, ok := paged(c, all); ok {
		c.json(http.StatusOK, page)
	}
}

func (s *Server) getSandbox(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.sandbox(c)
	if one == nil {
		return
	}
	answer := one.listed()
	for name, value := range map[string]any{"domain": nil, "allowInternetAccess": one.internet, "network": map[string]any{"allowPublicTraffic": !one.closed},
		"lifecycle": map[string]any{"autoResume": false, "onTimeout": map[bool]string{true: "pause", false: "kill"}[one.autoStop]}} {
		answer[name] = value
	}
	if one.token != "" {
		answer["envdAccessToken"] = one.token
	}
	c.json(http.StatusOK, answer)
}

func (s *Server) killSandbox(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.sandbox(c); one != nil {
		s.stop(one)
		c.bytes(http.StatusNoContent, nil)
	}
}

func (s *Server) stop(one *sandbox) {
	one.state = ended
	for _, process := range one.processes {
		process.signal()
	}
}

func (s *Server) setTimeout(c *call) {
	var body struct{ Timeout *int }
	if !c.read(&body) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if body.Timeout == nil || *body.Timeout <= 0 {
		c.fail(http.StatusBadRequest, "Timeout must be greater than 0")
		return
	}
	if one := s.sandbox(c); one != nil {
		one.ends = s.options.Now().Add(time.Duration(*body.Timeout) * time.Second)
		c.bytes(http.StatusNoContent, nil)
	}
}

func (s *Server) refresh(c *call) {
	var body struct{ Duration int }
	if !c.read(&body) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.sandbox(c); one != nil {
		one.extend(s.options.Now(), body.Duration)
		c.bytes(http.StatusNoContent, nil)
	}
}

// extend gives a sandbox more time, never less.
func (b *sandbox) extend(now time.Time, seconds int) {
	if ends := now.Add(time.Duration(seconds) * time.Second); ends.After(b.ends) {
		b.ends = ends
	}
}

func (s *Server) pauseSandbox(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.sandbox(c)
	switch {
	case one == nil:
	case one.state == paused:
		c.fail(http.StatusConflict, "Sandbox '%s' is already paused", one.id)
	default:
		one.state = paused
		c.bytes(http.StatusNoContent, nil)
	}
}

func (s *Server) connectSandbox(c *call) {
	body := struct{ Timeout int }{300}
	if len(c.body) > 0 && !c.read(&body) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.sandbox(c)
	if one == nil {
		return
	}
	status := http.StatusOK
	if one.state == paused {
		status, one.state, one.ends = http.StatusCreated, running, s.options.Now()
	}
	one.extend(s.options.Now(), body.Timeout)
	c.json(status, one.created())
}

func (s *Server) sandboxMetrics(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sandbox(c) != nil {
		c.json(http.StatusOK, []any{})
	}
}

func (s *Server) sandboxLogs(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sandbox(c) != nil {
		c.json(http.StatusOK, map[string]any{"logs": []any{}, "logEntries": []any{}})
	}
}

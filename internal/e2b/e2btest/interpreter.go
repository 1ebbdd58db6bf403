package e2btest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

type codeContext struct {
	id, language, dir string
	isDefault         bool
	count             int
}

func (k *codeContext) json() map[string]any {
	return map[string]any{"id": k.id, "language": k.language, "cwd": k.dir}
}

func (c *call) text(status int, text string) {
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.bytes(status, []byte(text))
}

// contextOf finds a context by id, or the default one of a language; it answers if there is none.
func (c *call) contextOf(box *sandbox, id, language string) *codeContext {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	for _, one := range box.contexts {
		if id != "" && one.id == id || id == "" && one.isDefault && one.language == language {
			return one
		}
	}
	if id != "" {
		c.text(http.StatusNotFound, "Context "+id+" not found")
		return nil
	}
	made := &codeContext{id: c.server.newUUID(), language: language, dir: box.build.dir(), isDefault: true}
	box.contexts = append(box.contexts, made)
	return made
}

// execute answers with events, JSON one a line, to the end of the answer.
func execute(c *call, box *sandbox) {
	var body struct {
		Code      string            `json:"code"`
		ContextID string            `json:"context_id"`
		Language  string            `json:"language"`
		EnvVars   map[string]string `json:"env_vars"`
	}
	if err := json.Unmarshal(c.body, &body); err != nil {
		c.json(http.StatusUnprocessableEntity, map[string]any{"detail": []any{map[string]any{"type": "json_invalid", "loc": []any{"body", 0}, "msg": "JSON decode error"}}})
		return
	}
	if body.ContextID != "" && body.Language != "" {
		c.text(http.StatusBadRequest, "Only one of context_id or language can be provided")
		return
	}
	if body.Language == "" {
		body.Language = "python"
	}
	kernel := c.contextOf(box, body.ContextID, body.Language)
	if kernel == nil {
		return
	}
	// The server reads the sandbox's environment from envd, for which it needs the token that came with the request.
	env := map[string]string{}
	if box.token == "" || c.r.Header.Get("X-Access-Token") == box.token {
		maps.Copy(env, box.env)
	}
	maps.Copy(env, body.EnvVars)
	c.server.mu.Lock()
	kernel.count++
	count := kernel.count
	c.server.mu.Unlock()
	events := append([]Event{{"type": "number_of_executions", "execution_count": count}},
		c.server.codeAnswer(Code{Sandbox: box.id, Context: kernel.id, Language: kernel.language, Dir: kernel.dir, Code: body.Code, Env: env})...)
	c.note(http.StatusOK, nil)
	c.w.Header().Set("Content-Type", "application/x-ndjson")
	c.w.WriteHeader(http.StatusOK)
	for _, event := range events {
		if kind := event["type"]; (kind == "stdout" || kind == "stderr") && event["timestamp"] == nil {
			event = maps.Clone(event)
			event["timestamp"] = c.server.options.Now().UTC().Format(time.RFC3339Nano)
		}
		line, err := json.Marshal(event)
		if err != nil {
			panic(err)
		}
		_, _ = c.w.Write(append(line, '\n'))
		_ = http.NewResponseController(c.w).Flush()
	}
}

func listContexts(c *call, box *sandbox) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	listed := []any{}
	for _, one := range box.contexts {
		listed = append(listed, one.json())
	}
	c.json(http.StatusOK, listed)
}

func createContext(c *call, box *sandbox) {
	var body struct{ Cwd, Language string }
	if len(c.body) > 0 && !c.read(&body) {
		return
	}
	made := &codeContext{language: body.Language, dir: body.Cwd}
	if made.language == "" {
		made.language = "python"
	}
	if made.dir == "" {
		made.dir = "/home/user"
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	made.id = c.server.newUUID()
	box.contexts = append(box.contexts, made)
	c.json(http.StatusOK, made.json())
}

func restartContext(c *call, box *sandbox) {
	if one := c.contextOf(box, c.path["id"], ""); one != nil {
		c.server.mu.Lock()
		one.count, one.dir = 0, box.build.dir()
		c.server.mu.Unlock()
		c.bytes(http.StatusOK, []byte("null"))
	}
}

func deleteContext(c *call, box *sandbox) {
	if one := c.contextOf(box, c.path["id"], ""); one != nil {
		c.server.mu.Lock()
		box.contexts = slices.DeleteFunc(box.contexts, func(other *codeContext) bool { return other == one })
		c.server.mu.Unlock()
		c.bytes(http.StatusOK, []byte("null"))
	}
}

var (
	printed = lazyregexp.New(`^print\(["'](.*)["']\)$`)
	sum     = lazyregexp.New(`^(\d+) ?\+ ?(\d+)$`)
	raised  = lazyregexp.New(`^raise (\w+)\(["'](.*)["']\)$`)
)

// simple understands a line of code at a time: print of a text, a sum, and an error raised.
func simple(code string) []Event {
	var events []Event
	for _, line := range strings.Split(strings.TrimSpace(code), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case printed.MatchString(line):
			events = append(events, Event{"type": "stdout", "text": printed.FindStringSubmatch(line)[1] + "\n"})
		case sum.MatchString(line):
			found := sum.FindStringSubmatch(line)
			events = append(events, Event{"type": "result", "text": strconv.FormatInt(number(found[1])+number(found[2]), 10), "is_main_result": true, "extra": map[string]any{}})
		case raised.MatchString(line):
			found := raised.FindStringSubmatch(line)
			return append(events, Event{"type": "error", "name": found[1], "value": found[2],
				"traceback": "Traceback (most recent call last)\n" + found[1] + ": " + found[2]})
		}
	}
	return events
}

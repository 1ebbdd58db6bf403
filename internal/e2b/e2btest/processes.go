package e2btest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

type process struct {
	pid     int
	command Command
	config  json.RawMessage
	tag     string
	once    sync.Once
	ended   chan struct{}
}

func (p *process) signal() { p.once.Do(func() { close(p.ended) }) }

// connectStatus is the HTTP status of a Connect error of a call that is no stream.
var connectStatus = map[string]int{"not_found": 404, "invalid_argument": 400, "unauthenticated": 401, "already_exists": 409, "unimplemented": 501}

// refuse answers a call with a Connect error: a status if it is no stream, else the last frame of one.
func (c *call) refuse(code, message string) {
	body := map[string]string{"code": code, "message": message}
	if strings.HasPrefix(c.r.Header.Get("Content-Type"), "application/connect+") {
		c.stream()
		c.frame(2, map[string]any{"error": body})
		return
	}
	c.w.Header().Set("Content-Type", "application/json")
	content, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	c.bytes(connectStatus[code], content)
}

// stream begins an answer of frames.
func (c *call) stream() {
	c.note(http.StatusOK, nil)
	c.w.Header().Set("Content-Type", "application/connect+json")
	c.w.WriteHeader(http.StatusOK)
}

// frame sends one message: a byte of flags, four of length, JSON.
func (c *call) frame(flags byte, message any) {
	content, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	head := append([]byte{flags}, binary.BigEndian.AppendUint32(nil, uint32(len(content)))...) //nolint:gosec // messages are small
	_, _ = c.w.Write(append(head, content...))
	_ = http.NewResponseController(c.w).Flush()
}

// message reads the one message of a streaming request, or the body of another.
func (c *call) message(into any) bool {
	content := c.body
	if strings.HasPrefix(c.r.Header.Get("Content-Type"), "application/connect+") {
		if len(content) < 5 || content[0] != 0 || int(binary.BigEndian.Uint32(content[1:5])) != len(content)-5 {
			c.refuse("invalid_argument", "protocol error: incomplete envelope")
			return false
		}
		content = content[5:]
	}
	if c.r.Header.Get("Connect-Protocol-Version") != "1" {
		c.refuse("invalid_argument", `missing required header: set Connect-Protocol-Version to "1"`)
		return false
	}
	if err := json.Unmarshal(content, into); err != nil {
		c.refuse("invalid_argument", "unmarshal message: "+err.Error())
		return false
	}
	return true
}

// user is who a request acts as; the template's if it does not say.
func (c *call) user(box *sandbox) (string, bool) {
	name, _, given := c.r.BasicAuth()
	if !given || name == "" {
		if box.build.user == "" {
			return "user", true
		}
		return box.build.user, true
	}
	if name != "root" && name != "user" && name != box.build.user {
		c.refuse("unauthenticated", "invalid username: '"+name+"'")
		return "", false
	}
	return name, true
}

func startProcess(c *call, box *sandbox) {
	var body struct {
		Process struct {
			Cmd  string
			Args []string
			Envs map[string]string
			Cwd  *string
		}
		Tag string
	}
	if !c.message(&body) {
		return
	}
	user, ok := c.user(box)
	if !ok {
		return
	}
	s := c.server
	dir := box.build.dir()
	if body.Process.Cwd != nil && *body.Process.Cwd != "" {
		dir = *body.Process.Cwd
		s.mu.Lock()
		found := box.files[dir]
		s.mu.Unlock()
		if found == nil || !found.dir {
			c.refuse("invalid_argument", "cwd '"+dir+"' does not exist")
			return
		}
	}
	env := maps.Clone(orEmpty(box.env))
	env["HOME"], env["USER"], env["LOGNAME"], env["PATH"] = homeDir(user), user, user, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	maps.Copy(env, body.Process.Envs)
	config, err := json.Marshal(map[string]any{"cmd": body.Process.Cmd, "args": body.Process.Args, "envs": orEmpty(body.Process.Envs), "cwd": dir})
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	box.pids++
	p := &process{pid: 1000 + box.pids, tag: body.Tag, config: config, ended: make(chan struct{}),
		command: Command{Sandbox: box.id, User: user, Program: body.Process.Cmd, Args: body.Process.Args, Env: env, Dir: dir}}
	box.processes[p.pid] = p
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(box.processes, p.pid)
		s.mu.Unlock()
	}()
	c.stream()
	event := func(event map[string]any) { c.frame(0, map[string]any{"event": event}) }
	event(map[string]any{"start": map[string]any{"pid": p.pid}})
	answer := s.commandAnswer(p.command)
	for stream, text := range map[string]string{"stdout": answer.Stdout, "stderr": answer.Stderr} {
		if text != "" {
			event(map[string]any{"data": map[string]any{stream: base64.StdEncoding.EncodeToString([]byte(text))}})
		}
	}
	if answer.Hangs && !c.hang(p, event) {
		return
	}
	end := map[string]any{"exited": true, "status": fmt.Sprintf("exit status %d", answer.Exit)}
	if answer.Exit != 0 {
		end["exitCode"], end["error"] = answer.Exit, fmt.Sprintf("exit status %d", answer.Exit)
	}
	event(map[string]any{"end": end})
	c.frame(2, map[string]any{})
}

// hang keeps a process until it is signalled, its time is over or its client goes; it says how that ended.
func (c *call) hang(p *process, event func(map[string]any)) bool {
	var late <-chan time.Time
	if ms, err := strconv.Atoi(c.r.Header.Get("Connect-Timeout-Ms")); err == nil && ms > 0 {
		timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-p.ended:
		event(map[string]any{"end": map[string]any{"exitCode": -1, "exited": false, "status": "signal: killed", "error": "signal: killed"}})
		c.frame(2, map[string]any{})
	case <-late:
		c.frame(2, map[string]any{"error": map[string]string{"code": "deadline_exceeded", "message": "context deadline exceeded"}})
	case <-c.r.Context().Done():
	}
	return false
}

type selector struct {
	Process struct {
		PID int
		Tag string
	}
	Signal string
}

// process finds the one that a call is about, and answers if there is none.
func (c *call) process(box *sandbox) *process {
	var body selector
	if !c.message(&body) {
		return nil
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	for _, one := range box.processes {
		if one.pid == body.Process.PID || body.Process.Tag != "" && one.tag == body.Process.Tag {
			return one
		}
	}
	c.refuse("not_found", fmt.Sprintf("process with pid %d not found", body.Process.PID))
	return nil
}

func signalProcess(c *call, box *sandbox) {
	if one := c.process(box); one != nil {
		one.signal()
		c.unary(map[string]any{})
	}
}

func inputProcess(c *call, box *sandbox) {
	if c.process(box) != nil {
		c.unary(map[string]any{})
	}
}

func connectProcess(c *call, box *sandbox) {
	one := c.process(box)
	if one == nil {
		return
	}
	c.stream()
	event := func(event map[string]any) { c.frame(0, map[string]any{"event": event}) }
	event(map[string]any{"start": map[string]any{"pid": one.pid}})
	c.hang(one, event)
}

func listProcesses(c *call, box *sandbox) {
	var body struct{}
	if !c.message(&body) {
		return
	}
	c.server.mu.Lock()
	listed := []any{}
	for _, pid := range slices.Sorted(maps.Keys(box.processes)) {
		one := box.processes[pid]
		info := map[string]any{"config": one.config, "pid": pid}
		if one.tag != "" {
			info["tag"] = one.tag
		}
		listed = append(listed, info)
	}
	c.server.mu.Unlock()
	c.unary(map[string]any{"processes": listed})
}

// unary answers a call that is no stream.
func (c *call) unary(value any) {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.bytes(http.StatusOK, content)
}

func number(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil {
		return 0
	}
	return n
}

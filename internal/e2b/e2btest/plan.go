package e2btest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// planner writes down what a build will do from now on, line by line, each at its time.
type planner struct {
	server *Server
	b      *build
	at     time.Time
	keeps  []func()
}

// plan writes down what a build that was just started will do.
func (s *Server) plan(b *build) {
	p := &planner{server: s, b: b, at: b.started}
	p.log("", "Building template %s/%s", b.template.id, b.id)
	ok := p.base() && p.steps() && p.finalize()
	if ok {
		p.log("", "Build finished, took %s", p.at.Sub(b.started).Round(time.Second))
		b.outcome = ready
	}
	if takes := s.answers.takes[b.template.alias]; takes > 0 {
		p.at = b.started.Add(takes)
		b.lines[len(b.lines)-1].at = p.at
	}
	b.ends = p.at
	keeps := p.keeps
	b.keeps = func() {
		for _, keep := range keeps {
			keep()
		}
	}
}

// BuildsTake says how long builds of a template take from now on, whatever they do.
func (s *Server) BuildsTake(name string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers.takes[name] = d
}

func (p *planner) log(step, format string, arguments ...any) {
	p.level("info", step, format, arguments...)
}

func (p *planner) level(level, step, format string, arguments ...any) {
	p.at = p.at.Add(p.server.options.Pace)
	p.b.lines = append(p.b.lines, logLine{p.at, fmt.Sprintf(format, arguments...), level, step})
}

// fails ends the plan with E2B's words for it.
func (p *planner) fails(step, format string, arguments ...any) bool {
	message := fmt.Sprintf(format, arguments...)
	p.level("error", "", "%s", "Build failed: "+message)
	p.b.outcome, p.b.reason = failed, reason{message, step}
	return false
}

func hashed(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// base pulls the image or takes the template. An image that the team's cache holds is not pulled, so no login for it
// is looked at, and a tag that moved is not noticed.
func (p *planner) base() bool {
	start, team := p.b.start, p.b.template.team
	if start.FromTemplate != "" {
		one, from, _, message := p.server.usable(team, start.FromTemplate)
		if from == nil {
			return p.fails("base", "%s", message)
		}
		p.log("base", "FROM TEMPLATE %s", start.FromTemplate)
		p.b.user, p.b.workdir = from.user, from.workdir
		_ = one
		return true
	}
	if team.bases[start.FromImage] && !start.Force {
		p.log("base", "CACHED [base] FROM %s [%s]", start.FromImage, hashed(start.FromImage))
	} else {
		p.log("base", "[base] FROM %s [%s]", start.FromImage, hashed(start.FromImage))
		if message := p.server.pullRefused(start); message != "" {
			return p.fails("base", "%s", message)
		}
		p.log("base", "Base Docker image size: 527 MB")
		p.log("base", "Creating file system and pulling Docker image")
		p.log("base", "Provisioning sandbox template")
		p.keeps = append(p.keeps, func() { team.bases[start.FromImage] = true })
	}
	p.b.user, p.b.workdir = "user", "/home/user"
	p.log("base", "[base] DEFAULT USER user [%s]", hashed(start.FromImage, "user"))
	return true
}

// pullRefused says why an image cannot be pulled, in E2B's words, or "".
func (s *Server) pullRefused(start startBody) string {
	host := imageHost(start.FromImage)
	logins, private := s.options.Registries[host]
	login := start.FromImageRegistry
	switch {
	case !private && login == nil:
		return ""
	case login != nil && login.Type == "registry" && private && logins[login.Username] == login.Login:
		return ""
	case login != nil && login.Type == "aws":
		return "error getting auth option: failed to get ECR authorization token: UnrecognizedClientException: The security token included in the request is invalid."
	case login == nil:
		return fmt.Sprintf("access denied to '%s': authentication required or insufficient permissions", start.FromImage)
	}
	return fmt.Sprintf("access denied to '%s': you don't have permission to pull this image", start.FromImage)
}

func (p *planner) steps() bool {
	team, total := p.b.template.team, len(p.b.start.Steps)
	previous, force := hashed(p.b.start.FromImage, p.b.start.FromTemplate), p.b.start.Force
	for i, step := range p.b.start.Steps {
		number := strconv.Itoa(i + 1)
		kind, arguments := strings.ToUpper(step.Type), strings.Join(step.Args, " ")
		previous = hashed(previous, kind, arguments, step.FilesHash)
		force = force || step.Force
		layer := previous
		if team.layers[layer] && !force {
			p.log(number, "CACHED [builder %s/%d] %s %s [%s]", number, total, kind, arguments, layer)
			p.context(kind, step.Args)
			continue
		}
		p.log(number, "[builder %s/%d] %s %s [%s]", number, total, kind, arguments, layer)
		if !p.step(number, total, kind, step) {
			return false
		}
		p.keeps = append(p.keeps, func() { team.layers[layer] = true })
	}
	return true
}

// context keeps what a step changes for those after it.
func (p *planner) context(kind string, arguments []string) {
	switch {
	case kind == "USER" && len(arguments) > 0:
		p.b.user = arguments[0]
	case kind == "WORKDIR" && len(arguments) > 0 && strings.HasPrefix(arguments[0], "/"):
		p.b.workdir = arguments[0]
	case kind == "WORKDIR" && len(arguments) > 0:
		p.b.workdir = strings.TrimSuffix(p.b.workdir, "/") + "/" + arguments[0]
	}
}

func (p *planner) step(number string, total int, kind string, step stepBody) bool {
	counts := map[string][2]int{"RUN": {1, 2}, "COPY": {2, 4}, "ADD": {2, 4}, "WORKDIR": {1, 1}, "USER": {1, 2}, "ENV": {2, 1 << 16}, "ARG": {2, 1 << 16}}
	count, known := counts[kind]
	switch {
	case !known:
		return p.fails(number, "command type %s is not implemented", kind)
	case len(step.Args) < count[0] || len(step.Args) > count[1]:
		return p.fails(number, "%s expects %d to %d arguments, got %d", kind, count[0], count[1], len(step.Args))
	case (kind == "ENV" || kind == "ARG") && len(step.Args)%2 != 0:
		return p.fails(number, "%s expects key and value pairs, got %d arguments", kind, len(step.Args))
	case (kind == "COPY" || kind == "ADD") && step.FilesHash == "":
		return p.fails(number, "%s requires a files hash", kind)
	case (kind == "COPY" || kind == "ADD") && p.b.template.team.files[step.FilesHash] == nil:
		return p.fails(number, "failed to get layer files: object %s not found", step.FilesHash)
	}
	p.context(kind, step.Args)
	return p.answered(number, fmt.Sprintf("[builder %s/%d]", number, total), step.Args[0], p.server.stepAnswer(strings.Join(step.Args, " ")))
}

// answered does what was written down for a step.
func (p *planner) answered(step, prefix, command string, answer StepAnswer) bool {
	p.at = p.at.Add(answer.Takes)
	for _, line := range answer.Stdout {
		p.log(step, "%s", prefix+" [stdout]: "+line)
	}
	for _, line := range answer.Stderr {
		p.level("warn", step, "%s", prefix+" [stderr]: "+line)
	}
	switch {
	case answer.Silent:
		p.b.outcome = failed
		return false
	case answer.Message != "":
		return p.fails(step, "%s", answer.Message)
	case answer.Exit != 0:
		return p.fails(step, "failed to run command '%s': exit status %d", command, answer.Exit)
	}
	return true
}

func (p *planner) finalize() bool {
	const step = "finalize"
	start := p.b.start
	p.log(step, "[finalize] Finalizing template build [%s]", hashed(start.FromImage, start.StartCmd))
	if start.StartCmd != "" {
		p.log(step, "%s", "Running start command: "+start.StartCmd)
		answer := p.server.stepAnswer(start.StartCmd)
		if answer.Exit != 0 {
			return p.fails(step, "start command failed: error running start command: exit status %d", answer.Exit)
		}
		if !p.answered(step, "[start]", start.StartCmd, answer) {
			return false
		}
	}
	readyCommand := start.ReadyCmd
	if readyCommand == "" {
		readyCommand = "sleep 0"
		if start.StartCmd != "" {
			readyCommand = "sleep 20"
		}
	}
	p.log(step, "%s", "Waiting for template to be ready: "+readyCommand)
	if answer := p.server.stepAnswer(readyCommand); answer.Exit != 0 {
		p.level("debug", step, "Template is not ready: exit status %d", answer.Exit)
		p.at = p.at.Add(10 * time.Minute)
		return p.fails(step, "ready command failed: ready command timed out after 10m0s")
	}
	p.log(step, "Template is ready")
	p.log("optimize", "[optimize] Optimizing template [%s]", hashed(start.FromImage, readyCommand))
	return true
}

package e2btest

import (
	"net/http"
	"strings"
	"time"
)

// The words for where a sandbox stands.
const (
	running = "running"
	paused  = "paused"
	ended   = "ended"
)

type sandbox struct {
	id, state          string
	team               *team
	build              *build
	started, ends      time.Time
	metadata, env      map[string]string
	token, traffic     string
	internet, autoStop bool
	closed             bool // only who holds the traffic token comes in
	files              map[string]*file
	processes          map[int]*process
	contexts           []*codeContext
	pids               int
}

type newSandbox struct {
	TemplateID          string            `json:"templateID"`
	Timeout             *int              `json:"timeout"`
	Metadata            map[string]string `json:"metadata"`
	EnvVars             map[string]string `json:"envVars"`
	Secure              *bool             `json:"secure"`
	AutoPause           bool              `json:"autoPause"`
	AllowInternetAccess *bool             `json:"allow_internet_access"`
	Network             *struct {
		AllowPublicTraffic *bool `json:"allowPublicTraffic"`
	} `json:"network"`
}

// createSandbox is either form of the call: the second always secures envd and gives more time.
func (s *Server) createSandbox(form int) func(*call) {
	return func(c *call) {
		var body newSandbox
		if !c.read(&body) {
			return
		}
		timeout, secure := 15, body.Secure != nil && *body.Secure
		if form == 2 {
			timeout, secure = 300, true
		}
		if body.Timeout != nil {
			timeout = *body.Timeout
		}
		private := body.Network != nil && body.Network.AllowPublicTraffic != nil && !*body.Network.AllowPublicTraffic
		switch {
		case body.TemplateID == "":
			c.fail(http.StatusBadRequest, schemaOf, "NewSandbox", "templateID", "property \"templateID\" is missing")
			return
		case timeout <= 0:
			c.fail(http.StatusBadRequest, "Timeout must be greater than 0")
			return
		case timeout > 24*3600:
			c.fail(http.StatusBadRequest, "Timeout cannot be greater than 24 hours")
			return
		case private && !secure:
			c.fail(http.StatusBadRequest, "You cannot create a sandbox without public access unless you enable secure envd access via 'secure' flag.")
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		one, from, status, message := s.usable(c.team, body.TemplateID)
		if from == nil {
			if status == http.StatusBadRequest {
				message = "Invalid template reference: " + message
			}
			c.fail(status, "%s", message)
			return
		}
		count := 0
		for _, other := range s.living() {
			if other.team == c.team && other.state == running {
				count++
			}
		}
		if count >= c.team.MaxSandboxes {
			c.fail(http.StatusTooManyRequests, "you have reached the maximum number of concurrent E2B sandboxes (%d). If you need more, please visit 'https://e2b.dev/docs/billing'", c.team.MaxSandboxes)
			return
		}
		now := s.options.Now()
		box := &sandbox{id: "i" + s.newID(), state: running, team: c.team, build: from, started: now, ends: now.Add(time.Duration(timeout) * time.Second),
			metadata: body.Metadata, env: body.EnvVars, internet: body.AllowInternetAccess == nil || *body.AllowInternetAccess, autoStop: body.AutoPause,
			closed: private, files: homeOf(from), processes: map[int]*process{}}
		if secure {
			box.token = "envd-" + s.newID()
		}
		if private {
			box.traffic = "traffic-" + s.newID()
		}
		box.contexts = []*codeContext{{id: s.newUUID(), language: "python", dir: from.dir(), isDefault: true}}
		one.spawned, one.lastUsed = one.spawned+1, now
		s.sandboxes = append(s.sandboxes, box)
		c.json(http.StatusCreated, box.created())
	}
}

func (b *build) dir() string {
	if b.workdir == "" {
		return "/home/user"
	}
	return b.workdir
}

func (b *sandbox) common() map[string]any {
	return map[string]any{"templateID": b.build.template.id, "alias": b.build.template.alias, "sandboxID": b.id, "clientID": "6532622b", "envdVersion": envdVersion}
}

func (b *sandbox) created() map[string]any {
	answer := b.common()
	answer["trafficAccessToken"], answer["domain"] = nil, nil
	if b.token != "" {
		answer["envdAccessToken"] = b.token
	}
	if b.traffic != "" {
		answer["trafficAccessToken"] = b.traffic
	}
	return answer
}

func (b *sandbox) listed() map[string]any {
	answer := b.common()
	for name, value := range map[string]any{"startedAt": stamp(b.started), "endAt": stamp(b.ends), "cpuCount": b.build.cpu, "memoryMB": b.build.memory,
		"diskSizeMB": diskSize, "state": b.state, "volumeMounts": []any{}} {
		answer[name] = value
	}
	if len(b.metadata) > 0 {
		answer["metadata"] = b.metadata
	}
	return answer
}

// living brings all sandboxes up to the time and gives those that are not gone.
func (s *Server) living() []*sandbox {
	now := s.options.Now()
	var living []*sandbox
	for _, one := range s.sandboxes {
		if one.state == running && !now.Before(one.ends) {
			if one.state = ended; one.autoStop {
				one.state = paused
			}
		}
		if one.state != ended {
			living = append(living, one)
		}
	}
	return living
}

// sandbox finds the one that a request is about, and answers if the team has none such. Old ids with a client's id at
// their end are taken as well.
func (s *Server) sandbox(c *call) *sandbox {
	id, _, _ := strings.Cut(c.path["sandboxID"], "-")
	for _, one := range s.living() {
		if one.id == id && one.team == c.team {
			return one
		}
	}
	c.fail(http.StatusNotFound, "Sandbox \"%s\" doesn't exist or you don't have access to it", c.path["sandboxID"])
	return nil
}

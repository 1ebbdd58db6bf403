package e2btest

import (
	"net/http"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

// The words for where a build stands.
const (
	waiting  = "waiting"
	building = "building"
	ready    = "ready"
	failed   = "error"
)

const (
	superseded  = "The build was canceled because it was superseded by a newer one."
	diskSize    = 2048
	envdVersion = "0.6.13"
	// waitsFor and buildsFor are how long E2B lets a build wait and build.
	waitsFor, buildsFor = 40 * time.Minute, time.Hour
)

type build struct {
	id          string
	template    *template
	asked       []string // the tags of its request, by which builds supersede each other
	cpu, memory int
	requested   time.Time
	started     time.Time
	finished    time.Time
	state       string
	start       startBody
	// what it will do: the log, when it ends, how, and what is in the caches then.
	lines   []logLine
	ends    time.Time
	outcome string
	reason  reason
	keeps   func()
	user    string
	workdir string
}

type reason struct{ message, step string }

type startBody struct {
	FromImage, FromTemplate string
	FromImageRegistry       *registryBody
	Force                   bool
	Steps                   []stepBody
	StartCmd, ReadyCmd      string
}

type registryBody struct {
	Type     string `json:"type"`
	Username string `json:"username"`
	Login    string `json:"password"`
	KeyID    string `json:"awsAccessKeyId"`
	Key      string `json:"awsSecretAccessKey"`
	Region   string `json:"awsRegion"`
	Account  string `json:"serviceAccountJson"`
}

type stepBody struct {
	Type      string
	Args      []string
	FilesHash string
	Force     bool
}

// statusOf brings a build up to the time and tells where it stands.
func (s *Server) statusOf(b *build) string {
	now := s.options.Now()
	switch {
	case b.state == waiting && now.Sub(b.requested) > waitsFor:
		s.end(b, "build is in waiting state for too long")
	case b.state == building && b.ends.Sub(b.started) > buildsFor && now.Sub(b.started) > buildsFor:
		s.end(b, "build status polling timed out. Maximum build time is 1h0m0s.")
	case b.state == building && !now.Before(b.ends):
		b.state, b.finished = b.outcome, b.ends
		if b.keeps != nil {
			b.keeps()
		}
	}
	return b.state
}

// end fails a build now, whatever it was to do. An end is for good.
func (s *Server) end(b *build, message string) {
	if b.state == ready || b.state == failed {
		return
	}
	now := s.options.Now()
	b.state, b.finished, b.reason = failed, now, reason{message, ""}
	kept := b.lines[:0:0]
	for _, line := range b.lines {
		if !line.at.After(now) {
			kept = append(kept, line)
		}
	}
	b.lines = append(kept, logLine{at: now, message: "Build failed: " + message, level: "error"})
}

func (s *Server) listedBuild(b *build) map[string]any {
	listed := map[string]any{"buildID": b.id, "status": s.statusOf(b), "createdAt": stamp(b.requested), "updatedAt": stamp(b.requested), "cpuCount": b.cpu, "memoryMB": b.memory}
	if !b.finished.IsZero() {
		listed["finishedAt"], listed["updatedAt"] = stamp(b.finished), stamp(b.finished)
	}
	if b.state == ready {
		listed["diskSizeMB"], listed["envdVersion"] = diskSize, envdVersion
	}
	return listed
}

var versionRule = lazyregexp.New(`^\d+\.\d+\.\d+`)

// agent is how E2B finds its own SDKs in a User-Agent, of which old ones get old templates.
var agent = lazyregexp.New(`(?:^|\s)e2b-(?:js|python)-sdk/(\S*)`)

func (s *Server) startBuild(c *call) {
	var body startBody
	if !c.read(&body) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !uuidRule.MatchString(c.path["buildID"]) {
		c.fail(http.StatusBadRequest, "Invalid build ID: %s", c.path["buildID"])
		return
	}
	one := s.byID(c.path["templateID"])
	b := s.buildOf(one, c.path["buildID"])
	switch {
	case one == nil, b == nil:
		c.fail(http.StatusNotFound, "Error when getting template: template '%s' not found", c.path["templateID"])
		return
	case one.team != c.team:
		c.fail(http.StatusForbidden, "User does not have access to the template")
		return
	case s.statusOf(b) != waiting:
		c.fail(http.StatusBadRequest, "build is not in waiting state")
		return
	}
	if found := agent.FindStringSubmatch(c.r.Header.Get("User-Agent")); found != nil && !versionRule.MatchString(found[1]) {
		c.fail(http.StatusBadRequest, "Error when parsing user agent: invalid version %q", found[1])
		return
	}
	if message := body.FromImageRegistry.refused(); message != "" {
		c.fail(http.StatusBadRequest, schemaOf, "TemplateBuildStartV2", "fromImageRegistry", message)
		return
	}
	if (body.FromImage == "") == (body.FromTemplate == "") {
		const message = "failed to set template source: must specify either fromImage or fromTemplate"
		s.end(b, message)
		c.fail(http.StatusInternalServerError, "Error when starting template build: %s", message)
		return
	}
	for _, older := range one.builds {
		if older != b && s.statusOf(older) == building && overlap(older.asked, b.asked) {
			s.end(older, superseded)
		}
	}
	b.start, b.state, b.started = body, building, s.options.Now()
	s.plan(b)
	c.bytes(http.StatusAccepted, nil)
}

// refused says what the OpenAPI document does not allow of a login.
func (r *registryBody) refused() string {
	if r == nil {
		return ""
	}
	need := map[string][]string{"registry": {r.Username, r.Login}, "aws": {r.KeyID, r.Key, r.Region}, "gcp": {r.Account}}
	values, known := need[r.Type]
	if !known {
		return "input matches no schemas of oneOf"
	}
	for _, value := range values {
		if value == "" {
			return "doesn't match any schema from \"oneOf\""
		}
	}
	return ""
}

func (s *Server) buildOf(one *template, id string) *build {
	if one == nil {
		return nil
	}
	for _, b := range one.builds {
		if b.id == id {
			return b
		}
	}
	return nil
}

// imageHost is the registry host of an image reference.
func imageHost(image string) string {
	first, _, found := strings.Cut(image, "/")
	if !found || !strings.ContainsAny(first, ".:") && first != "localhost" {
		return "docker.io"
	}
	return first
}

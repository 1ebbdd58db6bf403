package e2btest

import (
	"fmt"
	"slices"
	"sort"
)

// Left lists what the teams still have, which every test of a lifecycle ends by asking: templates with their builds,
// and sandboxes. What no call can remove is in Retained.
func (s *Server) Left() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := []string{}
	for _, one := range s.templates {
		if !one.deleted && !one.promoted {
			left = append(left, fmt.Sprintf("template %s %s, %d builds", one.id, one.name(), len(one.builds)))
		}
	}
	for _, one := range s.living() {
		left = append(left, fmt.Sprintf("sandbox %s of %s, %s", one.id, one.build.template.name(), one.state))
	}
	return left
}

// Retained lists what the teams' caches hold and no call removes: "image …", "layer …" and "files …".
func (s *Server) Retained() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := []string{}
	for _, one := range s.teams {
		for image := range one.bases {
			kept = append(kept, "image "+image)
		}
		for layer := range one.layers {
			kept = append(kept, "layer "+layer)
		}
		for hash := range one.files {
			kept = append(kept, "files "+hash)
		}
	}
	sort.Strings(kept)
	return kept
}

// Build is one build as the server knows it.
type Build struct {
	TemplateID, Name, BuildID, Status string
	// Tags are those of its request.
	Tags        []string
	CPU, Memory int
	// FromImage, Steps, StartCommand and ReadyCommand are how it was started; a step is its type and arguments.
	FromImage    string
	Steps        [][]string
	StartCommand string
	ReadyCommand string
	// User and Dir are what its sandboxes begin with.
	User, Dir string
}

// Builds gives the team's builds, deleted templates' aside, in the order of their requests.
func (s *Server) Builds() []Build {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Build
	for _, one := range s.templates {
		if one.deleted || one.promoted {
			continue
		}
		for _, b := range one.builds {
			known := Build{TemplateID: one.id, Name: one.name(), BuildID: b.id, Status: s.statusOf(b), Tags: slices.Clone(b.asked), CPU: b.cpu, Memory: b.memory,
				FromImage: b.start.FromImage, StartCommand: b.start.StartCmd, ReadyCommand: b.start.ReadyCmd, User: b.user, Dir: b.workdir}
			for _, step := range b.start.Steps {
				known.Steps = append(known.Steps, append([]string{step.Type}, step.Args...))
			}
			all = append(all, known)
		}
	}
	return all
}

// Log gives the lines that a build has written by now.
func (s *Server) Log(buildID string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, one := range s.templates {
		if b := s.buildOf(one, buildID); b != nil {
			for _, line := range b.lines {
				if !line.at.After(s.options.Now()) {
					lines = append(lines, line.message)
				}
			}
		}
	}
	return lines
}

// Launches tells which build a reference would launch for the team of a key, and E2B's words if none.
func (s *Server) Launches(key, reference string) (buildID string, refused string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, found, _, message := s.usable(s.teams[key], reference)
	if found == nil {
		return "", message
	}
	return found.id, ""
}

// Vanish removes a template behind its owner's back.
func (s *Server) Vanish(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.templates {
		if one.name() == name {
			one.deleted = true
		}
	}
}

// MoveTag puts a tag on another build, ready or not, behind the owner's back.
func (s *Server) MoveTag(name, tag, buildID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.templates {
		if b := s.buildOf(one, buildID); b != nil && one.name() == name {
			one.tags = append(one.tags, tagRow{tag, b, s.options.Now()})
		}
	}
}

// AddTemplate makes a template of a team with one ready build under the tags, as somebody else may have made it.
func (s *Server) AddTemplate(key, alias string, tags ...string) (templateID, buildID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Now()
	one := &template{id: s.newID(), team: s.teams[key], alias: alias, created: now, updated: now, requests: 1}
	b := &build{id: s.newUUID(), template: one, asked: tags, cpu: 2, memory: 1024, requested: now, started: now, finished: now, state: ready, user: "user", workdir: "/home/user"}
	one.builds = []*build{b}
	for _, tag := range tags {
		one.tags = append(one.tags, tagRow{tag, b, now})
	}
	s.templates = append(s.templates, one)
	return one.id, b.id
}

// AddSandbox starts a sandbox of a template behind everybody's back, paused if so asked, and EndSandboxes ends all.
func (s *Server) AddSandbox(name string, asleep bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.templates {
		if one.name() != name || one.deleted {
			continue
		}
		for _, b := range slices.Backward(one.builds) {
			if s.statusOf(b) == ready {
				box := &sandbox{id: "i" + s.newID(), state: running, team: one.team, build: b, started: s.options.Now(), ends: s.options.Now().AddDate(1, 0, 0),
					files: homeOf(b), processes: map[int]*process{}}
				if asleep {
					box.state = paused
				}
				s.sandboxes = append(s.sandboxes, box)
				return box.id
			}
		}
	}
	return ""
}

// EndSandboxes ends all sandboxes.
func (s *Server) EndSandboxes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.living() {
		s.stop(one)
	}
}

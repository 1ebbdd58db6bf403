package e2b

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
)

// BuildRequest asks for a build of a template, which is made if the team has none of that name.
type BuildRequest struct {
	// Name of the template, as CheckName takes it.
	Name string `json:"name"`
	// Tags are put on the build at once, before it is ready. With none E2B takes "default".
	Tags []string `json:"tags,omitempty"`
	// CPUCount in cores and MemoryMB in MiB; E2B's own defaults (2 and 1024) if zero.
	CPUCount int `json:"cpuCount,omitempty"`
	MemoryMB int `json:"memoryMB,omitempty"`
}

// RequestedBuild is E2B's answer: the build waits to be started.
type RequestedBuild struct {
	TemplateID string   `json:"templateID"`
	BuildID    string   `json:"buildID"`
	Public     bool     `json:"public"`
	Names      []string `json:"names"`
	Tags       []string `json:"tags"`
}

// Template is a template with its builds, the newest first. E2B lists no build that has lost all its tags, and launches
// none either.
type Template struct {
	TemplateID string    `json:"templateID"`
	Public     bool      `json:"public"`
	Names      []string  `json:"names"`
	CreatedAt  time.Time `json:"createdAt"`
	UpdatedAt  time.Time `json:"updatedAt"`
	Builds     []Build   `json:"builds"`
	// Older: there are builds older than these, which were not read.
	Older bool `json:"-"`
}

// Build finds a build by id; nil if the template has none such.
func (t Template) Build(id string) *Build {
	for i := range t.Builds {
		if t.Builds[i].BuildID == id {
			return &t.Builds[i]
		}
	}
	return nil
}

// MadeWith tells whether the request for a build surely made the template too, of which all builds were read. The build is
// the oldest listed, which does not suffice, since older ones may have lost their tags: E2B also stamps what it makes in one
// request with one time.
func (t Template) MadeWith(buildID string) bool { return t.madeWith(buildID, 0) }

// madeWith takes times that are so far apart for those of one request.
func (t Template) madeWith(buildID string, apart time.Duration) bool {
	if t.Older || len(t.Builds) == 0 || t.CreatedAt.IsZero() {
		return false
	}
	oldest := t.Builds[len(t.Builds)-1]
	return oldest.BuildID == buildID && oldest.CreatedAt.Sub(t.CreatedAt).Abs() <= apart
}

// Build is one build of a template. CPU count and memory belong to the build.
type Build struct {
	BuildID    string     `json:"buildID"`
	Status     Status     `json:"status"`
	CreatedAt  time.Time  `json:"createdAt"`
	UpdatedAt  time.Time  `json:"updatedAt"`
	FinishedAt *time.Time `json:"finishedAt"`
	CPUCount   int        `json:"cpuCount"`
	MemoryMB   int        `json:"memoryMB"`
	DiskSizeMB int        `json:"diskSizeMB"`
}

// Status of a build: waiting, building, then ready or error for good. Other words may come with a later E2B.
type Status string

// The words of today's E2B.
const (
	StatusWaiting  Status = "waiting"
	StatusBuilding Status = "building"
	StatusReady    Status = "ready"
	StatusError    Status = "error"
)

// ListedTemplate is a template in the team's list. Its build is the last ready one tagged "default", and all zero if
// there is none.
type ListedTemplate struct {
	TemplateID  string    `json:"templateID"`
	BuildID     string    `json:"buildID"`
	CPUCount    int       `json:"cpuCount"`
	MemoryMB    int       `json:"memoryMB"`
	Public      bool      `json:"public"`
	Names       []string  `json:"names"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	BuildCount  int       `json:"buildCount"`
	BuildStatus Status    `json:"buildStatus"`
}

// Alias is what a name stands for.
type Alias struct {
	TemplateID string `json:"templateID"`
	Public     bool   `json:"public"`
}

// RequestBuild asks for a build. It waits for a slot while the team has as many builds as it may, until ctx ends. An
// error for which Unclear holds may have made the build all the same.
func (c *Client) RequestBuild(ctx context.Context, request BuildRequest) (RequestedBuild, error) {
	var got RequestedBuild
	_, err := c.send(ctx, call{method: http.MethodPost, path: "/v3/templates", json: request, into: &got, changes: true, slot: true, check: func(*answer) error {
		if got.TemplateID == "" || got.BuildID == "" {
			return errors.New("it names no build")
		}
		return nil
	}})
	return got, explainName(limited(report("E2B did not take the template build", request.Name, err)))
}

// refusals are E2B's words for a name that it does not take, and what to do. The first that fits counts.
var refusals = []struct{ words, advice string }{
	{"must match your team", "Leave the team out, or use a key of that team: a key opens its own team's templates alone."},
	{"is already used", "It is the id of a template, which E2B takes for no name. Choose another."},
	{"already used", "Something else made a template of this name at the same time: two blocks with one name, or another run. No build was made. Import that template, or choose another name."},
	{"has been deleted and cannot be rebuilt", "It was deleted at the same time. No build was made. Plan with refresh, so that it is made anew."},
}

// explainName says what to do about a name that E2B does not take.
func explainName(err error) error {
	var p *problem.Problem
	e := requestError(err)
	if e == nil || e.Status < 400 || e.Status >= 500 || !errors.As(err, &p) {
		return err
	}
	for _, refusal := range refusals {
		if strings.Contains(e.Message, refusal.words) {
			said := *p
			said.Advice = refusal.advice
			return &said
		}
	}
	return err
}

// limits are the beginnings of what E2B says of a build that is larger than the team may have, and the argument.
var limits = map[string]string{"CPU count": "cpu_count", "Memory": "memory_mb"}

// limited points to the argument that E2B refused.
func limited(err error) error {
	var p *problem.Problem
	e := requestError(err)
	if e == nil || e.Status != http.StatusBadRequest || !errors.As(err, &p) {
		return err
	}
	for words, argument := range limits {
		if strings.HasPrefix(e.Message, words) {
			said := *p
			said.Path, said.Advice = []any{argument}, "Lower it, or have E2B raise what the team may have. Builds of today are not changed."
			return &said
		}
	}
	return err
}

// Template reads a template by its id, with all its builds.
func (c *Client) Template(ctx context.Context, id string) (Template, error) {
	return c.TemplateWith(ctx, id, "")
}

// TemplateWith reads a template by its id, with its builds from the newest down to the page that has the one given.
func (c *Client) TemplateWith(ctx context.Context, id, buildID string) (Template, error) {
	var template Template
	err := c.paged(ctx, call{method: http.MethodGet, path: "/templates/" + url.PathEscape(id)}, func(got *answer) (bool, error) {
		var page Template
		if err := json.Unmarshal(got.body, &page); err != nil {
			return false, err
		}
		if page.TemplateID != id {
			return false, fmt.Errorf("it is about the template %q", page.TemplateID)
		}
		page.Builds, page.Older = append(template.Builds, page.Builds...), got.header.Get("X-Next-Token") != ""
		template = page
		return buildID == "" || template.Build(buildID) == nil, nil
	})
	return template, report("E2B template could not be read", id, err)
}

// oneRequest is how far apart E2B may stamp a template and the build of one request for MadeBy. Its server stamps both with
// one time; were that to change, no create may take its own template for another's.
const oneRequest = 500 * time.Millisecond

// MadeBy tells whether a template was made by the request that gave this build. A template just made may not be shown for a
// moment, and until it is nobody can tell.
func (c *Client) MadeBy(ctx context.Context, build RequestedBuild) (bool, error) {
	for look := 1; ; look++ {
		found, err := c.Template(ctx, build.TemplateID)
		if err == nil && len(found.Builds) > 0 {
			return found.madeWith(build.BuildID, oneRequest), nil
		}
		if err == nil {
			err = &problem.Problem{Title: "E2B template could not be told from another's", Object: named(build.TemplateID, build.BuildID), Cause: errors.New("E2B lists no build of it"),
				Advice: "Apply again: it is looked at again before anything is built in it or deleted."}
		} else if !NotFound(err) {
			return false, err
		}
		if look == lookups || c.clock.Sleep(ctx, retry.Jitter(lookPause)) != nil {
			return false, err
		}
	}
}

// Templates lists the team's templates, the newest first.
func (c *Client) Templates(ctx context.Context) ([]ListedTemplate, error) {
	all, err := pages[ListedTemplate](ctx, c, call{method: http.MethodGet, path: "/v2/templates"})
	return all, report("E2B templates could not be listed", "", err)
}

// DefaultBuild is the build that a template's bare name launches: that of its ListedTemplate; "" if none
// is listed.
func (c *Client) DefaultBuild(ctx context.Context, id string) (string, error) {
	build := ""
	err := c.paged(ctx, call{method: http.MethodGet, path: "/v2/templates"}, func(got *answer) (bool, error) {
		var page []ListedTemplate
		if err := json.Unmarshal(got.body, &page); err != nil {
			return false, err
		}
		for _, one := range page {
			if one.TemplateID == id {
				build = one.BuildID
				return false, nil
			}
		}
		return true, nil
	})
	return build, report("Default build of the E2B template could not be read", id, err)
}

// Alias looks a name up: "agent", "team/agent" or either with ":tag", which must be ready then. NotFound tells if
// there is no such.
func (c *Client) Alias(ctx context.Context, name string) (Alias, error) {
	var got Alias
	_, err := c.send(ctx, call{method: http.MethodGet, path: "/templates/aliases/" + url.PathEscape(name), into: &got, object: "/templates/aliases/" + name})
	return got, explainName(report("E2B template name could not be looked up", name, err))
}

// SetPublic makes a template one that every team may launch, or takes that back.
func (c *Client) SetPublic(ctx context.Context, id string, public bool) error {
	type update struct {
		Public bool `json:"public"`
	}
	_, err := c.send(ctx, call{method: http.MethodPatch, path: "/v2/templates/" + url.PathEscape(id), json: update{public}})
	return report("Visibility of the E2B template could not be set", id, err)
}

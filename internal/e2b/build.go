package e2b

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// BuildStart says what a build does. Exactly one of FromImage and FromTemplate is given.
type BuildStart struct {
	// FromImage is an image reference, by digest, or E2B takes a tag as its cache knows it.
	FromImage string
	// FromTemplate is another template: "team/name:build id".
	FromTemplate string
	// Registry is the login for FromImage; nil is none.
	Registry *RegistryLogin
	// Force builds all steps anew, whatever E2B's cache holds.
	Force bool
	Steps []Step
	// StartCommand runs once at the end of the build, as the last user and in the last working directory, and what it
	// started is kept in the snapshot; ReadyCommand is repeated until it succeeds. Empty is none.
	StartCommand, ReadyCommand string
}

// RegistryLogin is a user and password by which E2B pulls an image. For ECR the user is "AWS" and the password a token
// of twelve hours.
type RegistryLogin struct {
	Username string
	Password secret.Value
	// Source says where it comes from, for messages: "the provider's registries".
	Source string
}

// Step is one instruction. Type and arguments are E2B's: RUN [command] or [command, user]; COPY [source, destination,
// owner, mode] with FilesHash; ENV [key, value, …]; WORKDIR [path]; USER [name]. E2B prints arguments in its log.
type Step struct {
	Type string   `json:"type"`
	Args []string `json:"args"`
	// Force builds this step and all later ones anew.
	Force bool `json:"force"`
	// FilesHash names what was uploaded for a COPY.
	FilesHash string `json:"filesHash,omitempty"`
}

// startBody is BuildStart as E2B takes it.
type startBody struct {
	FromImage    string        `json:"fromImage,omitempty"`
	FromTemplate string        `json:"fromTemplate,omitempty"`
	Registry     *registryBody `json:"fromImageRegistry,omitempty"`
	Force        bool          `json:"force"`
	Steps        []Step        `json:"steps"`
	StartCmd     string        `json:"startCmd,omitempty"`
	ReadyCmd     string        `json:"readyCmd,omitempty"`
}

type registryBody struct {
	Type     string     `json:"type"`
	Username string     `json:"username"`
	Password wireSecret `json:"password"`
}

// BuildInfo is where a build stands, with a page of its log.
type BuildInfo struct {
	TemplateID string     `json:"templateID"`
	BuildID    string     `json:"buildID"`
	Status     Status     `json:"status"`
	LogEntries []LogEntry `json:"logEntries"`
	// Reason says why a build failed; nil if it did not, or if E2B does not say.
	Reason *Reason `json:"reason"`
}

// LogEntry is one line of a build's log.
type LogEntry struct {
	Timestamp time.Time `json:"timestamp"`
	Message   string    `json:"message"`
	// Level is debug, info, warn or error.
	Level string `json:"level"`
	// Step is "base", a step's number from "1", "finalize", "optimize", or "" for lines about the build as a whole.
	Step string `json:"step"`
}

// Reason is why a build failed, and in which step.
type Reason struct {
	Message string `json:"message"`
	Step    string `json:"step"`
}

// logPage is how many log lines E2B gives at most in one answer.
const logPage = 100

// StartBuild starts a build that was requested. An error for which Unclear holds may have started it all the same; E2B
// refuses to start a build twice.
func (c *Client) StartBuild(ctx context.Context, templateID, buildID string, start BuildStart) error {
	body := startBody{FromImage: start.FromImage, FromTemplate: start.FromTemplate, Force: start.Force, Steps: start.Steps,
		StartCmd: start.StartCommand, ReadyCmd: start.ReadyCommand}
	if body.Steps == nil {
		body.Steps = []Step{}
	}
	for i, step := range body.Steps {
		if step.Args == nil {
			body.Steps[i].Args = []string{}
		}
	}
	var hide []secret.Value
	if start.Registry != nil {
		body.Registry = &registryBody{Type: "registry", Username: start.Registry.Username, Password: wireSecret{start.Registry.Password}}
		hide = append(hide, start.Registry.Password)
	}
	path := "/v2/templates/" + url.PathEscape(templateID) + "/builds/" + url.PathEscape(buildID)
	_, err := c.send(ctx, call{method: http.MethodPost, path: path, json: body, changes: true, hide: hide})
	return report("E2B did not start the template build", named(templateID, buildID), err)
}

// BuildStatus reads where a build stands and its log from the line given, counted from 0, up to 100 lines.
func (c *Client) BuildStatus(ctx context.Context, templateID, buildID string, from int) (BuildInfo, error) {
	var got BuildInfo
	path := "/templates/" + url.PathEscape(templateID) + "/builds/" + url.PathEscape(buildID) + "/status"
	query := url.Values{"logsOffset": {strconv.Itoa(from)}, "limit": {strconv.Itoa(logPage)}}
	_, err := c.send(ctx, call{method: http.MethodGet, path: path, query: query, into: &got})
	return got, report("Status of the E2B template build could not be read", named(templateID, buildID), err)
}

// BuildNotFound tells whether E2B does not know the build, which it says with a 400 as well as with a 404.
func BuildNotFound(err error) bool {
	e := requestError(err)
	return NotFound(err) || e != nil && e.Status == http.StatusBadRequest && strings.HasPrefix(e.Message, "Build ") && strings.HasSuffix(e.Message, "not found")
}

// started tells whether E2B refused to start a build because it did start it before.
func started(err error) bool {
	e := requestError(err)
	return e != nil && e.Status == http.StatusBadRequest && strings.Contains(e.Message, "not in waiting state")
}

func named(templateID, buildID string) string { return "template " + templateID + ", build " + buildID }

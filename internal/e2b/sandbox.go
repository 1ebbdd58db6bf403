package e2b

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// NewSandbox asks for a sandbox.
type NewSandbox struct {
	// Template is a reference: a name, "team/name:tag", or "team/name:build id".
	Template string
	// Timeout is after how long E2B ends it; the service's own default if zero.
	Timeout time.Duration
	// Env is what every process gets. E2B keeps none of the template's own.
	Env map[string]string
	// Metadata is kept with it, and found by SandboxFilter.
	Metadata map[string]string
	// NoInternet cuts it off; Private lets in only who holds its traffic token.
	NoInternet, Private bool
}

type newSandboxBody struct {
	TemplateID string            `json:"templateID"`
	Timeout    int               `json:"timeout,omitempty"`
	EnvVars    map[string]string `json:"envVars,omitempty"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	Secure     bool              `json:"secure,omitempty"`
	Internet   *bool             `json:"allow_internet_access,omitempty"`
	Network    *networkBody      `json:"network,omitempty"`
}

type networkBody struct {
	AllowPublicTraffic bool `json:"allowPublicTraffic"`
}

// Sandbox is one that runs, with what its own services ask for.
type Sandbox struct {
	TemplateID  string
	SandboxID   string
	EnvdVersion string
	// EnvdToken opens envd, TrafficToken the other ports of a private sandbox.
	EnvdToken, TrafficToken secret.Value
	// Domain is that of a deployment whose sandboxes live elsewhere than its API; "" for most.
	Domain string
}

type sandboxBody struct {
	TemplateID         string     `json:"templateID"`
	SandboxID          string     `json:"sandboxID"`
	EnvdVersion        string     `json:"envdVersion"`
	EnvdAccessToken    wireSecret `json:"envdAccessToken"`
	TrafficAccessToken wireSecret `json:"trafficAccessToken"`
	Domain             string     `json:"domain"`
}

func (b sandboxBody) sandbox() Sandbox {
	return Sandbox{TemplateID: b.TemplateID, SandboxID: b.SandboxID, EnvdVersion: b.EnvdVersion, Domain: b.Domain,
		EnvdToken: b.EnvdAccessToken.Value, TrafficToken: b.TrafficAccessToken.Value}
}

// Format keeps the tokens out of every way of printing a sandbox.
func (s Sandbox) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "sandbox "+s.SandboxID)
}

// SandboxState is running or paused.
type SandboxState string

// The words of E2B.
const (
	SandboxRunning SandboxState = "running"
	SandboxPaused  SandboxState = "paused"
)

// ListedSandbox is one in a list.
type ListedSandbox struct {
	TemplateID string            `json:"templateID"`
	SandboxID  string            `json:"sandboxID"`
	StartedAt  time.Time         `json:"startedAt"`
	EndAt      time.Time         `json:"endAt"`
	State      SandboxState      `json:"state"`
	Metadata   map[string]string `json:"metadata"`
}

// SandboxFilter narrows a list; zero is all that run.
type SandboxFilter struct {
	// Template is an id or a name.
	Template string
	States   []SandboxState
	Metadata map[string]string
}

type timeoutBody struct {
	Timeout int `json:"timeout"`
}

// CreateSandbox starts a sandbox. An older deployment, which has only the first form of the call, is asked in that one.
// An error for which Unclear holds may have started it all the same: give it metadata to find it by.
func (c *Client) CreateSandbox(ctx context.Context, want NewSandbox) (Sandbox, error) {
	body := newSandboxBody{TemplateID: want.Template, Timeout: seconds(want.Timeout), EnvVars: want.Env, Metadata: want.Metadata}
	if want.NoInternet {
		body.Internet = new(bool)
	}
	if want.Private {
		body.Network = &networkBody{AllowPublicTraffic: false}
	}
	var hide []secret.Value
	for _, value := range want.Env {
		hide = append(hide, secret.New(value))
	}
	var got sandboxBody
	request := call{method: http.MethodPost, path: "/v2/sandboxes", json: body, into: &got, changes: true, hide: hide}
	_, err := c.send(ctx, request)
	if e := requestError(err); e != nil && e.noRoute() {
		c.logger.InfoContext(ctx, "this deployment has no second form of sandbox creation, using the first", "answer", e.Message)
		body.Secure = true
		request.path, request.json = "/sandboxes", body
		_, err = c.send(ctx, request)
	}
	return got.sandbox(), report("E2B sandbox could not be started", want.Template, err)
}

// Sandboxes lists the team's sandboxes.
func (c *Client) Sandboxes(ctx context.Context, filter SandboxFilter) ([]ListedSandbox, error) {
	query := url.Values{}
	if filter.Template != "" {
		query.Set("template", filter.Template)
	}
	if len(filter.Metadata) > 0 {
		// E2B takes the escapes back twice, of the pairs and then of keys and values.
		pairs := url.Values{}
		for key, value := range filter.Metadata {
			pairs.Set(url.QueryEscape(key), url.QueryEscape(value))
		}
		query.Set("metadata", pairs.Encode())
	}
	var states []string
	for _, state := range filter.States {
		states = append(states, string(state))
	}
	if len(states) > 0 {
		query.Set("state", strings.Join(states, ","))
	}
	all, err := pages[ListedSandbox](ctx, c, call{method: http.MethodGet, path: "/v2/sandboxes", query: query})
	return all, report("E2B sandboxes could not be listed", filter.Template, err)
}

// RunningSandboxes lists those that run, by the first form of the call, which all deployments have.
func (c *Client) RunningSandboxes(ctx context.Context) ([]ListedSandbox, error) {
	var all []ListedSandbox
	_, err := c.send(ctx, call{method: http.MethodGet, path: "/sandboxes", into: &all})
	return all, report("Running E2B sandboxes could not be listed", "", err)
}

// Sandbox reads one by its id.
func (c *Client) Sandbox(ctx context.Context, id string) (ListedSandbox, error) {
	var got ListedSandbox
	_, err := c.send(ctx, call{method: http.MethodGet, path: "/sandboxes/" + url.PathEscape(id), into: &got})
	return got, report("E2B sandbox could not be read", id, err)
}

// ConnectSandbox gives what is needed to reach a sandbox that exists; a paused one is resumed. Its time is only ever
// extended.
func (c *Client) ConnectSandbox(ctx context.Context, id string, timeout time.Duration) (Sandbox, error) {
	var got sandboxBody
	request := call{method: http.MethodPost, path: "/v2/sandboxes/" + url.PathEscape(id) + "/connect", json: timeoutBody{seconds(timeout)}, into: &got}
	_, err := c.send(ctx, request)
	if e := requestError(err); e != nil && e.noRoute() {
		request.path = "/sandboxes/" + url.PathEscape(id) + "/connect"
		_, err = c.send(ctx, request)
	}
	return got.sandbox(), report("E2B sandbox could not be connected to", id, err)
}

// SetSandboxTimeout sets after how long, from now, E2B ends a sandbox.
func (c *Client) SetSandboxTimeout(ctx context.Context, id string, timeout time.Duration) error {
	_, err := c.send(ctx, call{method: http.MethodPost, path: "/sandboxes/" + url.PathEscape(id) + "/timeout", json: timeoutBody{seconds(timeout)}})
	return report("Time of the E2B sandbox could not be set", id, err)
}

// PauseSandbox keeps a sandbox for later. It goes on to keep its template from being deleted.
func (c *Client) PauseSandbox(ctx context.Context, id string) error {
	_, err := c.send(ctx, call{method: http.MethodPost, path: "/sandboxes/" + url.PathEscape(id) + "/pause", changes: true})
	return report("E2B sandbox could not be paused", id, err)
}

// KillSandbox ends a sandbox. One that is not there is no error.
func (c *Client) KillSandbox(ctx context.Context, id string) error {
	_, err := c.send(ctx, call{method: http.MethodDelete, path: "/sandboxes/" + url.PathEscape(id)})
	if NotFound(err) {
		return nil
	}
	return report("E2B sandbox could not be ended", id, err)
}

// seconds is a time as E2B takes it: whole seconds, of which a part counts as one.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// sandboxAddress is where a port of a sandbox answers.
func (c *Client) sandboxAddress(sandbox Sandbox, port int) *url.URL {
	if c.sandboxURL != nil {
		return c.sandboxURL
	}
	domain := c.domain
	if sandbox.Domain != "" {
		domain = sandbox.Domain
	}
	// E2B's own deployments have one host for envd; other ports answer at a host of their own everywhere.
	if port == envdPort && sharedIngress[domain] {
		return &url.URL{Scheme: "https", Host: "sandbox." + domain}
	}
	return &url.URL{Scheme: "https", Host: fmt.Sprintf("%d-%s.%s", port, sandbox.SandboxID, domain)}
}

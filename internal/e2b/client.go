package e2b

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// DefaultDomain is E2B's own deployment.
const DefaultDomain = "e2b.app"

// sharedIngress are the domains where envd of all sandboxes is reached by one host, sandbox.<domain>.
var sharedIngress = map[string]bool{"e2b.app": true, "e2b.dev": true, "e2b.pro": true, "e2b-staging.dev": true}

// Options of a Client. All but APIKey may be left zero.
type Options struct {
	// APIKey is the team's key, "e2b_…". Its absence is reported by the first request, not before.
	APIKey secret.Value
	// Domain is that of the deployment; DefaultDomain if empty.
	Domain string
	// APIURL is the address of the control plane; https://api.<domain> if empty.
	APIURL string
	// SandboxURL is one address for all traffic to sandboxes; that of the sandbox's own domain if empty.
	SandboxURL string
	// FromEnvironment says that variables of the environment alone give the settings, outside of Terraform, so that advice
	// names nothing else.
	FromEnvironment bool
	// UserAgent is sent with each request. E2B builds templates of an old format for some that begin with the name of
	// its own SDKs, so it is never one of those.
	UserAgent string
	// Transport is that of NewTransport if nil.
	Transport http.RoundTripper
	Retry     retry.Policy
	// Clock is the machine's if nil.
	Clock retry.Clock
	// Logger takes a line for each request, without its body or any secret; none if nil.
	Logger *slog.Logger
}

// Client speaks to one team at one deployment of E2B. Safe for concurrent use.
type Client struct {
	key        secret.Value
	domain     string
	api        *url.URL
	sandboxURL *url.URL
	userAgent  string
	bare       bool // Options.FromEnvironment
	http       *http.Client
	retry      retry.Policy
	clock      retry.Clock
	logger     *slog.Logger
}

// New makes a client; nothing is asked or sent yet.
func New(o Options) (*Client, error) {
	c := &Client{key: o.APIKey, domain: o.Domain, userAgent: o.UserAgent, bare: o.FromEnvironment, clock: o.Clock, logger: o.Logger}
	if strings.ContainsFunc(c.key.Reveal(), unicode.IsControl) {
		return nil, &problem.Problem{Title: "Control character in the E2B API key", Path: []any{"e2b", "api_key"}, Cause: errors.New("the key holds a line break or another control character, which cannot be sent"),
			Advice: "A file ends with a line break: trimspace(file(\"…\")) leaves it out."}
	}
	if c.domain == "" {
		c.domain = DefaultDomain
	}
	if !domainRule.MatchString(c.domain) {
		return nil, &problem.Problem{Title: "Not an E2B domain", Path: []any{"e2b", "domain"}, Object: fmt.Sprintf("%q", problem.Address(c.domain)),
			Advice: "Give the host name of the deployment without a scheme or path, as in \"e2b.app\"."}
	}
	if o.APIURL == "" {
		o.APIURL = "https://api." + c.domain
	}
	var err error
	if c.api, err = parseAddress(o.APIURL); err != nil {
		return nil, &problem.Problem{Title: "Not an address of the E2B API", Path: []any{"e2b", "api_url"}, Cause: err, Advice: "Give it as in \"https://api.e2b.app\"."}
	}
	if o.SandboxURL != "" {
		if c.sandboxURL, err = parseAddress(o.SandboxURL); err != nil {
			return nil, &problem.Problem{Title: "Not an address of E2B sandboxes", Path: []any{"e2b", "sandbox_url"}, Cause: err, Advice: "Give it as in \"https://sandbox.e2b.app\"."}
		}
	}
	if c.userAgent == "" {
		c.userAgent = "terraform-provider-datalayer"
	}
	if c.clock == nil {
		c.clock = retry.System
	}
	if o.Retry.Sleep == nil {
		o.Retry.Sleep = c.clock.Sleep
	}
	c.retry = o.Retry.WithDefaults()
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = NewTransport()
	}
	// A redirect would carry the key, which net/http does not know for a secret, to another host.
	c.http = &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// NewTransport is http.DefaultTransport with a bounded wait for response headers. E2B ends a request after 70 s itself.
func NewTransport() http.RoundTripper {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	transport = transport.Clone()
	transport.ResponseHeaderTimeout, transport.OnProxyConnectResponse = 90*time.Second, retry.FromProxy
	return transport
}

// InTheClear is the host to which the key goes without TLS, and "" where it does not: loopback is this machine.
func (c *Client) InTheClear() string {
	address := net.ParseIP(c.api.Hostname())
	if c.key.Empty() || c.api.Scheme != "http" || address.IsLoopback() || c.api.Hostname() == "localhost" {
		return ""
	}
	return c.api.Host
}

// Format keeps the key out of every way of printing a client.
func (c *Client) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "e2b.Client") }

var domainRule = lazyregexp.New(`^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?$`)

// parseAddress takes an http or https address without a user, query or fragment. Its errors do not repeat the address,
// which may hold a password.
func parseAddress(text string) (*url.URL, error) {
	address, err := url.Parse(strings.TrimRight(text, "/"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("it cannot be read as an address")
	case address.Scheme != "https" && address.Scheme != "http":
		return nil, fmt.Errorf("it does not begin with https:// or http://")
	case address.Host == "":
		return nil, fmt.Errorf("it names no host")
	case address.User != nil:
		return nil, fmt.Errorf("it holds a user or password")
	case address.RawQuery != "" || address.Fragment != "":
		return nil, fmt.Errorf("it holds a query or a fragment")
	}
	return address, nil
}

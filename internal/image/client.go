// Package image is the client of an OCI registry: it resolves, inspects, tags and deletes images, and decides what
// becomes of one that was pushed (artifact.go). Each operation costs the fewest requests it can: a look at an image is
// one HEAD on a registry that does not challenge. Challenges, bearer tokens and their cache are oras-go's.
//
// Errors are *problem.Problem; errors.As finds the *Error of the request within. Credentials never appear in either.
package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// maxBody bounds what is read of one answer: the largest is the SBOM of a large image, with some megabytes.
const maxBody = 64 << 20

// idleConnections is how many connections to a registry are kept for the next request: as many as are likely at once.
const idleConnections = 16

// Credential is what a host gets: user name and password, or the refresh token that Docker calls an identity token.
// Zero is anonymous.
type Credential struct {
	Username     string
	Password     secret.Value
	RefreshToken secret.Value
	// Source says where it comes from, for errors: "the provider's registries".
	Source string
	// RenewAt is when to ask for it again, shortly before it ends; zero if it is not known to.
	RenewAt time.Time
}

// String names a login without its secret: `the login of "ci" from the provider's registries`.
func (c Credential) String() string {
	switch {
	case c.Password.Empty() && c.RefreshToken.Empty():
		return "no login"
	case c.Username == "":
		return "the token from " + c.Source
	}
	return fmt.Sprintf("the login of %q from %s", c.Username, c.Source)
}

// Credentials gives a registry host ("ghcr.io", "localhost:5000", "docker.io") its credential. It is asked when a
// request needs one, not before.
type Credentials interface {
	Credential(ctx context.Context, host string) (Credential, error)
}

// Options of a Client. Every field may be left zero.
type Options struct {
	// Credentials is asked per host; nil means anonymous everywhere.
	Credentials Credentials
	// Transport is that of NewTransport if nil.
	Transport http.RoundTripper
	// UserAgent is sent with each request.
	UserAgent string
	// Retry: requests that start an upload are repeated on 429 only, and 401 and 403 never are.
	Retry retry.Policy
	// API gives the API of the service behind a repository's registry, which then serves look-ups, lists and deletions; a
	// nil function or answer leaves all to the registry protocol.
	API func(ctx context.Context, repo reference.Repository) (API, error)
	// Now is the clock by which logins end; time.Now if nil.
	Now func() time.Time
	// Logger takes a line for each request, without credentials; none if nil.
	Logger *slog.Logger
}

// Client speaks to registries. Safe for concurrent use.
type Client struct {
	auth   *auth.Client
	source Credentials
	retry  retry.Policy
	apis   func(context.Context, reference.Repository) (API, error)
	now    func() time.Time
	logger *slog.Logger

	mu   sync.Mutex
	sent map[string]Credential // by host: the credential last sent, to mask it in a registry's answers
}

// New makes a client; nothing is asked or sent yet.
func New(o Options) *Client {
	c := &Client{retry: o.Retry.WithDefaults(), source: o.Credentials, apis: o.API, now: o.Now, sent: map[string]Credential{}}
	if c.now == nil {
		c.now = time.Now
	}
	if o.Transport == nil {
		o.Transport = NewTransport()
	}
	if c.logger = o.Logger; c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if o.UserAgent == "" {
		o.UserAgent = "terraform-provider-datalayer"
	}
	c.auth = &auth.Client{
		Client: &http.Client{Transport: o.Transport, CheckRedirect: followed},
		Cache:  renewing{auth.NewCache(), c.ended},
		Credential: func(ctx context.Context, hostport string) (auth.Credential, error) {
			return c.credential(ctx, o.Credentials, hostport)
		},
	}
	c.auth.SetUserAgent(o.UserAgent)
	return c
}

// NewTransport is http.DefaultTransport with a bounded wait for response headers. Clients that share one share its
// connections, and nothing else.
func NewTransport() http.RoundTripper {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	transport = transport.Clone()
	transport.ResponseHeaderTimeout, transport.OnProxyConnectResponse = time.Minute, retry.FromProxy
	// Terraform refreshes ten resources at once: with Go's two, the other eight would shake hands anew each time.
	transport.MaxIdleConnsPerHost = idleConnections
	return transport
}

// maxRedirects is how many redirects are followed, as in net/http.
const maxRedirects = 10

// followed refuses a redirect that leads nowhere.
func followed(request *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= maxRedirects:
		return retry.Final(fmt.Errorf("it redirects more than %d times", maxRedirects))
	case request.URL.Scheme != "https" && request.URL.Scheme != "http":
		return retry.Final(fmt.Errorf("it redirects to an address of %q, which is not of the web", request.URL.Scheme))
	}
	return nil
}

// Format keeps what was sent out of every way of printing a client.
func (c *Client) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "image.Client") }

func (c *Client) credential(ctx context.Context, source Credentials, hostport string) (auth.Credential, error) {
	if source == nil {
		return auth.EmptyCredential, nil
	}
	host := hostport
	if host == dockerHubAPI {
		host = dockerHub
	}
	found, err := source.Credential(ctx, host)
	if err != nil {
		return auth.EmptyCredential, retry.Final(ofCredential(err))
	}
	c.mu.Lock()
	c.sent[hostport] = found
	c.mu.Unlock()
	return auth.Credential{
		Username:     found.Username,
		Password:     found.Password.Reveal(),
		RefreshToken: found.RefreshToken.Reveal(),
	}, nil
}

const (
	dockerHub    = "docker.io"
	dockerHubAPI = "registry-1.docker.io"
)

// endpoint is the scheme and host at which a registry's API answers.
func endpoint(host string) *url.URL {
	switch {
	case host == dockerHub:
		return &url.URL{Scheme: "https", Host: dockerHubAPI}
	case reference.PlainHTTP(host):
		return &url.URL{Scheme: "http", Host: host}
	}
	return &url.URL{Scheme: "https", Host: host}
}

// call is one request to a registry.
type call struct {
	method string
	repo   reference.Repository
	// path below /v2/<repository>/, or url for an address that the registry gave.
	path string
	url  *url.URL
	// object is how an error names what was asked for, after host/path: "@sha256:…", ":v1", "/tags/list".
	object      string
	accept      string
	contentType string
	body        []byte
	actions     []string
	// reads is the path of another repository of that host that the request takes from; "" for none.
	reads string
	// check judges a 2xx answer; an answer that it refuses counts as cut short and is asked for again.
	check func(*answer) error
}

// answer is a 2xx response, read to its end.
type answer struct {
	status int
	header http.Header
	url    *url.URL
	size   int64
	body   []byte
}

// send makes the request, with retries where repeating it is safe. Any answer but 2xx is an *Error.
func (c *Client) send(ctx context.Context, k call) (*answer, error) {
	var before *Error
	for attempt := 1; ; attempt++ {
		got, failed := c.once(ctx, k)
		if failed == nil {
			return got, nil
		}
		if before != nil && (k.method == http.MethodGet || k.method == http.MethodHead) && failed.Status == 0 && ctx.Err() != nil {
			// Time ran out while it was asked again: what came before says more.
			before.Cause = errors.Join(before.Cause, failed.Cause)
			return nil, before
		}
		before = failed
		if !repeatable(k.method, failed) {
			return nil, failed
		}
		wait, ends := c.retry.Pause(ctx, attempt, failed.retryAfter)
		if ends != nil {
			failed.Because(ends)
			return nil, failed
		}
		c.logger.DebugContext(ctx, "registry request is repeated", "error", failed.Error(), "wait", wait)
		retry.Tell(ctx, c.logger, k.repo.Host, failed.retryAfter, wait)
		if err := c.retry.Sleep(ctx, wait); err != nil {
			failed.Cause = errors.Join(failed.Cause, err)
			return nil, failed
		}
	}
}

// repeatable tells whether a request that failed may be made again.
func repeatable(method string, failed *Error) bool {
	return Transient(failed) && (method != http.MethodPost || failed.Status == http.StatusTooManyRequests)
}

func (c *Client) once(ctx context.Context, k call) (*answer, *Error) {
	target := k.url
	if target == nil {
		target = endpoint(k.repo.Host).JoinPath("v2", k.repo.Path)
		path, query, _ := strings.Cut(k.path, "?")
		target = target.JoinPath(path)
		target.RawQuery = query
	}
	scopes := []string{auth.ScopeRepository(k.repo.Path, slices.Clone(k.actions)...)}
	if k.reads != "" {
		scopes = append(scopes, auth.ScopeRepository(k.reads, auth.ActionPull))
	}
	ctx = auth.WithScopesForHost(ctx, target.Host, scopes...)
	var body io.Reader
	if k.body != nil {
		body = bytes.NewReader(k.body)
	}
	request, err := http.NewRequestWithContext(ctx, k.method, target.String(), body)
	if err != nil {
		return nil, k.failed(retry.Final(err))
	}
	if k.accept != "" {
		request.Header.Set("Accept", k.accept)
	}
	if k.contentType != "" {
		request.Header.Set("Content-Type", k.contentType)
	}
	response, err := c.auth.Do(request)
	if err != nil {
		return nil, c.unanswered(k, target.Host, err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	c.logger.DebugContext(ctx, "registry request", "method", k.method, "object", k.repo.String()+k.object, "status", response.StatusCode)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, c.refused(k, target.Host, response, content)
	}
	got := &answer{status: response.StatusCode, header: response.Header, url: response.Request.URL, size: response.ContentLength, body: content}
	switch {
	case err != nil:
		return nil, k.spoiled(fmt.Errorf("the answer was cut short: %w", err))
	case len(content) > maxBody:
		return nil, k.failed(retry.Final(fmt.Errorf("the answer is larger than %d bytes", maxBody)))
	case k.check != nil:
		if err := k.check(got); err != nil {
			return nil, k.spoiled(err)
		}
	}
	return got, nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

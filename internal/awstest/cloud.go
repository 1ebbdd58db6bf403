// Package awstest is a small AWS on loopback: STS and ECR with their wire protocols, and the registries that ECR's tokens
// open, which are real ones behind ECR's dialect. Requests are signed for, session policies are enforced, tokens end. It
// answers under AWS's own host names through a CONNECT proxy, so that nothing under test knows that it is not AWS.
package awstest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// Cloud is one AWS. Its fields may be changed between requests only.
type Cloud struct {
	// Now is the clock; TokenLife how long a login token works, 12 hours unless changed.
	Now       func() time.Time
	TokenLife time.Duration
	// Mounting is the account setting BLOB_MOUNTING: without it a mount opens an upload.
	Mounting bool
	// ExpiredAnswer is what a registry says to a login token that has ended; ECR's own answer if nil.
	ExpiredAnswer *enginetest.FaultResponse
	// Choose answers in AWS's place, or not (nil). It sees every request, that of a registry too.
	Choose func(call Call, r *http.Request) *enginetest.FaultResponse
	// OnRegistry sees every request to a registry before it is judged.
	OnRegistry func(r *http.Request)

	// ProxyURL is that of the CONNECT proxy, CA signs what answers behind it.
	ProxyURL string
	CA       *enginetest.CA

	t          testing.TB
	mu         sync.Mutex
	principals map[string]*principal // by access key ID
	roles      map[string]*Role
	tokens     map[string]*token // by password
	registries map[string]*registry
	calls      []Call
	strangers  []string
}

// Role is one that can be assumed.
type Role struct {
	// Repositories are the ARNs that it may use, each with "*" at its end for all that begins so.
	Repositories []string
	// ExternalID, if set, must be sent. Trusts are the ARNs that may assume it; none: all.
	ExternalID string
	Trusts     []string
	// MaxSession is 1 hour if zero.
	MaxSession time.Duration
	// Invisible is how many requests are refused before the role is known.
	Invisible int
}

// Call is one request to an API as AWS understood it.
type Call struct {
	// Service is "sts" or "ecr"; Region is where; Operation is "AssumeRole".
	Service, Region, Operation string
	// Caller is the ARN of who signed it, AccessKeyID the key; both empty if nobody did.
	Caller, AccessKeyID string
	// SessionToken tells whether the request carried one.
	SessionToken bool
	// Parameters are those of an STS request; Body is that of one to ECR.
	Parameters map[string]string
	Body       string
	// Status is what was answered.
	Status int
}

// principal is who signs: a user, or a session of a role.
type principal struct {
	arn, account, secret, sessionToken string
	expires                            time.Time
	// allows tells what it may do; nil: all.
	allows func(action, resource string) bool
}

// token is a login token, which opens the registries of one region.
type token struct {
	principal *principal
	region    string
	expires   time.Time
}

// Regions are those whose host names the proxy answers for.
var Regions = []string{"eu-west-1", "us-east-1", "us-east-2", "us-gov-west-1"}

// Start starts an AWS without users, roles and repositories, which ends with the test.
func Start(t testing.TB) *Cloud {
	t.Helper()
	c := &Cloud{
		Now: time.Now, TokenLife: 12 * time.Hour, CA: enginetest.NewCA(t), t: t, principals: map[string]*principal{}, roles: map[string]*Role{},
		tokens: map[string]*token{}, registries: map[string]*registry{},
	}
	c.startProxy(t)
	return c
}

// User makes a user, whose keys may do everything in its account and elsewhere.
func (c *Cloud) User(account, name string) (accessKeyID, secret string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.principal("AKIA", &principal{arn: "arn:aws:iam::" + account + ":user/" + name, account: account})
}

// Temporary gives keys of a role's session, with their token.
func (c *Cloud) Temporary(account, role string) (accessKeyID, secret, sessionToken string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &principal{arn: "arn:aws:sts::" + account + ":assumed-role/" + role + "/someone", account: account, sessionToken: "cnry-session-" + random(40), expires: c.Now().Add(time.Hour)}
	accessKeyID, secret = c.principal("ASIA", p)
	return accessKeyID, secret, p.sessionToken
}

func (c *Cloud) principal(prefix string, p *principal) (accessKeyID, secret string) {
	p.secret = random(40)
	id := prefix + strings.ToUpper(random(16))
	c.principals[id] = p
	return id, p.secret
}

// Role makes a role and gives its ARN.
func (c *Cloud) Role(account, name string, role Role) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	arn := "arn:aws:iam::" + account + ":role/" + name
	c.roles[arn] = &role
	return arn
}

// Calls are the requests to the APIs so far; with operations, those alone.
func (c *Cloud) Calls(operations ...string) []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []Call
	for _, call := range c.calls {
		if len(operations) == 0 || slices.Contains(operations, call.Operation) {
			found = append(found, call)
		}
	}
	return found
}

// Forget empties the list of calls.
func (c *Cloud) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}

// Policies are the inline policies that sessions were asked with, in their order.
func (c *Cloud) Policies() []string {
	var policies []string
	for _, call := range c.Calls("AssumeRole") {
		policies = append(policies, call.Parameters["Policy"])
	}
	return policies
}

// Strangers are the hosts that somebody wanted to reach through the proxy and that are not AWS.
func (c *Cloud) Strangers() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.strangers)
}

// Secrets are the secret keys, session tokens and login tokens that were given out so far.
func (c *Cloud) Secrets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	secrets := slices.Collect(maps.Keys(c.tokens))
	for _, p := range c.principals {
		secrets = append(secrets, p.secret)
		if p.sessionToken != "" {
			secrets = append(secrets, p.sessionToken)
		}
	}
	return secrets
}

// EndTokens ends every login token that was given so far.
func (c *Cloud) EndTokens() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tokens {
		t.expires = c.Now()
	}
}

// Environment is what a program needs to reach this AWS as the user with these keys.
func (c *Cloud) Environment(t testing.TB, accessKeyID, secret string) map[string]string {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	return map[string]string{
		"AWS_ACCESS_KEY_ID": accessKeyID, "AWS_SECRET_ACCESS_KEY": secret, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
		"HTTPS_PROXY": c.ProxyURL, "SSL_CERT_FILE": enginetest.WritePEM(t, c.CA.PEM),
	}
}

func random(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[rand.N(len(letters))]
	}
	return string(text)
}

func (c *Cloud) record(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
}

// ServeHTTP answers for every host of AWS.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	switch {
	case strings.HasPrefix(host, "sts.") || strings.HasPrefix(host, "sts-fips."):
		c.serveSTS(w, r, labels(host)[1])
	case strings.HasPrefix(host, "api.ecr."), strings.HasPrefix(host, "api.ecr-fips."):
		c.serveECR(w, r, labels(host)[2])
	case strings.HasPrefix(host, "ecr-fips."), strings.HasPrefix(host, "ecr."):
		c.serveECR(w, r, labels(host)[1])
	case strings.HasPrefix(host, "prod-"):
		c.serveLayers(w, r)
	default:
		c.serveRegistry(w, r, host)
	}
}

func labels(host string) []string { return append(strings.Split(host, "."), "", "", "") }

// fault answers in AWS's place where the test says so.
func (c *Cloud) fault(w http.ResponseWriter, r *http.Request, call *Call) bool {
	if c.Choose == nil {
		return false
	}
	answer := c.Choose(*call, r)
	if answer == nil {
		return false
	}
	call.Status = answer.Status
	enginetest.Fault(func(*http.Request) *enginetest.FaultResponse { return answer })(nil).ServeHTTP(w, r)
	return true
}

// failure is how an API refuses.
type failure struct {
	status        int
	code, message string
}

func denied(p *principal, action, resource string) *failure {
	return &failure{http.StatusForbidden, "AccessDenied", fmt.Sprintf("User: %s is not authorized to perform: %s on resource: %s", p.arn, action, resource)}
}

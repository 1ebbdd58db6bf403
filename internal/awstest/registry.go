package awstest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// registry is an account's registry in a region.
type registry struct {
	account, region string
	backend         *enginetest.Registry
	repositories    map[string]*repository
}

type repository struct{ immutable bool }

// Host is the host name of an account's registry.
func Host(account, region string) string {
	return account + ".dkr.ecr." + region + ".amazonaws.com"
}

func layersHost(region string) string {
	return "prod-" + region + "-starport-layer-bucket.s3." + region + ".amazonaws.com"
}

// Registry gives an account's registry in a region past AWS: to fill it, and to ask what is left.
func (c *Cloud) Registry(t testing.TB, account, region string) *enginetest.Registry {
	t.Helper()
	return c.registry(t, account, region).backend
}

func (c *Cloud) registry(t testing.TB, account, region string) *registry {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	key := account + " " + region
	if c.registries[key] == nil {
		c.registries[key] = &registry{account, region, enginetest.StartRegistry(t), map[string]*repository{}}
	}
	return c.registries[key]
}

// Repository makes a repository, and gives its name with the host.
func (c *Cloud) Repository(t testing.TB, account, region, name string) string {
	t.Helper()
	r := c.registry(t, account, region)
	c.mu.Lock()
	defer c.mu.Unlock()
	r.repositories[name] = &repository{}
	return Host(account, region) + "/" + name
}

// Immutable makes the tags of a repository immutable.
func (c *Cloud) Immutable(account, region, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registries[account+" "+region].repositories[name].immutable = true
}

// ARN names a repository.
func ARN(account, region, name string) string {
	return "arn:aws:ecr:" + region + ":" + account + ":repository/" + name
}

var (
	registryHost = regexp.MustCompile(`^(\d{12})\.dkr[.-]ecr(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com|on\.aws)$`)
	registryPath = regexp.MustCompile(`^/v2/(.+)/(manifests|blobs|tags)/(.+)$`)
)

// serveRegistry is ECR's dialect of the registry protocol before a real registry.
func (c *Cloud) serveRegistry(w http.ResponseWriter, r *http.Request, host string) {
	if c.OnRegistry != nil {
		c.OnRegistry(r)
	}
	found := registryHost.FindStringSubmatch(host)
	if found == nil {
		http.NotFound(w, r)
		return
	}
	if c.fault(w, r, &Call{Service: "registry", Region: found[2], Operation: r.Method}) {
		return
	}
	account, region := found[1], found[2]
	user, password, _ := r.BasicAuth()
	c.mu.Lock()
	holder, at := c.tokens[password], c.registries[account+" "+region]
	ended := holder != nil && !c.Now().Before(holder.expires)
	c.mu.Unlock()
	switch {
	case holder == nil || user != "AWS" || holder.region != region:
		w.Header().Set("WWW-Authenticate", `Basic realm="https://`+host+`/",service="ecr.amazonaws.com"`)
		http.Error(w, "Not Authorized", http.StatusUnauthorized)
	case ended && c.ExpiredAnswer != nil:
		enginetest.Fault(func(*http.Request) *enginetest.FaultResponse { return c.ExpiredAnswer })(nil).ServeHTTP(w, r)
	case ended:
		refuse(w, http.StatusForbidden, "DENIED", "Your authorization token has expired. Reauthenticate and try again.")
	case r.URL.Path == "/v2/":
		w.WriteHeader(http.StatusOK)
	default:
		c.judged(w, r, holder.principal, account, region, at)
	}
}

// judged holds a request against what its token allows, and serves it.
func (c *Cloud) judged(w http.ResponseWriter, r *http.Request, p *principal, account, region string, at *registry) {
	parts := registryPath.FindStringSubmatch(r.URL.Path)
	if parts == nil {
		refuse(w, http.StatusNotFound, "UNSUPPORTED", "not found")
		return
	}
	name, kind, object := parts[1], parts[2], parts[3]
	if before, after, uploads := strings.Cut(name, "/blobs/uploads"); uploads {
		name, kind, object = before, "blobs", "uploads"+after
	}
	action := actionOf(r.Method, kind, object)
	if action == "" {
		refuse(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "The operation is unsupported.")
		return
	}
	resource := ARN(account, region, name)
	if p.allows != nil && !p.allows("ecr:"+action, resource) {
		refuse(w, http.StatusForbidden, "DENIED", fmt.Sprintf("User: %s is not authorized to perform: ecr:%s on resource: %s because no session policy allows the ecr:%s action", p.arn, action, resource, action))
		return
	}
	c.mu.Lock()
	var repository *repository
	if at != nil {
		repository = at.repositories[name]
	}
	c.mu.Unlock()
	if repository == nil {
		refuse(w, http.StatusNotFound, "NAME_UNKNOWN", fmt.Sprintf("The repository with name '%s' does not exist in the registry with id '%s'", name, account))
		return
	}
	switch {
	case r.Method == http.MethodGet && kind == "blobs":
		target := url.URL{Scheme: "https", Host: layersHost(region), Path: "/" + account + "/" + name + "/" + object, RawQuery: "X-Amz-Signature=" + random(20)}
		http.Redirect(w, r, target.String(), http.StatusTemporaryRedirect)
		return
	case r.Method == http.MethodPut && kind == "manifests" && !strings.HasPrefix(object, "sha256:") && repository.immutable && at.head(name, object) != "":
		refuse(w, http.StatusBadRequest, "TAG_INVALID", fmt.Sprintf("The image tag '%s' already exists in the '%s' repository and cannot be overwritten because the repository is immutable.", object, name))
		return
	case r.URL.Query().Get("mount") != "":
		from := r.URL.Query().Get("from")
		if !c.Mounting || p.allows != nil && !p.allows("ecr:GetDownloadUrlForLayer", ARN(account, region, from)) {
			r.URL.RawQuery = ""
		}
	}
	at.proxy().ServeHTTP(w, r)
}

// actionOf is the IAM action that a request needs; empty where ECR does not take such a request.
func actionOf(method, kind, object string) string {
	upload := strings.HasPrefix(object, "uploads")
	switch {
	case kind == "tags":
		return "ListImages"
	case kind == "manifests":
		return map[string]string{http.MethodGet: "BatchGetImage", http.MethodHead: "BatchGetImage", http.MethodPut: "PutImage"}[method]
	case !upload:
		return map[string]string{http.MethodGet: "GetDownloadUrlForLayer", http.MethodHead: "BatchCheckLayerAvailability"}[method]
	}
	return map[string]string{http.MethodPost: "InitiateLayerUpload", http.MethodPatch: "UploadLayerPart", http.MethodPut: "CompleteLayerUpload", http.MethodGet: "UploadLayerPart", http.MethodDelete: "InitiateLayerUpload"}[method]
}

// proxy hands a request on to the real registry.
func (r *registry) proxy() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: r.backend.Host})
			p.Out.Header.Del("Authorization")
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

// serveLayers is the bucket that ECR sends for layers. A presigned request that brings a login too is refused, as S3 does.
func (c *Cloud) serveLayers(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" || r.URL.Query().Get("X-Amz-Signature") == "" {
		http.Error(w, "Only one auth mechanism allowed", http.StatusBadRequest)
		c.t.Errorf("the bucket of layers was sent a login: %s", r.URL.Path)
		return
	}
	account, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	cut := strings.LastIndex(rest, "/")
	region := labels(r.Host)[2]
	c.mu.Lock()
	at := c.registries[account+" "+region]
	c.mu.Unlock()
	if at == nil || cut < 0 {
		http.NotFound(w, r)
		return
	}
	r.URL.Path, r.URL.RawQuery = "/v2/"+rest[:cut]+"/blobs/"+rest[cut+1:], ""
	at.proxy().ServeHTTP(w, r)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, fmt.Sprintf(`{"errors":[{"code":%q,"message":%q}]}`, code, message))
}

package e2btest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Key is the API key of Team, and DefaultTeam its slug.
const (
	Key         = "e2b_0000000000000000000000000000000000000001"
	DefaultTeam = "acme-team"
)

// Options of a Server. All may be left zero.
type Options struct {
	// Address is where to listen; a free port on loopback if empty.
	Address string
	// Now is the clock by which builds and sandboxes live; time.Now if nil.
	Now func() time.Time
	// Teams are who may come, by API key; Key for DefaultTeam if nil.
	Teams map[string]Team
	// Registries are the logins that builds pull with, by registry host, then by user. A host that is not there serves
	// anybody who brings no login.
	Registries map[string]map[string]string
	// Pace is how long each line of a build's log takes; zero is a build that is ready as soon as it is looked at.
	Pace time.Duration
	// UploadHeaders are to be replayed when files are put, as a store on Azure wants it; E2B's own deployment has none.
	UploadHeaders map[string]string
	// Legacy leaves out what came after the spec of August 2026: the second forms of sandbox creation and connection.
	Legacy bool
}

// Team is who an API key stands for.
type Team struct {
	Slug string
	// Banned teams may do nothing, blocked ones only read and delete.
	Banned, Blocked bool
	// MaxBuilds, MaxSandboxes, MaxCPU and MaxMemoryMB are what the team may have at once: 20, 20, 8 and 8192 if zero.
	MaxBuilds, MaxSandboxes, MaxCPU, MaxMemoryMB int
}

// Server is the stand-in. Safe for concurrent use.
type Server struct {
	// URL is its address, for api_url and sandbox_url alike.
	URL string

	options Options
	http    *httptest.Server
	routes  []route

	mu        sync.Mutex
	serial    int
	teams     map[string]*team
	templates []*template
	sandboxes []*sandbox
	answers   answers
	faults    []*Fault

	logging sync.Mutex
	log     []Request
}

type team struct {
	Team
	// files are uploads by hash, bases the images and layers the steps that its cache holds.
	files  map[string][]byte
	bases  map[string]bool
	layers map[string]bool
}

// New starts a server, which Close ends.
func New(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Teams == nil {
		o.Teams = map[string]Team{Key: {Slug: DefaultTeam}}
	}
	s := &Server{options: o, teams: map[string]*team{}, answers: answers{takes: map[string]time.Duration{}}}
	for key, one := range o.Teams {
		one.MaxBuilds, one.MaxSandboxes = orElse(one.MaxBuilds, 20), orElse(one.MaxSandboxes, 20)
		one.MaxCPU, one.MaxMemoryMB = orElse(one.MaxCPU, 8), orElse(one.MaxMemoryMB, 8192)
		s.teams[key] = newTeam(one)
	}
	s.addPromoted("base", "code-interpreter-v1")
	s.routes = s.control()
	s.http = httptest.NewUnstartedServer(s)
	if o.Address != "" {
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", o.Address)
		if err != nil {
			return nil, err
		}
		_ = s.http.Listener.Close()
		s.http.Listener = listener
	}
	s.http.Start()
	s.URL = s.http.URL
	return s, nil
}

// Close ends the server and every request that it still holds.
func (s *Server) Close() {
	s.Release()
	s.http.CloseClientConnections()
	s.http.Close()
}

func newTeam(t Team) *team {
	return &team{Team: t, files: map[string][]byte{}, bases: map[string]bool{}, layers: map[string]bool{}}
}

func orElse(n, other int) int {
	if n == 0 {
		return other
	}
	return n
}

// Request is one that the server was sent.
type Request struct {
	Method string
	// Route is the path with names for what varies: "/templates/{templateID}/builds/{buildID}/status".
	Route string
	// Path is as it was sent, escaped.
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
	// Status and Answer are what was answered; 0 and nil if nothing was, and nil for a stream.
	Status int
	Answer []byte
	At     time.Time
}

// Name is method and route in one: "POST /v3/templates".
func (r Request) Name() string { return r.Method + " " + r.Route }

// Requests gives all requests so far, in order of their arrival.
func (s *Server) Requests() []Request {
	s.logging.Lock()
	defer s.logging.Unlock()
	return slices.Clone(s.log)
}

// Count tells how often a route was asked: "POST /v3/templates".
func (s *Server) Count(name string) int {
	count := 0
	for _, request := range s.Requests() {
		if request.Name() == name {
			count++
		}
	}
	return count
}

// Routes are all that the server and its sandboxes answer: "POST /v3/templates".
func (s *Server) Routes() []string {
	var names []string
	for _, one := range slices.Concat(s.routes, envdRoutes, interpreterRoutes) {
		if name := one.method + " " + one.pattern; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Forget empties the log of requests.
func (s *Server) Forget() {
	s.logging.Lock()
	defer s.logging.Unlock()
	s.log = nil
}

// ServeHTTP takes a request down, looks for a fault to do with it, and answers it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 256<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	found, c := s.find(r)
	c.server, c.w, c.r, c.body = s, w, r, body
	taken := Request{Method: r.Method, Route: found.pattern, Path: r.URL.EscapedPath(), Query: r.URL.Query(), Header: r.Header.Clone(), Body: body, At: s.options.Now()}
	s.logging.Lock()
	index := len(s.log)
	s.log = append(s.log, taken)
	s.logging.Unlock()
	fault := s.faultFor(taken.Name(), taken)
	c.note = func(status int, answer []byte) {
		s.logging.Lock()
		defer s.logging.Unlock()
		if index < len(s.log) {
			s.log[index].Status, s.log[index].Answer = status, answer
		}
	}
	if fault != nil {
		fault.serve(c, found.serve)
		return
	}
	found.serve(c)
}

// newID makes an id of 20 letters and digits, as E2B's templates and sandboxes have.
func (s *Server) newID() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	id := s.draw()
	for i := range id {
		id[i] = letters[int(id[i])%len(letters)]
	}
	return string(id[:20])
}

// newUUID makes an id as E2B's builds have.
func (s *Server) newUUID() string {
	id := s.draw()
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
}

func (s *Server) draw() []byte {
	s.serial++
	sum := sha256.Sum256(fmt.Appendf(nil, "id %d", s.serial))
	return sum[:]
}

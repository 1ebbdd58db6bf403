// Package leasetest is a service that keeps credentials while it builds, as Daytona and Modal do, for tests of what happens
// to them when answers are lost, deletes fail and runs are killed. It is in no program that is shipped.
package leasetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Token is what the service asks of its clients.
const Token = "leasetest-token"

// Server is the service. Its requests:
//
//	POST   /credentials       {name, username, password} → 201 {id}
//	GET    /credentials       → [{id, name}]; a password is never given back
//	GET    /credentials/{id}  → {id, name}, or 404
//	DELETE /credentials/{id}  → 204, or 202 while it takes its time, or 404
//	POST   /builds            {name, credential} → 201 {id}; 422 without the credential
//	GET    /builds            → [{id, name, …}]
//	GET    /builds/{id}       → {id, name, status}: "building", "ready", or "failed", as where the credential goes too early
//	DELETE /builds/{id}       → 204 or 404
type Server struct {
	URL string

	mu          sync.Mutex
	next        int
	credentials []*kept
	builds      []*build
	requests    []string
	// knobs
	polls, slow, failing, broken int
	lost                         map[string]bool
}

type kept struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Username string `json:"-"`
	password string
	// going counts the looks after which a slow delete is done; -1 while nobody deletes it.
	going int
}

type build struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Status     string `json:"status"`
	credential string
	left       int
}

// Start serves until the test ends. Middleware stands before the service, the first one outermost.
func Start(t testing.TB, middleware ...func(http.Handler) http.Handler) *Server {
	t.Helper()
	s := &Server{polls: 2, lost: map[string]bool{}}
	var handler http.Handler = http.HandlerFunc(s.serve)
	for _, m := range slices.Backward(middleware) {
		handler = m(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// BuildPolls is how often a build answers "building" before it is ready.
func (s *Server) BuildPolls(n int) { s.knob(func() { s.polls = n }) }

// SlowDelete has deletes answer 202, and the credential still be there for the next n looks at it.
func (s *Server) SlowDelete(n int) { s.knob(func() { s.slow = n }) }

// FailDeletes has the next n deletes of credentials answer 500, all of them if n is negative.
func (s *Server) FailDeletes(n int) { s.knob(func() { s.failing = n }) }

// FailBuilds has the next n builds end as "failed".
func (s *Server) FailBuilds(n int) { s.knob(func() { s.broken = n }) }

// LoseAnswer has the next request of this method and path ("POST /credentials") be done and its connection cut.
func (s *Server) LoseAnswer(request string) { s.knob(func() { s.lost[request] = true }) }

// Put stores a credential as another run would have, and gives its id.
func (s *Server) Put(name string) (id string) {
	s.knob(func() { id = s.add(name, "", "") })
	return id
}

// Credentials are the names of what is stored, Builds those of the artifacts.
func (s *Server) Credentials() (names []string) {
	s.knob(func() {
		for _, c := range s.credentials {
			names = append(names, c.Name)
		}
	})
	return names
}

// Builds are the ids of the artifacts.
func (s *Server) Builds() (ids []string) {
	s.knob(func() {
		for _, b := range s.builds {
			ids = append(ids, b.ID)
		}
	})
	return ids
}

// Requests are all requests so far, "DELETE /credentials/c-1".
func (s *Server) Requests() (requests []string) {
	s.knob(func() { requests = slices.Clone(s.requests) })
	return requests
}

// ResetRequests forgets the requests so far.
func (s *Server) ResetRequests() { s.knob(func() { s.requests = nil }) }

func (s *Server) knob(turn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn()
}

func (s *Server) add(name, username, password string) string {
	s.next++
	c := &kept{ID: fmt.Sprintf("c-%d", s.next), Name: name, Username: username, password: password, going: -1}
	s.credentials = append(s.credentials, c)
	return c.ID
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request := r.Method + " " + r.URL.Path
	s.requests = append(s.requests, request)
	status, answer := s.answer(r)
	if kind := r.Method + " /" + strings.Split(r.URL.Path, "/")[1]; s.lost[kind] {
		delete(s.lost, kind)
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		_ = json.NewEncoder(w).Encode(answer)
	}
}

type refusal struct {
	Message string `json:"message"`
}

func (s *Server) answer(r *http.Request) (status int, answer any) {
	if r.Header.Get("Authorization") != "Bearer "+Token {
		return http.StatusUnauthorized, refusal{"the token is not known"}
	}
	kind, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch kind {
	case "credentials":
		return s.answerCredential(r, id)
	case "builds":
		return s.answerBuild(r, id)
	}
	return http.StatusNotFound, refusal{"no such path"}
}

func (s *Server) answerCredential(r *http.Request, id string) (int, any) {
	at := slices.IndexFunc(s.credentials, func(c *kept) bool { return c.ID == id })
	switch {
	case r.Method == http.MethodPost && id == "":
		var body struct{ Name, Username, Password string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Name == "" || body.Password == "" {
			return http.StatusBadRequest, refusal{"name and password are required"}
		}
		return http.StatusCreated, map[string]string{"id": s.add(body.Name, body.Username, body.Password)}
	case r.Method == http.MethodGet && id == "":
		return http.StatusOK, s.credentials
	case at < 0:
		return http.StatusNotFound, refusal{"credential " + id + " not found"}
	case r.Method == http.MethodGet:
		c := s.credentials[at]
		if c.going == 0 {
			s.credentials = slices.Delete(s.credentials, at, at+1)
			return http.StatusNotFound, refusal{"credential " + id + " not found"}
		}
		c.going--
		return http.StatusOK, c
	case r.Method == http.MethodDelete && s.failing != 0:
		s.failing--
		return http.StatusInternalServerError, refusal{"the vault is closed"}
	case r.Method == http.MethodDelete && s.slow > 0:
		s.credentials[at].going = s.slow
		return http.StatusAccepted, nil
	case r.Method == http.MethodDelete:
		s.credentials = slices.Delete(s.credentials, at, at+1)
		return http.StatusNoContent, nil
	}
	return http.StatusMethodNotAllowed, refusal{"no such method"}
}

func (s *Server) answerBuild(r *http.Request, id string) (int, any) {
	at := slices.IndexFunc(s.builds, func(b *build) bool { return b.ID == id })
	switch {
	case r.Method == http.MethodPost && id == "":
		var body struct{ Name, Credential string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || !s.holds(body.Credential) {
			return http.StatusUnprocessableEntity, refusal{"there is no such credential"}
		}
		s.next++
		b := &build{ID: fmt.Sprintf("b-%d", s.next), Name: body.Name, Status: "building", credential: body.Credential, left: s.polls}
		s.builds = append(s.builds, b)
		return http.StatusCreated, b
	case r.Method == http.MethodGet && id == "":
		return http.StatusOK, s.builds
	case at < 0:
		return http.StatusNotFound, refusal{"build " + id + " not found"}
	case r.Method == http.MethodGet:
		b := s.builds[at]
		switch {
		case b.Status == "building" && !s.holds(b.credential):
			b.Status = "failed"
		case b.Status == "building" && b.left == 0 && s.broken > 0:
			s.broken--
			b.Status = "failed"
		case b.Status == "building" && b.left == 0:
			b.Status = "ready"
		case b.Status == "building":
			b.left--
		}
		return http.StatusOK, b
	case r.Method == http.MethodDelete:
		s.builds = slices.Delete(s.builds, at, at+1)
		return http.StatusNoContent, nil
	}
	return http.StatusMethodNotAllowed, refusal{"no such method"}
}

func (s *Server) holds(id string) bool {
	return slices.ContainsFunc(s.credentials, func(c *kept) bool { return c.ID == id })
}

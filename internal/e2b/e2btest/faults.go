package e2btest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
)

// Fault is something that goes wrong with requests of one route.
type Fault struct {
	// Route is "POST /v3/templates", as Request.Name gives it.
	Route string
	// If narrows it to requests for which this holds; nil is all.
	If func(Request) bool
	// Skip lets so many requests pass first, and Times is how many it then hits: 1 if zero, all if negative.
	Skip, Times int
	// Status, Header and Body are answered without the request being carried out. A body that is not given is E2B's
	// form of an error with Message.
	Status  int
	Header  map[string]string
	Body    string
	Message string
	// Reset cuts the connection without the request being carried out, Lose after it was, and Truncate sends half the
	// answer.
	Reset, Lose, Truncate bool
	// Hold keeps the request, not carried out, until Release or Drop, or until its client goes.
	Hold bool
	// Pass carries the request out as if there were no fault, for what Before does.
	Pass bool
	// Before is called when it hits, before anything else, and After when a lost request was carried out.
	Before func(Request)
	After  func()

	released, dropped chan struct{}
}

// Inject adds faults. Of those for one route, the first that still has something to do is used.
func (s *Server) Inject(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fault := range faults {
		if fault.Times == 0 {
			fault.Times = 1
		}
		fault.released, fault.dropped = make(chan struct{}), make(chan struct{})
		s.faults = append(s.faults, &fault)
	}
}

// Heal takes all faults away and lets held requests go on.
func (s *Server) Heal() {
	s.Release()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Release lets held requests go on.
func (s *Server) Release() { s.letGo(func(f *Fault) chan struct{} { return f.released }) }

// Drop cuts held requests off, not carried out: of a client that was killed the server may know nothing yet.
func (s *Server) Drop() { s.letGo(func(f *Fault) chan struct{} { return f.dropped }) }

func (s *Server) letGo(way func(*Fault) chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fault := range s.faults {
		if fault.Hold {
			close(way(fault))
			fault.released, fault.dropped, fault.Times = make(chan struct{}), make(chan struct{}), 0
		}
	}
}

func (s *Server) faultFor(name string, request Request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fault := range s.faults {
		if fault.Route != name || fault.Times == 0 || fault.If != nil && !fault.If(request) {
			continue
		}
		if fault.Skip > 0 {
			fault.Skip--
			return nil
		}
		if fault.Times > 0 {
			fault.Times--
		}
		hit := *fault
		return &hit
	}
	return nil
}

func (f *Fault) serve(c *call, carryOut func(*call)) {
	if f.Before != nil {
		f.Before(Request{Method: c.r.Method, Path: c.r.URL.EscapedPath(), Header: c.r.Header, Body: c.body})
	}
	switch {
	case f.Hold:
		select {
		case <-f.released:
			carryOut(c)
		case <-f.dropped:
			panic(http.ErrAbortHandler)
		case <-c.r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	case f.Pass:
		carryOut(c)
	case f.Reset:
		panic(http.ErrAbortHandler)
	case f.Lose:
		c.w = httptest.NewRecorder()
		carryOut(c)
		if f.After != nil {
			f.After()
		}
		panic(http.ErrAbortHandler)
	case f.Truncate:
		f.truncate(c, carryOut)
	default:
		for name, value := range f.Header {
			c.w.Header().Set(name, value)
		}
		if f.Body != "" {
			c.bytes(f.Status, []byte(f.Body))
			return
		}
		c.fail(f.Status, "%s", f.Message)
	}
}

func (f *Fault) truncate(c *call, carryOut func(*call)) {
	w, whole := c.w, httptest.NewRecorder()
	c.w = whole
	carryOut(c)
	for name, values := range whole.Header() {
		w.Header()[name] = values
	}
	content := bytes.Clone(whole.Body.Bytes())
	w.WriteHeader(whole.Code)
	_, _ = w.Write(content[:len(content)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

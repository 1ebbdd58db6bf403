package e2b_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

func TestAddressesAreChecked(t *testing.T) {
	for name, tt := range map[string]struct {
		options e2b.Options
		title   string
	}{
		"defaults":            {e2b.Options{}, ""},
		"own domain":          {e2b.Options{Domain: "e2b.example.com"}, ""},
		"domain and port":     {e2b.Options{Domain: "localhost:8080"}, ""},
		"plain http":          {e2b.Options{APIURL: "http://127.0.0.1:3000/", SandboxURL: "http://127.0.0.1:3000"}, ""},
		"domain with scheme":  {e2b.Options{Domain: "https://e2b.app"}, "Not an E2B domain"},
		"domain with path":    {e2b.Options{Domain: "e2b.app/x"}, "Not an E2B domain"},
		"domain with a login": {e2b.Options{Domain: "u:canary@e2b.app"}, "Not an E2B domain"},
		"domain with a query": {e2b.Options{Domain: "https://e2b.app?key=canary"}, "Not an E2B domain"},
		"no scheme":           {e2b.Options{APIURL: "api.e2b.app"}, "Not an address of the E2B API"},
		"a password in it":    {e2b.Options{APIURL: "https://u:canary@api.e2b.app"}, "Not an address of the E2B API"},
		"a query":             {e2b.Options{APIURL: "https://api.e2b.app?key=canary"}, "Not an address of the E2B API"},
		"not an address":      {e2b.Options{APIURL: "https://a:canary%zz@"}, "Not an address of the E2B API"},
		"sandbox, no host":    {e2b.Options{SandboxURL: "https://"}, "Not an address of E2B sandboxes"},
		"sandbox, other kind": {e2b.Options{SandboxURL: "ftp://x"}, "Not an address of E2B sandboxes"},
		"key with a line end": {e2b.Options{APIKey: secret.New("canary\n")}, "Control character in the E2B API key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e2b.New(tt.options)
			if tt.title == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if p := asProblem(t, err); p.Title != tt.title || strings.Contains(p.Title+p.Detail(), "canary") {
				t.Errorf("got %q: %s", p.Title, p.Detail())
			}
		})
	}
}

// addresses takes down where requests go, and refuses them all.
type addresses struct{ asked []string }

func (a *addresses) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, r.URL.String())
	return nil, retry.Final(errors.New("not sent"))
}

func TestWhereRequestsGo(t *testing.T) {
	for name, tt := range map[string]struct {
		options e2b.Options
		domain  string
		want    [3]string
	}{
		"E2B's own":       {e2b.Options{}, "", [3]string{"https://api.e2b.app/v2/templates?limit=100", "https://sandbox.e2b.app/health", "https://49999-i1.e2b.app/health"}},
		"own deployment":  {e2b.Options{Domain: "e2b.corp.example"}, "", [3]string{"https://api.e2b.corp.example/v2/templates?limit=100", "https://49983-i1.e2b.corp.example/health", "https://49999-i1.e2b.corp.example/health"}},
		"sandbox's own":   {e2b.Options{}, "byoc.example", [3]string{"https://api.e2b.app/v2/templates?limit=100", "https://49983-i1.byoc.example/health", "https://49999-i1.byoc.example/health"}},
		"given addresses": {e2b.Options{APIURL: "http://127.0.0.1:1/base", SandboxURL: "http://127.0.0.1:2"}, "byoc.example", [3]string{"http://127.0.0.1:1/base/v2/templates?limit=100", "http://127.0.0.1:2/health", "http://127.0.0.1:2/health"}},
	} {
		t.Run(name, func(t *testing.T) {
			to := &addresses{}
			tt.options.Transport, tt.options.APIKey, tt.options.Clock = to, secret.New("e2b_1"), e2btest.NewClock()
			client, err := e2b.New(tt.options)
			if err != nil {
				t.Fatal(err)
			}
			running := client.Running(e2b.Sandbox{SandboxID: "i1", Domain: tt.domain})
			_, _ = client.Templates(t.Context())
			_, _ = running.Healthy(t.Context())
			_, _ = running.InterpreterHealthy(t.Context())
			if !slices.Equal(to.asked, tt.want[:]) {
				t.Errorf("asked %q, want %q", to.asked, tt.want)
			}
		})
	}
}

func TestKeysThatE2BDoesNotTake(t *testing.T) {
	w := newWorld(t, e2btest.Options{Teams: map[string]e2btest.Team{e2btest.Key: {Slug: "acme"}, "e2b_0b": {Slug: "banned", Banned: true}, "e2b_0c": {Slug: "blocked", Blocked: true}}})
	for name, tt := range map[string]struct {
		key   string
		words []string
	}{
		"none":       {"", []string{"No E2B API key", "E2B_API_KEY"}},
		"no prefix":  {"sk_1", []string{"401 Unauthorized", "authorization header is malformed", "E2B_API_KEY"}},
		"not hex":    {"e2b_zz", []string{"401 Unauthorized", "Invalid API key format"}},
		"unknown":    {"e2b_ff", []string{"401 Unauthorized", "Cannot get the team for the given API key", "keys of one deployment are unknown to the others"}},
		"of banned":  {"e2b_0b", []string{"403 Forbidden", "team is banned", "that the team is not blocked"}},
		"of blocked": {"e2b_0c", []string{"403 Forbidden", "team is blocked"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.Forget()
			_, err := w.clientWith(t, tt.key).RequestBuild(t.Context(), e2b.BuildRequest{Name: "agent"})
			says(t, err, tt.words...)
			if e2b.Unclear(err) || e2b.NotFound(err) || len(w.Requests()) > 1 {
				t.Errorf("after %d requests: %v", len(w.Requests()), err)
			}
		})
	}
	if _, err := w.clientWith(t, "e2b_0c").Templates(t.Context()); err != nil {
		t.Errorf("a blocked team may read: %v", err)
	}
}

// TestWhatIsAskedAgain is case C03 at the client: what each answer means to a read, a deletion and a create.
func TestWhatIsAskedAgain(t *testing.T) {
	const read, remove, create = "GET /templates/{templateID}", "DELETE /templates/{templateID}", "POST /v3/templates"
	limited := map[string]string{"Retry-After": "7"}
	for name, tt := range map[string]struct {
		fault e2btest.Fault
		// reads and creates are how often each is asked if it goes on.
		reads, creates    int
		gone, unclear     bool
		readTo, createdTo string
	}{
		"not found":         {e2btest.Fault{Status: 404, Message: "Template x not found"}, 1, 1, true, false, "404 Not Found: Template x not found", "404 Not Found"},
		"not found by HTML": {e2btest.Fault{Status: 404, Body: "<html>", Header: map[string]string{"Content-Type": "text/html"}}, 1, 1, false, false, "does not offer this", "a page of HTML"},
		"no such route":     {e2btest.Fault{Status: 404, Message: "validation error: no matching operation was found"}, 1, 1, false, false, "does not offer this", "does not offer this"},
		"unauthorized":      {e2btest.Fault{Status: 401, Message: "no"}, 1, 1, false, false, "E2B_API_KEY", "E2B_API_KEY"},
		"forbidden":         {e2btest.Fault{Status: 403, Message: "no"}, 1, 1, false, false, "may not do this", "may not do this"},
		"limited, time":     {e2btest.Fault{Status: 429, Header: limited, Message: "Rate limit exceeded"}, 4, 4, false, false, "-parallelism=1", "-parallelism=1"},
		"limited too long":  {e2btest.Fault{Status: 429, Header: map[string]string{"Retry-After": "3600"}, Message: "Rate limit exceeded"}, 1, 1, false, false, "Rate limit exceeded: it asks to wait 1h0m0s, and no more than 2m0s", "it asks to wait 1h0m0s"},
		"server error":      {e2btest.Fault{Status: 500, Message: "internal"}, 4, 1, false, true, "500 Internal Server Error", "500 Internal Server Error"},
		"gateway":           {e2btest.Fault{Status: 502, Body: "<html>", Header: map[string]string{"Content-Type": "text/html"}}, 4, 1, false, true, "502 Bad Gateway: a page of HTML", "the service failed"},
		"reset":             {e2btest.Fault{Reset: true}, 4, 1, false, true, "can be reached", "can be reached"},
		"cut short":         {e2btest.Fault{Truncate: true}, 4, 1, false, true, "the answer was cut short", "the answer was cut short"},
		"redirect":          {e2btest.Fault{Status: 307, Body: "x", Header: map[string]string{"Location": "/elsewhere"}}, 1, 1, false, false, "not followed", "not followed"},
		"page":              {e2btest.Fault{Status: 200, Body: "<html>log in</html>", Header: map[string]string{"Content-Type": "text/html"}}, 4, 1, false, true, "a page of HTML", "a page of HTML"},
		"another template":  {e2btest.Fault{Status: 200, Body: "{}"}, 4, 1, false, true, `it is about the template ""`, "it names no build"},
		"not JSON":          {e2btest.Fault{Status: 200, Body: "fine"}, 4, 1, false, true, "not the JSON", "not the JSON"},
		"bad request":       {e2btest.Fault{Status: 400, Message: "bad id"}, 1, 1, false, false, "400 Bad Request: bad id", "400 Bad Request: bad id"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, route := range []string{read, remove, create} {
				w := newWorld(t, e2btest.Options{})
				id, _ := w.AddTemplate(e2btest.Key, "agent", "default")
				tt.fault.Route, tt.fault.Times = route, -1
				w.Inject(tt.fault)
				var err error
				want, words := tt.reads, tt.readTo
				switch route {
				case read:
					_, err = w.client.Template(t.Context(), id)
				case remove:
					err = w.client.DeleteTemplate(t.Context(), id)
					if tt.gone || name == "not JSON" || name == "another template" {
						if err != nil {
							t.Errorf("a deletion answered 404 or 2xx fails: %v", err)
						}
						continue
					}
					if name == "cut short" {
						// A deletion that was carried out is not there the second time.
						continue
					}
				case create:
					want, words = tt.creates, tt.createdTo
					_, err = w.client.RequestBuild(t.Context(), e2b.BuildRequest{Name: "agent", Tags: []string{"dl-1"}})
					if e2b.Unclear(err) != tt.unclear {
						t.Errorf("%s: Unclear is %v for %v", route, !tt.unclear, err)
					}
				}
				if e2b.NotFound(err) != tt.gone {
					t.Errorf("%s: NotFound is %v for %v", route, !tt.gone, err)
				}
				p := asProblem(t, err)
				if text := strings.ToLower(p.Detail()); !strings.Contains(text, strings.ToLower(words)) {
					t.Errorf("%s: %q is missing in:\n%s", route, words, p.Detail())
				}
				w.asked(t, route, want)
				if slept := w.clock.Slept(); name == "limited, time" && (len(slept) != 3 || slices.Min(slept) < 7*time.Second || slices.Max(slept) > 10500*time.Millisecond) {
					t.Errorf("%s: waited %v", route, slept)
				}
			}
		})
	}
}

// C03: a pause that E2B asks for is made if the operation has the time for it.
func TestALongPauseIsMadeWithinTheOperationsTime(t *testing.T) {
	for within, says := range map[time.Duration]string{time.Hour: "", 9 * time.Minute: "Rate limit exceeded: it asks to wait 10m0s, and "} {
		w := newWorld(t, e2btest.Options{})
		id, _ := w.AddTemplate(e2btest.Key, "agent", "default")
		w.Inject(e2btest.Fault{Route: "GET /templates/{templateID}", Status: 429, Header: map[string]string{"Retry-After": "600"}, Message: "Rate limit exceeded"})
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := w.client.Template(ctx, id)
		slept := w.clock.Slept()
		if says == "" && (err != nil || len(slept) != 1 || slept[0] < 10*time.Minute) || says != "" && (err == nil || !strings.Contains(err.Error(), says) || len(slept) > 0) {
			t.Errorf("within %s: %v after %v", within, err, slept)
		}
	}
}

// What E2B answered before time ran out, in a request that was asked again, is what a person needs to know.
func TestTheWordsBeforeTimeRanOutAreKept(t *testing.T) {
	const route = "GET /templates/{templateID}"
	w := newWorld(t, e2btest.Options{})
	id, _ := w.AddTemplate(e2btest.Key, "agent", "default")
	ctx, cancel := context.WithCancel(t.Context())
	w.Inject(e2btest.Fault{Route: route, Status: 500, Message: "no database"}, e2btest.Fault{Route: route, Hold: true, Before: func(e2btest.Request) { cancel() }})
	_, err := w.client.Template(ctx, id)
	says(t, err, "500 Internal Server Error: no database", "it was interrupted")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended by %v", err)
	}
	w.asked(t, route, 2)
}

func TestRefusedConnectionsAreTriedAgainEvenForCreates(t *testing.T) {
	w := newWorld(t, e2btest.Options{})
	w.Close()
	_, err := w.client.RequestBuild(t.Context(), e2b.BuildRequest{Name: "agent"})
	says(t, err, "connection refused", "can be reached")
	if e2b.Unclear(err) || len(w.clock.Slept()) != 3 {
		t.Errorf("waited %v, then %v", w.clock.Slept(), err)
	}
}

func TestACreateWaitsForASlot(t *testing.T) {
	w := newWorld(t, e2btest.Options{Teams: map[string]e2btest.Team{e2btest.Key: {Slug: "acme", MaxBuilds: 1}}, Pace: time.Minute})
	first, err := w.client.RequestBuild(t.Context(), e2b.BuildRequest{Name: "one", Tags: []string{"dl-1"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.client.StartBuild(t.Context(), first.TemplateID, first.BuildID, order().Start); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.RequestBuild(t.Context(), e2b.BuildRequest{Name: "two", Tags: []string{"dl-2"}}); err != nil {
		t.Fatal(err)
	}
	about := func(i int, want time.Duration) bool {
		return w.clock.Slept()[i] >= want/2 && w.clock.Slept()[i] <= want*3/2
	}
	if n := len(w.clock.Slept()); n < 10 || !about(0, 5*time.Second) || !about(n-1, 30*time.Second) {
		t.Errorf("waited %v", w.clock.Slept())
	}
	_, err = w.client.RequestBuild(w.clock.Deadline(t.Context(), 2*time.Minute), e2b.BuildRequest{Name: "three", Tags: []string{"dl-3"}})
	says(t, err, "maximum number of concurrent template builds (1)", "-parallelism=1")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the wait ended with %v", err)
	}
}

func TestListsAreReadToTheirEnd(t *testing.T) {
	w := newWorld(t, e2btest.Options{})
	for i := range 230 {
		w.AddTemplate(e2btest.Key, fmt.Sprintf("t%d", i), "default")
	}
	listed, err := w.client.Templates(t.Context())
	if err != nil || len(listed) != 230 || listed[0].Names[0] != "acme-team/t229" {
		t.Errorf("%d templates, %v", len(listed), err)
	}
	w.asked(t, "GET /v2/templates", 3)
	w.Inject(e2btest.Fault{Route: "GET /v2/templates", Times: -1, Status: 200, Body: "[]", Header: map[string]string{"X-Next-Token": "again"}})
	_, err = w.client.Templates(t.Context())
	says(t, err, "the list does not end")

	built := w.ready(t, order())
	for i := range 150 {
		if _, err := w.client.RequestBuild(t.Context(), e2b.BuildRequest{Name: "agent", Tags: []string{"dl-1", fmt.Sprintf("n-%d", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	w.Forget()
	template, err := w.client.TemplateWith(t.Context(), built.TemplateID, built.BuildID)
	if err != nil || template.Build(built.BuildID) == nil || len(template.Builds) != 151 || template.Older {
		t.Errorf("%d builds, %v", len(template.Builds), err)
	}
	w.asked(t, "GET /templates/{templateID}", 2)
	if template, err = w.client.TemplateWith(t.Context(), built.TemplateID, template.Builds[0].BuildID); err != nil || len(template.Builds) != 100 || !template.Older {
		t.Errorf("%d builds, older ones %t, %v", len(template.Builds), template.Older, err)
	}
	w.asked(t, "GET /templates/{templateID}", 3)
}

func TestALostTagAssignmentIsLookedUp(t *testing.T) {
	const route = "POST /templates/tags"
	for name, tt := range map[string]struct {
		fault e2btest.Fault
		asked int
		fails bool
	}{
		"answer lost": {e2btest.Fault{Lose: true}, 1, false},
		"not done":    {e2btest.Fault{Reset: true}, 2, false},
		"never done":  {e2btest.Fault{Reset: true, Times: -1}, 3, true},
		"refused":     {e2btest.Fault{Status: 400, Message: "no"}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, e2btest.Options{})
			built := w.ready(t, order())
			tt.fault.Route = route
			w.Inject(tt.fault)
			err := w.client.AssignTags(t.Context(), built.Names[0], built.BuildID, "default")
			if (err != nil) != tt.fails {
				t.Errorf("got %v", err)
			}
			w.asked(t, route, tt.asked)
			if got, _ := w.Launches(e2btest.Key, "agent"); !tt.fails && got != built.BuildID {
				t.Errorf("default launches %q", got)
			}
		})
	}
}

// TestTemplatesInUse is case C23.
func TestTemplatesInUse(t *testing.T) {
	w := newWorld(t, e2btest.Options{})
	id, _ := w.AddTemplate(e2btest.Key, "agent", "default")
	w.AddSandbox("acme-team/agent", false)
	w.AddSandbox("acme-team/agent", true)
	_, err := w.client.DeleteUnused(w.clock.Deadline(t.Context(), 10*time.Minute), id)
	p := asProblem(t, err, id, "cannot delete template '"+id+"' because there are running sandboxes using it", "1 running and 1 paused", "never ends sandboxes", "after 10m")
	if p.Title != "E2B template is still used by sandboxes" || len(w.Left()) != 3 {
		t.Errorf("%s; left %q", p.Title, w.Left())
	}
	if n := w.Count("DELETE /sandboxes/{sandboxID}"); n != 0 {
		t.Errorf("%d sandboxes were killed", n)
	}

	w.Forget()
	w.Inject(e2btest.Fault{Route: "DELETE /templates/{templateID}", Skip: 2, Status: 400, Message: "in use by paused sandboxes", Before: func(e2btest.Request) { w.EndSandboxes() }})
	for _, want := range []bool{true, false} {
		if there, err := w.client.DeleteUnused(t.Context(), id); err != nil || there != want {
			t.Errorf("it was there: %t, want %t; %v", there, want, err)
		}
	}
	w.asked(t, "DELETE /templates/{templateID}", 5)
	w.nothingLeft(t)

	w.Inject(e2btest.Fault{Route: "DELETE /templates/{templateID}", Status: 400, Message: "Invalid template ID: bad id"})
	slept := len(w.clock.Slept())
	_, err = w.client.DeleteUnused(t.Context(), "bad id")
	says(t, err, "400 Bad Request: Invalid template ID")
	if len(w.clock.Slept()) != slept {
		t.Error("waited for a refusal that has nothing to do with sandboxes")
	}
}

// Time may run out while E2B is asked again, not only in between: what it said before is told all the same.
func TestTemplatesInUseWhenTimeRunsOutInARequest(t *testing.T) {
	w := newWorld(t, e2btest.Options{})
	id, _ := w.AddTemplate(e2btest.Key, "agent", "default")
	w.AddSandbox("acme-team/agent", true)
	ctx, cancel := context.WithCancel(t.Context())
	w.Inject(e2btest.Fault{Route: "DELETE /templates/{templateID}", Skip: 1, Hold: true, Before: func(e2btest.Request) { cancel() }})
	_, err := w.client.DeleteUnused(ctx, id)
	p := asProblem(t, err, "because there are paused sandboxes using it", "0 running and 1 paused", "it was interrupted")
	if p.Title != "E2B template is still used by sandboxes" || strings.Contains(p.Advice, "timeouts") {
		t.Error(p.Title, p.Advice)
	}
}

// deadlines notes how long each request may take.
type deadlines struct {
	next http.RoundTripper
	took map[string]time.Duration
}

func (d deadlines) RoundTrip(request *http.Request) (*http.Response, error) {
	if at, ok := request.Context().Deadline(); ok {
		d.took[request.Method] = time.Until(at)
	}
	return d.next.RoundTrip(request)
}

// An upload of 8 MiB takes longer than a minute where the line out is slow.
func TestLargeUploadsHaveMoreTime(t *testing.T) {
	w := newWorld(t, e2btest.Options{})
	id, _ := w.AddTemplate(e2btest.Key, "agent", "default")
	noted := deadlines{&http.Transport{DisableKeepAlives: true}, map[string]time.Duration{}}
	client, err := e2b.New(e2b.Options{APIKey: secret.New(e2btest.Key), APIURL: w.URL, Transport: noted})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Upload(t.Context(), id, e2b.Archive{Hash: strings.Repeat("a", 64), Tar: make([]byte, 8<<20)}); err != nil {
		t.Fatal(err)
	}
	if get, put := noted.took["GET"], noted.took["PUT"]; get > time.Minute || put < 2*time.Minute {
		t.Errorf("a GET may take %s, the upload %s", get, put)
	}
}

func TestUploadsAreMadeOnceAndRepeated(t *testing.T) {
	const ask, put = "GET /templates/{templateID}/files/{hash}", "PUT /upload/{team}/{hash}"
	archive := e2b.Archive{Hash: strings.Repeat("a", 64), Tar: []byte("archive")}
	for name, tt := range map[string]struct {
		fault      e2btest.Fault
		asks, puts int
		words      string
	}{
		"well":          {e2btest.Fault{Route: "none"}, 1, 1, ""},
		"cut":           {e2btest.Fault{Route: put, Reset: true}, 1, 2, ""},
		"store is busy": {e2btest.Fault{Route: put, Status: 503, Body: "<Error><Code>SlowDown</Code></Error>"}, 1, 2, ""},
		"address ended": {e2btest.Fault{Route: put, Status: 403, Body: "<Error><Code>AccessDenied</Code></Error>"}, 2, 2, ""},
		"never taken":   {e2btest.Fault{Route: put, Times: -1, Status: 403, Body: "<Error><Code>AccessDenied</Code></Error>"}, 2, 2, "AccessDenied"},
		"bad hash":      {e2btest.Fault{Route: ask, Status: 400, Message: "Invalid files hash"}, 1, 0, "Invalid files hash"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, e2btest.Options{UploadHeaders: map[string]string{"x-ms-blob-type": "BlockBlob"}})
			id, _ := w.AddTemplate(e2btest.Key, "agent", "default")
			w.Inject(tt.fault)
			err := w.client.Upload(t.Context(), id, archive)
			if tt.words == "" && err != nil {
				t.Error(err)
			}
			if tt.words != "" {
				if p := asProblem(t, err, tt.words); strings.Contains(p.Detail(), "signature=") {
					t.Errorf("the signed address shows in %s", p.Detail())
				}
			}
			w.asked(t, ask, tt.asks)
			w.asked(t, put, tt.puts)
			if tt.words == "" {
				if err := w.client.Upload(t.Context(), id, archive); err != nil {
					t.Error(err)
				}
				w.asked(t, put, tt.puts)
			}
		})
	}
}

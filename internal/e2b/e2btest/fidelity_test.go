package e2btest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// fake is a server, and a way to ask it without any client's help.
type fake struct {
	*e2btest.Server
	clock *e2btest.Clock
}

func newFake(t *testing.T, options e2btest.Options) fake {
	t.Helper()
	clock := e2btest.NewClock()
	options.Now = clock.Now
	server, err := e2btest.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return fake{server, clock}
}

// ask makes one request and gives the status, and the message or the whole body.
func (f fake) ask(t *testing.T, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	address := path
	if !strings.HasPrefix(path, "http") {
		address = f.URL + path
	}
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(address, "/upload/") {
		request.Header.Set("X-API-Key", e2btest.Key)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	if request.Header.Get("Transfer-Encoding") != "" {
		request.ContentLength, request.Body = -1, io.NopCloser(bytes.NewReader([]byte(body)))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var failure struct {
		Code    int
		Message string
	}
	if json.Unmarshal(content, &failure) == nil && failure.Message != "" {
		if failure.Code != response.StatusCode {
			t.Errorf("%s %s: code %d in an answer %d", method, path, failure.Code, response.StatusCode)
		}
		return response.StatusCode, failure.Message
	}
	return response.StatusCode, string(content)
}

// member is a member of a JSON answer.
func member(t *testing.T, content, name string) string {
	t.Helper()
	var values map[string]any
	if err := json.Unmarshal([]byte(content), &values); err != nil {
		t.Fatalf("%s: %v", content, err)
	}
	text, _ := values[name].(string)
	return text
}

// TestWordsAndOrderOfChecks: what E2B's server says to each mistake.
func TestWordsAndOrderOfChecks(t *testing.T) {
	f := newFake(t, e2btest.Options{Teams: map[string]e2btest.Team{e2btest.Key: {Slug: "acme"}, "e2b_0b": {Slug: "other"}}})
	id, build := f.AddTemplate(e2btest.Key, "agent", "default", "v1")
	theirs, _ := f.AddTemplate("e2b_0b", "theirs", "default")
	const create, absent = "/v3/templates", "9c0c6a1e-2a53-4a35-8f0b-0b1f8b5d6c11"
	for name, tt := range map[string]struct {
		method, path, body string
		status             int
		message            string
	}{
		"no name":             {"POST", create, `{}`, 400, "Name is required"},
		"bad name":            {"POST", create, `{"name":"bad name!"}`, 400, "Invalid name: invalid template ID: bad name!"},
		"bad tag in name":     {"POST", create, `{"name":"a:b!"}`, 400, "Invalid name: invalid tag: b!"},
		"bad namespace":       {"POST", create, `{"name":"a!/b"}`, 400, "Invalid name: invalid namespace: a!"},
		"namespace of others": {"POST", create, `{"name":"other/b"}`, 400, "namespace 'other' must match your team 'acme'"},
		"bad tag":             {"POST", create, `{"name":"a","tags":["v1!"]}`, 400, "Invalid tag: invalid tag 'v1!': invalid tag: v1!"},
		"a UUID as tag":       {"POST", create, `{"name":"a","tags":["` + absent + `"]}`, 400, "Invalid tag: invalid tag '" + absent + "': tag cannot be a UUID"},
		"an id as name":       {"POST", create, `{"name":"` + theirs + `"}`, 409, "Alias '" + theirs + "' is already used"},
		"no CPU":              {"POST", create, `{"name":"a","cpuCount":0}`, 400, "validation error: error in openapi3filter.RequestError: request body has an error: doesn't match schema #/components/schemas/TemplateBuildRequestV3: Error at \"/cpuCount\": number must be at least 1"},
		"odd CPUs":            {"POST", create, `{"name":"a","cpuCount":3}`, 400, "CPU count must be 1 or an even number"},
		"33 CPUs":             {"POST", create, `{"name":"a","cpuCount":34}`, 400, "CPU count must be at most 32"},
		"beyond the team":     {"POST", create, `{"name":"a","cpuCount":16}`, 400, "CPU count can't be higher than 8 (if you need to increase this limit, please contact support)"},
		"odd memory":          {"POST", create, `{"name":"a","memoryMB":1001}`, 400, "Memory must be divisible by 2"},
		"too much memory":     {"POST", create, `{"name":"a","memoryMB":9000}`, 400, "Memory can't be higher than 8192 MiB (if you need to increase this limit, please contact support)"},
		"no JSON":             {"POST", create, `{`, 400, "validation error: error in openapi3filter.RequestError: request body has an error: failed to decode request body: unexpected end of JSON input"},
		"wrong method":        {"PUT", create, ``, 404, "validation error: method not allowed"},
		"wrong route":         {"GET", "/v9/templates", ``, 404, "validation error: no matching operation was found"},
		"bad build id":        {"POST", "/v2/templates/" + id + "/builds/x", `{"fromImage":"a"}`, 400, "Invalid build ID: x"},
		"done already":        {"POST", "/v2/templates/" + id + "/builds/" + build, `{"fromImage":"a"}`, 400, "build is not in waiting state"},
		"absent template":     {"POST", "/v2/templates/absent/builds/" + absent, `{"fromImage":"a"}`, 404, "Error when getting template: template 'absent' not found"},
		"bad hash":            {"GET", "/templates/" + id + "/files/abc", ``, 400, "Invalid files hash"},
		"foreign files":       {"GET", "/templates/" + theirs + "/files/" + strings.Repeat("a", 64), ``, 404, "Error when getting template: template '" + theirs + "' not found"},
		"status, bad id":      {"GET", "/templates/" + id + "/builds/x/status", ``, 400, "Invalid build id"},
		"status, absent":      {"GET", "/templates/" + id + "/builds/" + absent + "/status", ``, 400, "Build '" + absent + "' not found"},
		"status, limit":       {"GET", "/templates/" + id + "/builds/" + build + "/status?limit=101", ``, 400, "validation error: error in openapi3filter.RequestError: parameter \"limit\" in query has an error: number must be at most 100"},
		"read by name":        {"GET", "/templates/agent", ``, 404, "Template agent not found"},
		"read a foreign":      {"GET", "/templates/" + theirs, ``, 403, "You don't have access to this sandbox template (" + theirs + ")"},
		"alias, absent":       {"GET", "/templates/aliases/absent", ``, 404, "template 'acme/absent' not found"},
		"alias, tag absent":   {"GET", "/templates/aliases/acme%2Fagent:v9", ``, 404, "tag 'v9' does not exist for template 'acme/agent'"},
		"alias, foreign":      {"GET", "/templates/aliases/other%2Ftheirs", ``, 400, "namespace 'other' must match your team 'acme'"},
		"alias, foreign id":   {"GET", "/templates/aliases/" + theirs, ``, 403, "You don't have access to this template alias"},
		"bad token":           {"GET", "/v2/templates?nextToken=x", ``, 400, "Invalid next token"},
		"team":                {"GET", "/v2/templates?teamID=x", ``, 400, "Team ID param mismatch with the API key"},
		"no tags":             {"POST", "/templates/tags", `{"target":"agent"}`, 400, "At least one tag is required"},
		"tag what is not":     {"POST", "/templates/tags", `{"target":"agent:` + absent + `","tags":["x"]}`, 404, "Template 'agent:" + absent + "' with tag '" + absent + "' not found"},
		"untag default":       {"DELETE", "/templates/tags", `{"name":"agent","tags":["default"]}`, 400, "Cannot delete the 'default' tag"},
		"untag by tag":        {"DELETE", "/templates/tags", `{"name":"agent:v1","tags":["v1"]}`, 400, "Template name should not contain a tag, use the 'tags' field instead"},
		"delete a bad name":   {"DELETE", "/templates/a!", ``, 400, "Invalid template ID: invalid template ID: a!"},
		"delete an absent":    {"DELETE", "/templates/absent", ``, 404, "template 'absent' not found"},
		"delete a foreign":    {"DELETE", "/templates/" + theirs, ``, 403, "You don't have access to template '" + theirs + "'"},
		"no time":             {"POST", "/v2/sandboxes", `{"templateID":"agent","timeout":0}`, 400, "Timeout must be greater than 0"},
		"too much time":       {"POST", "/v2/sandboxes", `{"templateID":"agent","timeout":100000}`, 400, "Timeout cannot be greater than 24 hours"},
		"bad reference":       {"POST", "/v2/sandboxes", `{"templateID":"a!"}`, 400, "Invalid template reference: invalid template ID: a!"},
		"not secure":          {"POST", "/sandboxes", `{"templateID":"agent","network":{"allowPublicTraffic":false}}`, 400, "You cannot create a sandbox without public access unless you enable secure envd access via 'secure' flag."},
		"foreign, private":    {"POST", "/v2/sandboxes", `{"templateID":"other/theirs"}`, 404, "template 'other/theirs' not found"},
		"foreign, by id":      {"POST", "/v2/sandboxes", `{"templateID":"` + theirs + `"}`, 403, "you don't have access to template '" + theirs + "'"},
		"absent sandbox":      {"GET", "/sandboxes/iabsent", ``, 404, "Sandbox \"iabsent\" doesn't exist or you don't have access to it"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, message := f.ask(t, tt.method, tt.path, tt.body); status != tt.status || message != tt.message {
				t.Errorf("answered %d %s\nwant %d %s", status, message, tt.status, tt.message)
			}
		})
	}
	if left := f.Left(); len(left) != 2 {
		t.Errorf("refused requests made something: %q", left)
	}
}

// TestNamesThatChangeMeanwhile: what E2B's server says where a name changes hands in the middle of a request.
func TestNamesThatChangeMeanwhile(t *testing.T) {
	f := newFake(t, e2btest.Options{Teams: map[string]e2btest.Team{e2btest.Key: {Slug: "acme"}}})
	id, _ := f.AddTemplate(e2btest.Key, "agent", "default")
	f.Meanwhile(func() { f.Vanish("acme/agent") })
	if status, message := f.ask(t, "POST", "/v3/templates", `{"name":"agent"}`); status != 404 || message != "Template '"+id+"' has been deleted and cannot be rebuilt" {
		t.Errorf("a template that is deleted meanwhile: %d %s", status, message)
	}
	f.Meanwhile(func() { f.AddTemplate(e2btest.Key, "agent", "default") })
	if status, message := f.ask(t, "POST", "/v3/templates", `{"name":"agent"}`); status != 403 || message != "Alias 'agent' already used" {
		t.Errorf("a name that is taken meanwhile: %d %s", status, message)
	}
	if left := f.Left(); len(left) != 1 || !strings.Contains(left[0], "1 builds") {
		t.Errorf("refused requests made something: %q", left)
	}
}

func TestBuildsOnTheClock(t *testing.T) {
	f := newFake(t, e2btest.Options{Pace: time.Second})
	request := func(body string) (string, string) {
		t.Helper()
		status, answer := f.ask(t, "POST", "/v3/templates", body)
		if status != http.StatusAccepted {
			t.Fatalf("%d %s", status, answer)
		}
		return member(t, answer, "templateID"), member(t, answer, "buildID")
	}
	start := func(id, build, agent string) (int, string) {
		t.Helper()
		return f.ask(t, "POST", "/v2/templates/"+id+"/builds/"+build, `{"fromImage":"python:3.12","steps":[{"type":"RUN","args":["x"]}]}`, "User-Agent", agent)
	}
	stands := func(id, build, want, words string) {
		t.Helper()
		status, answer := f.ask(t, "GET", "/templates/"+id+"/builds/"+build+"/status", "")
		if status != http.StatusOK || member(t, answer, "status") != want || !strings.Contains(answer, words) {
			t.Errorf("stands at %d %s, want %s, %s", status, answer, want, words)
		}
	}
	id, forgotten := request(`{"name":"Agent:V1","tags":["stable"]}`)
	stands(id, forgotten, "waiting", `"logEntries":[]`)
	f.clock.Advance(41 * time.Minute)
	stands(id, forgotten, "error", "build is in waiting state for too long")

	_, superseded := request(`{"name":"agent","tags":["stable"]}`)
	_, built := request(`{"name":"agent","tags":["stable","v2"]}`)
	stands(id, superseded, "error", "superseded by a newer one")
	if status, message := start(id, built, "e2b-js-sdk/new"); status != http.StatusBadRequest || !strings.Contains(message, "Error when parsing user agent") {
		t.Errorf("an SDK of no version starts a build: %d %s", status, message)
	}
	if status, message := start(id, built, "terraform-provider-datalayer/1"); status != http.StatusAccepted || message != "" {
		t.Errorf("%d %q", status, message)
	}
	f.clock.Advance(2 * time.Second)
	stands(id, built, "building", `[base] FROM python:3.12`)
	if _, refused := f.Launches(e2btest.Key, "agent:v2"); refused != "tag 'v2' does not exist for template 'agent'" {
		t.Errorf("a build that is not ready launches: %s", refused)
	}
	f.clock.Advance(time.Minute)
	stands(id, built, "ready", `"step":"finalize"`)
	for reference, want := range map[string]string{"agent:stable": built, "acme-team/agent:" + built: built, id + ":v2": built, "agent": "", "acme-team/" + id + ":v2": ""} {
		if got, refused := f.Launches(e2btest.Key, reference); got != want {
			t.Errorf("%s launches %q: %s", reference, got, refused)
		}
	}

	// A build that lost its last tag is neither listed nor launched.
	if status, _ := f.ask(t, "DELETE", "/templates/tags", `{"name":"agent","tags":["stable","v2"]}`); status != http.StatusNoContent {
		t.Error(status)
	}
	if got, _ := f.Launches(e2btest.Key, "agent:"+built); got != "" {
		t.Error("a build without a tag launches")
	}
	if _, answer := f.ask(t, "GET", "/templates/"+id, ""); strings.Contains(answer, built) {
		t.Errorf("a build without a tag is listed: %s", answer)
	}
	if _, answer := f.ask(t, "GET", "/v2/templates", ""); !strings.Contains(answer, "00000000-0000-0000-0000-000000000000") {
		t.Errorf("listed %s", answer)
	}

	// The image is in the cache now: its tag is not looked at again, nor a login for it.
	_, cached := request(`{"name":"agent","tags":["v3"]}`)
	if status, message := start(id, cached, "x"); status != http.StatusAccepted {
		t.Errorf("%d %s", status, message)
	}
	f.clock.Advance(time.Minute)
	stands(id, cached, "ready", "CACHED [builder 1/1] RUN x")
	_, both := request(`{"name":"agent","tags":["v4"]}`)
	status, message := f.ask(t, "POST", "/v2/templates/"+id+"/builds/"+both, `{"fromImage":"a","fromTemplate":"b","steps":[]}`)
	if status != http.StatusInternalServerError || message != "Error when starting template build: failed to set template source: must specify either fromImage or fromTemplate" {
		t.Errorf("%d %s", status, message)
	}
	stands(id, both, "error", "must specify either")
}

func TestUploadsAsAStoreTakesThem(t *testing.T) {
	f := newFake(t, e2btest.Options{UploadHeaders: map[string]string{"x-ms-blob-type": "BlockBlob"}})
	id, _ := f.AddTemplate(e2btest.Key, "agent", "default")
	_, answer := f.ask(t, "GET", "/templates/"+id+"/files/"+strings.Repeat("a", 64), "")
	address := member(t, answer, "url")
	for name, tt := range map[string]struct {
		address string
		headers []string
		status  int
		code    string
	}{
		"bad signature":  {address + "0", []string{"x-ms-blob-type", "BlockBlob"}, 403, "SignatureDoesNotMatch"},
		"chunked":        {address, []string{"x-ms-blob-type", "BlockBlob", "Transfer-Encoding", "chunked"}, 501, "NotImplemented"},
		"with a key":     {address, []string{"x-ms-blob-type", "BlockBlob", "X-API-Key", e2btest.Key}, 400, "InvalidRequest"},
		"without header": {address, nil, 400, "MissingRequiredHeader"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, body := f.ask(t, "PUT", tt.address, "tar", tt.headers...); status != tt.status || !strings.Contains(body, tt.code) {
				t.Errorf("answered %d %s", status, body)
			}
		})
	}
	f.clock.Advance(31 * time.Minute)
	if status, _ := f.ask(t, "PUT", address, "tar", "x-ms-blob-type", "BlockBlob"); status != 403 {
		t.Errorf("an address that ended takes files: %d", status)
	}
}

func TestEnvdTakesSignedAddresses(t *testing.T) {
	f := newFake(t, e2btest.Options{})
	_, answer := f.ask(t, "POST", "/v2/sandboxes", `{"templateID":"base"}`)
	id, token := member(t, answer, "sandboxID"), member(t, answer, "envdAccessToken")
	signature := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "v1_" + strings.NewReplacer("+", "%2B", "/", "%2F").Replace(base64.RawStdEncoding.EncodeToString(sum[:]))
	}
	for name, tt := range map[string]struct {
		method, query string
		status        int
	}{
		"write":             {"POST", "path=/tmp/x&signature=" + signature("/tmp/x:write::"+token), 200},
		"another path":      {"GET", "path=/tmp/y&signature=" + signature("/tmp/x:read::"+token), 401},
		"another operation": {"GET", "path=/tmp/x&signature=" + signature("/tmp/x:write::"+token), 401},
		"ended":             {"GET", "path=/tmp/x&signature_expiration=1&signature=" + signature("/tmp/x:read::"+token+":1"), 401},
		"no token":          {"GET", "path=/tmp/x", 401},
	} {
		if status, body := f.ask(t, tt.method, "/files?"+tt.query, "content", "E2b-Sandbox-Id", id, "E2b-Sandbox-Port", "49983"); status != tt.status {
			t.Errorf("%s: answered %d %s", name, status, body)
		}
	}
	if status, body := f.ask(t, "GET", "/files?path=/tmp/x&signature="+signature("/tmp/x:read::"+token), "", "E2b-Sandbox-Id", id); status != 200 || body != "content" {
		t.Errorf("read %d %q", status, body)
	}
	if status, body := f.ask(t, "GET", "/health", "", "E2b-Sandbox-Id", id, "E2b-Sandbox-Port", "8080"); status != 502 {
		t.Errorf("a closed port answers %d %s", status, body)
	}
	f.EndSandboxes()
	if status, message := f.ask(t, "GET", "/health", "", "E2b-Sandbox-Id", id); status != 502 || message != "The sandbox was not found" {
		t.Errorf("a sandbox that ended answers %d %s", status, message)
	}
	if left := f.Left(); len(left) != 0 {
		t.Errorf("left %q", left)
	}
}

package e2b_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// newer are what E2B's SDKs of autumn 2026 use and the document, of August, does not have yet: calls, and members of
// what it has. make contract has the SDKs prove them.
var (
	newer       = map[string]string{"POST /v2/sandboxes": "POST /sandboxes", "POST /v2/sandboxes/{sandboxID}/connect": "POST /sandboxes/{sandboxID}/connect"}
	newerFields = map[string][]string{"TemplateBuildFileUpload": {"headers"}}
)

// document is E2B's OpenAPI document, as far as the tests read it.
type document struct {
	Paths      map[string]map[string]operation
	Components struct {
		Schemas    map[string]*schema
		Parameters map[string]parameter
		Responses  map[string]response
	}
}

type operation struct {
	Parameters  []parameter
	RequestBody struct {
		Content map[string]struct{ Schema *schema }
	} `yaml:"requestBody"`
	Responses map[string]response
}

type parameter struct {
	Ref  string `yaml:"$ref"`
	Name string
	In   string
}

type response struct {
	Ref     string `yaml:"$ref"`
	Content map[string]struct{ Schema *schema }
}

type schema struct {
	Ref        string `yaml:"$ref"`
	Type       string
	Nullable   bool
	Required   []string
	Properties map[string]*schema
	Items      *schema
	Additional any       `yaml:"additionalProperties"`
	AllOf      []*schema `yaml:"allOf"`
	OneOf      []*schema `yaml:"oneOf"`
	Enum       []string
}

func load(t *testing.T) *document {
	t.Helper()
	content, err := os.ReadFile("testdata/e2b-openapi.yml")
	if err != nil {
		t.Fatal(err)
	}
	d := &document{}
	if err := yaml.Unmarshal(content, d); err != nil {
		// Path items also hold lists of parameters, which no route that is used here has.
		t.Fatal(err)
	}
	return d
}

func last(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

func (d *document) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = d.Components.Schemas[last(s.Ref)]
	}
	return s
}

// check tells in what a JSON value differs from a schema: members that are missing or unknown, and values of another type.
func (d *document) check(at string, s *schema, value any) []string {
	name := ""
	if s.Ref != "" {
		name = last(s.Ref)
	}
	s = d.resolve(s)
	if len(s.AllOf) == 1 {
		nullable := s.Nullable
		if value == nil && nullable {
			return nil
		}
		return d.check(at, s.AllOf[0], value)
	}
	if len(s.OneOf) > 0 {
		var all []string
		for _, one := range s.OneOf {
			wrong := d.check(at, one, value)
			if len(wrong) == 0 {
				return nil
			}
			all = append(all, wrong...)
		}
		return all
	}
	if value == nil {
		if s.Nullable {
			return nil
		}
		return []string{at + " is null"}
	}
	var wrong []string
	switch got := value.(type) {
	case map[string]any:
		if s.Type != "" && s.Type != "object" {
			return []string{at + " is an object, not " + s.Type}
		}
		for _, member := range s.Required {
			if _, ok := got[member]; !ok {
				wrong = append(wrong, at+"."+member+" is missing")
			}
		}
		for member, inner := range got {
			known := s.Properties[member]
			switch {
			case known != nil:
				wrong = append(wrong, d.check(at+"."+member, known, inner)...)
			case s.Additional == nil && !slices.Contains(newerFields[name], member):
				wrong = append(wrong, at+"."+member+" is unknown")
			}
		}
	case []any:
		if s.Type != "array" {
			return []string{at + " is a list, not " + s.Type}
		}
		for i, inner := range got {
			wrong = append(wrong, d.check(fmt.Sprintf("%s[%d]", at, i), s.Items, inner)...)
		}
	case string:
		if s.Type != "string" && s.Type != "" {
			return []string{at + " is text, not " + s.Type}
		}
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, got) {
			wrong = append(wrong, fmt.Sprintf("%s is %q, not one of %q", at, got, s.Enum))
		}
	case float64:
		if s.Type != "integer" && s.Type != "number" {
			return []string{at + " is a number, not " + s.Type}
		}
	case bool:
		if s.Type != "boolean" {
			return []string{at + " is a truth value, not " + s.Type}
		}
	}
	return wrong
}

// TestTrafficIsAsTheDocumentSays makes every call of the control plane, well and badly, and compares both sides with
// E2B's document: routes, parameters, bodies and statuses.
func TestTrafficIsAsTheDocumentSays(t *testing.T) {
	w := newWorld(t, e2btest.Options{Pace: time.Second, Registries: map[string]map[string]string{"localhost:5000": {"ci": "registry-password"}}})
	everyCall(t, w)
	d := load(t)
	seen := map[string]bool{}
	for _, request := range w.Requests() {
		name := request.Name()
		if request.Header.Get("E2b-Sandbox-Id") != "" || strings.HasPrefix(request.Route, "/upload/") {
			continue
		}
		seen[name] = true
		if older, ok := newer[name]; ok {
			name = older
		}
		method, path, _ := strings.Cut(name, " ")
		operation, ok := d.Paths[path][strings.ToLower(method)]
		if !ok {
			t.Errorf("the document has no %s", name)
			continue
		}
		d.checkQuery(t, request, operation)
		if body := operation.RequestBody.Content["application/json"].Schema; body != nil && len(request.Body) > 0 {
			d.compare(t, name+" request", body, request.Body)
		} else if len(request.Body) > 0 {
			t.Errorf("%s has a body, and the document none", name)
		}
		answer, ok := operation.Responses[strconv.Itoa(request.Status)]
		if answer.Ref != "" {
			answer = d.Components.Responses[last(answer.Ref)]
		}
		// E2B refuses with statuses that not every operation lists.
		if !ok && request.Status < 400 {
			t.Errorf("%s was answered %d, which the document does not have", name, request.Status)
		}
		if body := answer.Content["application/json"].Schema; body != nil {
			d.compare(t, fmt.Sprintf("%s answer %d", name, request.Status), body, request.Answer)
		}
	}
	for _, route := range w.Routes() {
		method, path, _ := strings.Cut(route, " ")
		_, known := d.Paths[path][strings.ToLower(method)]
		_, isNewer := newer[route]
		if !known && !isNewer && !strings.HasPrefix(path, "/upload/") && !slices.Contains(insideSandboxes, route) {
			t.Errorf("the stand-in answers %s, which the document does not have", route)
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d routes were asked for", len(seen))
	}
}

var insideSandboxes = []string{"GET /envs", "GET /metrics", "GET /files", "POST /files", "POST /execute", "GET /contexts", "POST /contexts", "POST /contexts/{id}/restart", "DELETE /contexts/{id}",
	"POST /process.Process/Start", "POST /process.Process/Connect", "POST /process.Process/List", "POST /process.Process/SendSignal", "POST /process.Process/SendInput",
	"POST /process.Process/CloseStdin", "POST /filesystem.Filesystem/Stat", "POST /filesystem.Filesystem/ListDir", "POST /filesystem.Filesystem/MakeDir",
	"POST /filesystem.Filesystem/Move", "POST /filesystem.Filesystem/Remove"}

func (d *document) checkQuery(t *testing.T, request e2btest.Request, operation operation) {
	t.Helper()
	known := map[string]bool{}
	for _, one := range operation.Parameters {
		if one.Ref != "" {
			one = d.Components.Parameters[last(one.Ref)]
		}
		if one.In == "query" {
			known[one.Name] = true
		}
	}
	for name := range request.Query {
		if !known[name] {
			t.Errorf("%s is asked with %s, which the document does not have", request.Name(), name)
		}
	}
}

func (d *document) compare(t *testing.T, what string, s *schema, content []byte) {
	t.Helper()
	var value any
	if err := json.Unmarshal(content, &value); err != nil {
		t.Errorf("%s is no JSON: %v", what, err)
		return
	}
	for _, wrong := range d.check(what, s, value) {
		t.Error(wrong)
	}
}

// everyCall makes every call that the client has for the control plane, and some that are refused.
func everyCall(t *testing.T, w world) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	content := []byte("archive")
	full := order()
	full.Archives = []e2b.Archive{{Hash: strings.Repeat("a", 64), Tar: content}}
	full.Start.Steps = append(full.Start.Steps, e2b.Step{Type: "COPY", Args: []string{"x", "/x", "", ""}, FilesHash: strings.Repeat("a", 64)})
	full.Start.Registry = &e2b.RegistryLogin{Username: "ci", Password: secret.New("registry-password")}
	full.Start.StartCommand, full.Start.Force = "start", true
	built := w.ready(t, full)
	bad := order()
	bad.Request.Tags = []string{"dl-2"}
	bad.Start.FromImage = "localhost:5000/other@sha256:bb"
	if _, err := w.client.NewBuilder().Build(ctx, bad); err == nil {
		t.Error("an image without its login was pulled")
	}
	child := order()
	child.Request = e2b.BuildRequest{Name: "child", Tags: []string{"dl-3"}}
	child.Start.FromImage, child.Start.FromTemplate = "", e2b.Reference(built.Names[0], built.BuildID)
	second := w.ready(t, child)
	must(w.client.AssignTags(ctx, built.Names[0], built.BuildID, "default", "prod"))
	must(w.client.RemoveTags(ctx, built.Names[0], "prod"))
	_, err := w.client.Tags(ctx, built.TemplateID)
	must(err)
	_, err = w.client.Template(ctx, built.TemplateID)
	must(err)
	_, err = w.client.Templates(ctx)
	must(err)
	_, err = w.client.Alias(ctx, "acme-team/agent")
	must(err)
	must(w.client.SetPublic(ctx, "agent", true))
	sandbox, err := w.client.CreateSandbox(ctx, e2b.NewSandbox{Template: "agent", Timeout: time.Minute, Env: map[string]string{"A": "1"}, Metadata: map[string]string{"run": "1"}, NoInternet: true, Private: true})
	must(err)
	_, err = w.client.Sandboxes(ctx, e2b.SandboxFilter{Template: "agent", States: []e2b.SandboxState{e2b.SandboxRunning}, Metadata: map[string]string{"run": "1"}})
	must(err)
	_, err = w.client.RunningSandboxes(ctx)
	must(err)
	_, err = w.client.Sandbox(ctx, sandbox.SandboxID)
	must(err)
	must(w.client.SetSandboxTimeout(ctx, sandbox.SandboxID, time.Minute))
	must(w.client.PauseSandbox(ctx, sandbox.SandboxID))
	_, err = w.client.ConnectSandbox(ctx, sandbox.SandboxID, time.Minute)
	must(err)
	if err := w.client.DeleteTemplate(ctx, built.TemplateID); !e2b.InUse(err) {
		t.Errorf("a template in use is deleted: %v", err)
	}
	must(w.client.KillSandbox(ctx, sandbox.SandboxID))
	_, _ = w.client.Template(ctx, "absent")
	_, _ = w.client.Alias(ctx, "absent")
	_, _ = w.client.CreateSandbox(ctx, e2b.NewSandbox{Template: "absent"})
	_, _ = w.clientWith(t, "e2b_ff").Templates(ctx)
	w.nothingLeft(t, built.TemplateID, second.TemplateID)
}

// TestTypesAreTheDocuments compares the JSON members of the client's types with the document's schemas.
func TestTypesAreTheDocuments(t *testing.T) {
	d := load(t)
	for name, value := range e2b.Requests {
		known := d.Components.Schemas[name]
		if known == nil {
			t.Errorf("the document has no schema %s", name)
			continue
		}
		members := membersOf(reflect.TypeOf(value))
		for member, kind := range members {
			d.compareMember(t, name, member, kind)
		}
		for _, member := range known.Required {
			if members[member] == nil && name != "ConnectSandbox" {
				t.Errorf("%s: a request lacks %s, which E2B requires", name, member)
			}
		}
	}
	for name, value := range e2b.Answers {
		for member, kind := range membersOf(reflect.TypeOf(value)) {
			d.compareMember(t, name, member, kind)
		}
	}
}

func membersOf(kind reflect.Type) map[string]reflect.Type {
	members := map[string]reflect.Type{}
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		members[name] = kind.Field(i).Type
	}
	return members
}

func (d *document) compareMember(t *testing.T, name, member string, kind reflect.Type) {
	t.Helper()
	if slices.Contains(newerFields[name], member) {
		return
	}
	declared := d.resolve(d.Components.Schemas[name].Properties[member])
	if declared == nil {
		t.Errorf("%s has no member %s", name, member)
		return
	}
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	want := map[reflect.Kind]string{reflect.String: "string", reflect.Int: "integer", reflect.Bool: "boolean", reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object"}[kind.Kind()]
	if kind == reflect.TypeFor[time.Time]() || kind == reflect.TypeFor[e2b.WireSecret]() {
		want = "string"
	}
	if declared.Type != "" && declared.Type != want {
		t.Errorf("%s.%s is %s here and %s in the document", name, member, want, declared.Type)
	}
}

var (
	protoMessage = regexp.MustCompile(`^message (\w+) \{(\})?`)
	protoField   = regexp.MustCompile(`^(?:optional |repeated )?(?:map<[^>]*>|[\w.]+) (\w+) = \d+;`)
)

// protoFields reads the JSON names of all fields of all messages of a file. A field of a oneof is one of its message.
func protoFields(t *testing.T, pkg string) map[string][]string {
	t.Helper()
	content, err := os.ReadFile("testdata/" + pkg + ".proto")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string][]string{}
	var at []string
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		switch found := protoMessage.FindStringSubmatch(line); {
		case found != nil && found[2] == "}":
		case found != nil:
			at = append(at, found[1])
		case strings.HasSuffix(line, "{"):
			at = append(at, "")
		case line == "}" && len(at) > 0:
			at = at[:len(at)-1]
		}
		if found := protoField.FindStringSubmatch(line); found != nil {
			name := pkg
			for _, message := range at {
				if message != "" {
					name += "." + message
				}
			}
			fields[name] = append(fields[name], lowerCamel(found[1]))
		}
	}
	return fields
}

func lowerCamel(name string) string {
	words := strings.Split(name, "_")
	for i := range words[1:] {
		words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
	}
	return strings.Join(words, "")
}

// TestMessagesAreTheProtocolBuffers compares the JSON members of the messages to envd with its protocol buffers.
func TestMessagesAreTheProtocolBuffers(t *testing.T) {
	fields := map[string][]string{}
	for _, pkg := range []string{"process", "filesystem"} {
		for name, found := range protoFields(t, pkg) {
			fields[name] = found
		}
	}
	for name, value := range e2b.Messages {
		if len(fields[name]) == 0 {
			t.Errorf("envd has no message %s", name)
			continue
		}
		for member := range membersOf(reflect.TypeOf(value)) {
			if !slices.Contains(fields[name], member) {
				t.Errorf("%s has no field %s but %q", name, member, fields[name])
			}
		}
	}
}

package e2b_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// world is a fake E2B and a client of it, both on one clock that only pauses move on.
type world struct {
	*e2btest.Server
	clock  *e2btest.Clock
	client *e2b.Client
}

func newWorld(t *testing.T, options e2btest.Options) world {
	t.Helper()
	clock := e2btest.NewClock()
	if options.Now == nil {
		options.Now = clock.Now
	}
	server, err := e2btest.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	w := world{server, clock, nil}
	w.client = w.clientWith(t, e2btest.Key)
	return w
}

func (w world) clientWith(t *testing.T, key string) *e2b.Client {
	t.Helper()
	return w.clientOn(t, key, w.clock)
}

func (w world) clientOn(t *testing.T, key string, clock retry.Clock) *e2b.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client, err := e2b.New(e2b.Options{APIKey: secret.New(key), APIURL: w.URL, SandboxURL: w.URL, Transport: transport, Clock: clock,
		UserAgent: "terraform-provider-datalayer/test"})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// order is a small build of the template "agent".
func order() e2b.Order {
	return e2b.Order{
		Request: e2b.BuildRequest{Name: "agent", Tags: []string{"dl-1"}, CPUCount: 2, MemoryMB: 1024},
		Start: e2b.BuildStart{FromImage: "localhost:5000/env@sha256:aa", Steps: []e2b.Step{
			{Type: "USER", Args: []string{"root"}}, {Type: "RUN", Args: []string{"pip install x"}}, {Type: "WORKDIR", Args: []string{"/home/datalayer"}},
		}, ReadyCommand: "sleep 0"},
	}
}

// ready builds an order, which must succeed.
func (w world) ready(t *testing.T, order e2b.Order) e2b.Built {
	t.Helper()
	built, err := w.client.NewBuilder().Build(t.Context(), order)
	if err != nil {
		t.Fatalf("build failed: %v", err)
	}
	return built
}

// asProblem wants a problem that names each of the words, and no secret.
func asProblem(t *testing.T, err error, words ...string) *problem.Problem {
	t.Helper()
	var p *problem.Problem
	if !errors.As(err, &p) {
		t.Fatalf("no problem but %v", err)
	}
	text := p.Title + "\n" + p.Detail()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is missing in:\n%s", word, text)
		}
	}
	if strings.Contains(text, e2btest.Key) {
		t.Errorf("the API key shows in:\n%s", text)
	}
	return p
}

// says wants what asProblem does.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	_ = asProblem(t, err, words...)
}

// asked wants a number of requests of a route.
func (w world) asked(t *testing.T, name string, want int) {
	t.Helper()
	if got := w.Count(name); got != want {
		t.Errorf("%s was asked %d times, want %d", name, got, want)
	}
}

// nothingLeft deletes a template and wants nothing left.
func (w world) nothingLeft(t *testing.T, templateIDs ...string) {
	t.Helper()
	for _, id := range templateIDs {
		if err := w.client.DeleteTemplate(context.WithoutCancel(t.Context()), id); err != nil {
			t.Error(err)
		}
	}
	if left := w.Left(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestLifeOfATemplate(t *testing.T) {
	w := newWorld(t, e2btest.Options{Pace: time.Second, UploadHeaders: map[string]string{"x-ms-blob-type": "BlockBlob"}, Registries: map[string]map[string]string{"localhost:5000": {"ci": "registry-password"}}})
	first := order()
	first.Start.Registry = &e2b.RegistryLogin{Username: "ci", Password: secret.New("registry-password")}
	content := []byte("not a real archive")
	first.Archives = []e2b.Archive{{Hash: strings.Repeat("a", 64), Tar: content}}
	first.Start.Steps = append(first.Start.Steps, e2b.Step{Type: "COPY", Args: []string{"x", "/opt/x", "root:root", "0644"}, FilesHash: strings.Repeat("a", 64)})
	built := w.ready(t, first)
	if built.TemplateID == "" || built.BuildID == "" || built.Warning != nil || !slices.Equal(built.Names, []string{"acme-team/agent"}) || e2b.TeamOf(built.Names[0]) != "acme-team" {
		t.Fatalf("built %+v", built)
	}
	if builds := w.Builds(); len(builds) != 1 || builds[0].Status != "ready" || builds[0].Dir != "/home/datalayer" || len(builds[0].Steps) != 4 {
		t.Errorf("the fake has %+v", builds)
	}
	if _, err := w.client.Alias(t.Context(), "agent:default"); !e2b.NotFound(err) {
		t.Errorf("a build with a tag of its own has the tag default too: %v", err)
	}

	if err := w.client.AssignTags(t.Context(), built.Names[0], built.BuildID, e2b.DefaultTag, "prod"); err != nil {
		t.Fatal(err)
	}
	second := order()
	second.Request.Tags = []string{"dl-2"}
	rebuilt := w.ready(t, second)
	if rebuilt.TemplateID != built.TemplateID || rebuilt.BuildID == built.BuildID {
		t.Errorf("rebuilt as %s/%s, was %s/%s", rebuilt.TemplateID, rebuilt.BuildID, built.TemplateID, built.BuildID)
	}
	for reference, want := range map[string]string{"agent": built.BuildID, e2b.Reference("acme-team/agent", built.BuildID): built.BuildID, e2b.Reference("acme-team/agent", rebuilt.BuildID): rebuilt.BuildID} {
		if got, refused := w.Launches(e2btest.Key, reference); got != want {
			t.Errorf("%s launches %q (%s), want %s", reference, got, refused, want)
		}
	}
	tags, err := w.client.Tags(t.Context(), "agent")
	if err != nil || len(tags) != 4 {
		t.Errorf("tags %v, %v", tags, err)
	}
	if err := w.client.RemoveTags(t.Context(), "agent", "prod", "absent"); err != nil {
		t.Error(err)
	}
	says(t, w.client.RemoveTags(t.Context(), "agent", "default"), "Cannot delete the 'default' tag")

	template, err := w.client.Template(t.Context(), built.TemplateID)
	if err != nil || len(template.Builds) != 2 || template.Build(built.BuildID) == nil || template.Build(built.BuildID).Status != e2b.StatusReady {
		t.Errorf("template %+v, %v", template, err)
	}
	if err := w.client.SetPublic(t.Context(), built.TemplateID, true); err != nil {
		t.Error(err)
	}
	listed, err := w.client.Templates(t.Context())
	if err != nil || len(listed) != 1 || listed[0].BuildID != built.BuildID || !listed[0].Public || listed[0].BuildCount != 2 {
		t.Errorf("listed %+v, %v", listed, err)
	}
	alias, err := w.client.Alias(t.Context(), "acme-team/agent:default")
	if err != nil || alias.TemplateID != built.TemplateID {
		t.Errorf("alias %+v, %v", alias, err)
	}
	for _, request := range w.Requests() {
		if request.Status >= 500 || request.Route != "/upload/{team}/{hash}" && request.Header.Get("User-Agent") != "terraform-provider-datalayer/test" {
			t.Errorf("%s %s: %d, user agent %q", request.Method, request.Path, request.Status, request.Header.Get("User-Agent"))
		}
	}
	w.nothingLeft(t, built.TemplateID)
	if retained := w.Retained(); len(retained) != 6 {
		t.Errorf("E2B keeps %q", retained)
	}
	if _, err := w.client.Template(t.Context(), built.TemplateID); !e2b.NotFound(err) {
		t.Errorf("a deleted template is read: %v", err)
	}
	if err := w.client.DeleteTemplate(t.Context(), built.TemplateID); err != nil {
		t.Errorf("deleting again: %v", err)
	}
}

package e2b_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

const (
	execute = "POST /execute"
	exec    = "POST /process.Process/Start"
)

// inSandbox starts a sandbox of a template whose user is datalayer.
func inSandbox(t *testing.T, options e2btest.Options, want e2b.NewSandbox) (world, e2b.Sandbox, *e2b.Running) {
	t.Helper()
	w := newWorld(t, options)
	order := order()
	order.Start.Steps = append(order.Start.Steps, e2b.Step{Type: "USER", Args: []string{"datalayer"}})
	built := w.ready(t, order)
	want.Template = e2b.Reference(built.Names[0], built.BuildID)
	if want.Timeout == 0 {
		want.Timeout = time.Hour
	}
	sandbox, err := w.client.CreateSandbox(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.client.KillSandbox(context.WithoutCancel(t.Context()), sandbox.SandboxID); err != nil {
			t.Error(err)
		}
		w.nothingLeft(t, built.TemplateID)
	})
	return w, sandbox, w.client.Running(sandbox)
}

func TestLifeOfASandbox(t *testing.T) {
	for name, options := range map[string]e2btest.Options{"today's calls": {}, "the older calls": {Legacy: true}} {
		t.Run(name, func(t *testing.T) {
			w, sandbox, running := inSandbox(t, options, e2b.NewSandbox{Private: true, Metadata: map[string]string{"marker": "a&b=c d%"}, Env: map[string]string{"GREETING": "hello"}})
			if sandbox.EnvdToken.Empty() || sandbox.TrafficToken.Empty() || !strings.HasPrefix(sandbox.SandboxID, "i") {
				t.Errorf("sandbox %v without its tokens", sandbox)
			}
			for _, filter := range []e2b.SandboxFilter{{}, {Template: "agent"}, {Metadata: map[string]string{"marker": "a&b=c d%"}}, {States: []e2b.SandboxState{e2b.SandboxRunning}}} {
				listed, err := w.client.Sandboxes(t.Context(), filter)
				if err != nil || len(listed) != 1 || listed[0].SandboxID != sandbox.SandboxID || listed[0].State != e2b.SandboxRunning {
					t.Errorf("%+v lists %+v, %v", filter, listed, err)
				}
			}
			for _, filter := range []e2b.SandboxFilter{{Template: "other"}, {Metadata: map[string]string{"marker": "other"}}, {States: []e2b.SandboxState{e2b.SandboxPaused}}} {
				if listed, err := w.client.Sandboxes(t.Context(), filter); err != nil || len(listed) != 0 {
					t.Errorf("%+v lists %+v, %v", filter, listed, err)
				}
			}
			if healthy, err := running.Healthy(t.Context()); err != nil || !healthy {
				t.Errorf("healthy: %v, %v", healthy, err)
			}
			if err := w.client.PauseSandbox(t.Context(), sandbox.SandboxID); err != nil {
				t.Error(err)
			}
			if healthy, err := running.Healthy(t.Context()); err != nil || healthy {
				t.Errorf("a paused sandbox is healthy: %v, %v", healthy, err)
			}
			again, err := w.client.ConnectSandbox(t.Context(), sandbox.SandboxID, time.Hour)
			if err != nil || again.EnvdToken != sandbox.EnvdToken {
				t.Errorf("connected to %v, %v", again, err)
			}
			if err := w.client.SetSandboxTimeout(t.Context(), sandbox.SandboxID, 1500*time.Millisecond); err != nil {
				t.Error(err)
			}
			w.clock.Advance(3 * time.Second)
			if _, err := w.client.Sandbox(t.Context(), sandbox.SandboxID); !e2b.NotFound(err) {
				t.Errorf("a sandbox whose time is over is read: %v", err)
			}
			for _, request := range w.Requests() {
				if request.Header.Get("E2b-Sandbox-Id") != "" && request.Header.Get("X-Api-Key") != "" {
					t.Errorf("%s carries the API key into the sandbox", request.Name())
				}
			}
		})
	}
}

func TestSandboxesThatCannotBeStarted(t *testing.T) {
	w := newWorld(t, e2btest.Options{Teams: map[string]e2btest.Team{e2btest.Key: {Slug: "acme", MaxSandboxes: 1}}})
	w.AddTemplate(e2btest.Key, "agent", "default")
	_, err := w.client.CreateSandbox(t.Context(), e2b.NewSandbox{Template: "agent:absent"})
	says(t, err, "404 Not Found", "tag 'absent' does not exist for template 'agent'")
	if w.Count("POST /sandboxes") != 0 {
		t.Error("a template that is not there was taken for an older deployment")
	}
	w.AddSandbox("acme/agent", false)
	_, err = w.client.CreateSandbox(t.Context(), e2b.NewSandbox{Template: "agent"})
	says(t, err, "maximum number of concurrent E2B sandboxes (1)")
	w.EndSandboxes()
	w.Inject(e2btest.Fault{Route: "POST /v2/sandboxes", Times: -1, Status: 503, Body: `{"code":503,"message":"no room","error_code":"sandbox_capacity_unavailable"}`})
	_, err = w.client.CreateSandbox(t.Context(), e2b.NewSandbox{Template: "agent", Env: map[string]string{"TOKEN": "canary"}})
	if p := asProblem(t, err, "sandbox_capacity_unavailable", "no room"); !e2b.Unclear(err) || strings.Contains(p.Detail(), "canary") {
		t.Errorf("got %v", err)
	}
}

func TestCommands(t *testing.T) {
	w, _, running := inSandbox(t, e2btest.Options{}, e2b.NewSandbox{Env: map[string]string{"GREETING": "hello"}})
	w.OnCommand(func(c e2btest.Command) (e2btest.CommandAnswer, bool) {
		if c.Line() != "where-am-i" {
			return e2btest.CommandAnswer{}, false
		}
		return e2btest.CommandAnswer{Stdout: c.User + " " + c.Dir + " " + c.Env["GREETING"] + " " + c.Env["HOME"], Stderr: "warned"}, true
	})
	var streamed []string
	command := e2b.Shell("where-am-i")
	command.Output = func(stream string, text []byte) { streamed = append(streamed, stream+": "+string(text)) }
	got, err := running.Exec(t.Context(), command)
	slices.Sort(streamed)
	if err != nil || string(got.Stdout) != "datalayer /home/datalayer hello /home/datalayer" || string(got.Stderr) != "warned" || len(streamed) != 2 || streamed[0] != "stderr: warned" {
		t.Errorf("got %+v, %q, %v", got, streamed, err)
	}
	command = e2b.Command{Program: "where-am-i", User: "root", Dir: "/tmp", Env: map[string]string{"GREETING": "bye"}}
	if got, err = running.Exec(t.Context(), command); err != nil || string(got.Stdout) != "root /tmp bye /root" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err = running.Exec(t.Context(), e2b.Shell("exit 3")); err != nil || got.ExitCode != 3 || got.Error != "exit status 3" {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = running.Exec(t.Context(), e2b.Command{Program: "x", User: "nobody"})
	says(t, err, "unauthenticated: invalid username: 'nobody'")
	_, err = running.Exec(t.Context(), e2b.Command{Program: "x", Dir: "/absent"})
	says(t, err, "invalid_argument: cwd '/absent' does not exist")
	slow := e2b.Shell("sleep 600")
	slow.Timeout = 10 * time.Millisecond
	_, err = running.Exec(t.Context(), slow)
	says(t, err, "deadline_exceeded", "did not end within its time")
	w.Inject(e2btest.Fault{Route: exec, Status: 502, Body: `{"sandboxId":"i1","message":"The sandbox was not found","code":502}`})
	_, err = running.Exec(t.Context(), e2b.Shell("x"))
	says(t, err, "The sandbox was not found")
}

func TestACancelledCommandIsKilled(t *testing.T) {
	w, _, running := inSandbox(t, e2btest.Options{}, e2b.NewSandbox{})
	ctx, cancel := context.WithCancel(t.Context())
	w.OnCommand(func(e2btest.Command) (e2btest.CommandAnswer, bool) {
		return e2btest.CommandAnswer{Stdout: "running", Hangs: true}, true
	})
	command := e2b.Shell("x")
	command.Output = func(string, []byte) { cancel() }
	_, err := running.Exec(ctx, command)
	says(t, err, "it was interrupted")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended by %v", err)
	}
	w.asked(t, "POST /process.Process/SendSignal", 1)
}

func TestFiles(t *testing.T) {
	_, _, running := inSandbox(t, e2btest.Options{}, e2b.NewSandbox{})
	ctx := t.Context()
	content := []byte("with \"quotes\",\nlines and \x00\xff")
	if err := running.WriteFile(ctx, "/home/datalayer/a b.txt", "", content); err != nil {
		t.Fatal(err)
	}
	if got, err := running.ReadFile(ctx, "/home/datalayer/a b.txt"); err != nil || !bytes.Equal(got, content) {
		t.Errorf("read %q, %v", got, err)
	}
	entry, err := running.Stat(ctx, "/home/datalayer/a b.txt")
	if err != nil || entry.Type != e2b.TypeFile || entry.Owner != "datalayer" || entry.Size != e2b.Int64(len(content)) || entry.ModifiedAt.IsZero() {
		t.Errorf("entry %+v, %v", entry, err)
	}
	if err := running.WriteFile(ctx, "/tmp/x", "root", nil); err != nil {
		t.Error(err)
	}
	if entry, err = running.Stat(ctx, "/tmp/x"); err != nil || entry.Owner != "root" {
		t.Errorf("entry %+v, %v", entry, err)
	}
	if err := running.MakeDir(ctx, "/home/datalayer/d/e"); err != nil {
		t.Error(err)
	}
	says(t, running.MakeDir(ctx, "/home/datalayer/d"), "409 Conflict: already_exists: directory already exists")
	if err := running.Move(ctx, "/home/datalayer/a b.txt", "/home/datalayer/d/moved"); err != nil {
		t.Error(err)
	}
	var names []string
	for _, depth := range []uint32{1, 2} {
		listed, err := running.ListDir(ctx, "/home/datalayer", depth)
		if err != nil {
			t.Error(err)
		}
		for _, one := range listed {
			names = append(names, one.Path)
		}
	}
	if want := []string{"/home/datalayer/d", "/home/datalayer/d", "/home/datalayer/d/e", "/home/datalayer/d/moved"}; !slices.Equal(names, want) {
		t.Errorf("listed %q", names)
	}
	if err := running.Remove(ctx, "/home/datalayer/d"); err != nil {
		t.Error(err)
	}
	_, err = running.Stat(ctx, "/home/datalayer/d/moved")
	says(t, err, "404 Not Found: not_found: file not found")
	if !e2b.NoSuchPath(err) {
		t.Errorf("NoSuchPath is false for %v", err)
	}
	if _, err = running.ReadFile(ctx, "/home/datalayer/d/moved"); !e2b.NoSuchPath(err) {
		t.Errorf("NoSuchPath is false for %v", err)
	}
}

func TestTokensOfASandbox(t *testing.T) {
	w, sandbox, _ := inSandbox(t, e2btest.Options{}, e2b.NewSandbox{Private: true})
	ctx := t.Context()
	stranger := w.client.Running(e2b.Sandbox{SandboxID: sandbox.SandboxID, EnvdToken: sandbox.TrafficToken})
	_, err := stranger.Exec(ctx, e2b.Shell("echo x"))
	says(t, err, "401 Unauthorized", "please provide a valid access token")
	_, err = stranger.Execute(ctx, e2b.Code{Code: "1+1"})
	p := asProblem(t, err, "403 Forbidden", "secured with traffic access token")
	if strings.Contains(p.Detail(), sandbox.TrafficToken.Reveal()) {
		t.Errorf("a token shows in %s", p.Detail())
	}
}

func TestCode(t *testing.T) {
	w, _, running := inSandbox(t, e2btest.Options{}, e2b.NewSandbox{Private: true, Env: map[string]string{"GREETING": "hello"}})
	ctx := t.Context()
	if healthy, err := running.InterpreterHealthy(ctx); err != nil || !healthy {
		t.Errorf("healthy: %v, %v", healthy, err)
	}
	w.OnCode(func(c e2btest.Code) ([]e2btest.Event, bool) {
		if c.Code != "where" {
			return nil, false
		}
		return []e2btest.Event{{"type": "keepalive"}, {"type": "stderr", "text": "warned"}, {"type": "stdout", "text": c.Dir + " " + c.Env["GREETING"] + " " + c.Env["X"]},
			{"type": "result", "text": nil, "json": map[string]any{"a": 1}, "is_main_result": false, "png": "aGk="}, {"type": "result", "text": "'done'", "is_main_result": true}}, true
	})
	var streamed []string
	got, err := running.Execute(ctx, e2b.Code{Code: "where", Env: map[string]string{"X": "1"}, Output: func(stream, text string) { streamed = append(streamed, stream+": "+text) }})
	if err != nil || got.Stdout != "/home/datalayer hello 1" || got.Stderr != "warned" || got.Count != 1 || len(got.Results) != 2 || len(streamed) != 2 {
		t.Fatalf("got %+v, %q, %v", got, streamed, err)
	}
	if first, main := got.Results[0], got.Results[1]; first.Main || first.Text() != "" || string(first.Data["json"]) != `{"a":1}` || first.Data["text"] != nil || !main.Main || main.Text() != "'done'" {
		t.Errorf("results %+v", got.Results)
	}
	if got, err = running.Execute(ctx, e2b.Code{Code: "1+1"}); err != nil || len(got.Results) != 1 || got.Results[0].Text() != "2" || got.Count != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err = running.Execute(ctx, e2b.Code{Code: `raise ValueError("no")`}); err != nil || got.Raised == nil || got.Raised.Name != "ValueError" || got.Raised.Value != "no" || got.Raised.Traceback == "" {
		t.Errorf("got %+v, %v", got, err)
	}

	made, err := running.CreateContext(ctx, "python", "/tmp")
	if err != nil || made.Dir != "/tmp" || made.Language != "python" {
		t.Errorf("context %+v, %v", made, err)
	}
	if got, err = running.Execute(ctx, e2b.Code{Code: "where", ContextID: made.ID}); err != nil || !strings.HasPrefix(got.Stdout, "/tmp ") || got.Count != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := running.RestartContext(ctx, made.ID); err != nil {
		t.Error(err)
	}
	if listed, err := running.Contexts(ctx); err != nil || len(listed) != 2 {
		t.Errorf("contexts %+v, %v", listed, err)
	}
	if err := running.DeleteContext(ctx, made.ID); err != nil {
		t.Error(err)
	}
	_, err = running.Execute(ctx, e2b.Code{Code: "1", ContextID: made.ID})
	says(t, err, "404 Not Found: Context "+made.ID+" not found")
	_, err = running.Execute(ctx, e2b.Code{Code: "1", ContextID: "x", Language: "python"})
	says(t, err, "Only one of context_id or language can be provided")
}

func TestStreamsThatAreCut(t *testing.T) {
	w, _, running := inSandbox(t, e2btest.Options{}, e2b.NewSandbox{})
	w.Inject(e2btest.Fault{Route: exec, Truncate: true}, e2btest.Fault{Route: execute, Truncate: true}, e2btest.Fault{Route: execute, Reset: true})
	_, err := running.Exec(t.Context(), e2b.Shell("echo a long enough answer"))
	says(t, err, "the stream was cut", "The sandbox may have ended")
	_, err = running.Execute(t.Context(), e2b.Code{Code: "1+1"})
	says(t, err, "Code in the E2B sandbox could not be run")
	_, err = running.Execute(t.Context(), e2b.Code{Code: "1+1"})
	says(t, err, "EOF")
	w.asked(t, execute, 2)
	w.asked(t, exec, 1)
}

func TestFramesThatCannotBeRead(t *testing.T) {
	whole, err := e2b.Frame(map[string]int{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	end := []byte{2, 0, 0, 0, 2, '{', '}'}
	for name, tt := range map[string]struct {
		stream []byte
		want   string
	}{
		"whole":        {slices.Concat(whole, end), ""},
		"no end":       {whole, "the stream was cut"},
		"half a head":  {slices.Concat(whole, []byte{0, 0}), "the stream was cut"},
		"half a frame": {whole[:7], "the stream was cut"},
		"huge":         {[]byte{0, 0xff, 0xff, 0xff, 0xff}, "a message of 4294967295 bytes"},
		"compressed":   {[]byte{1, 0, 0, 0, 0}, "compressed"},
		"bad end":      {[]byte{2, 0, 0, 0, 1, '{'}, "the end of the stream cannot be read"},
		"error":        {slices.Concat([]byte{2, 0, 0, 0, 43}, []byte(`{"error":{"code":"internal","message":"x"}}`)), "internal: x"},
	} {
		t.Run(name, func(t *testing.T) {
			err := e2b.Frames(bytes.NewReader(tt.stream), func(json.RawMessage) error { return nil })
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 2, '{', '}', 2, 0, 0, 0, 2, '{', '}'})
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, stream []byte) {
		read := 0
		err := e2b.Frames(bytes.NewReader(stream), func(message json.RawMessage) error {
			read += 5 + len(message)
			return nil
		})
		if read > len(stream) || err == nil && read == len(stream) && len(stream) > 0 {
			t.Errorf("%d bytes of %d are messages, %v", read, len(stream), err)
		}
	})
}

func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"", "{}\n", `{"type":"stdout","text":"x"}` + "\n", `{"type":"result","text":["x"],"is_main_result":true}`, `{"type":"error","name":1}`, "null\n[]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, events []byte) {
		got, err := e2b.Read(events)
		if err == nil && len(got.Stdout)+len(got.Stderr) > 3*len(events) {
			t.Errorf("%d bytes give %d of output", len(events), len(got.Stdout)+len(got.Stderr))
		}
		for _, result := range got.Results {
			_ = fmt.Sprint(result.Text(), result.Main)
		}
		if errors.Is(err, io.EOF) {
			t.Error("the end of the answer is an error")
		}
	})
}

package e2b

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

const (
	envdPort = 49983
	// maxOutput bounds what one command may print; what goes beyond ends it.
	maxOutput = 64 << 20
	// keepalive is how often envd says that a stream lives, in seconds.
	keepalive = "50"
)

// Running reaches into one sandbox.
type Running struct {
	client  *Client
	sandbox Sandbox
}

// Running gives what reaches into a sandbox; nothing is asked or sent yet.
func (c *Client) Running(sandbox Sandbox) *Running { return &Running{client: c, sandbox: sandbox} }

// Format keeps the tokens out of every way of printing it.
func (r *Running) Format(state fmt.State, verb rune) { r.sandbox.Format(state, verb) }

// Command is a program to run. It gets the sandbox's environment with Env over it.
type Command struct {
	Program string
	Args    []string
	Env     map[string]string
	// Dir is where it starts; the template's working directory if empty.
	Dir string
	// User runs it; the template's if empty.
	User string
	// Timeout ends it; zero is none but that of the context.
	Timeout time.Duration
	// Output takes what it prints as it comes; nil leaves it to the Result alone.
	Output func(stream string, text []byte)
}

// Shell is a command line as E2B's SDKs run it.
func Shell(line string) Command {
	return Command{Program: "/bin/bash", Args: []string{"-l", "-c", line}}
}

// Result is how a command ended.
type Result struct {
	Stdout, Stderr []byte
	ExitCode       int
	// Error is envd's word for an end other than exit 0: "exit status 3", "signal: killed".
	Error string
}

type processConfig struct {
	Cmd  string            `json:"cmd"`
	Args []string          `json:"args,omitempty"`
	Envs map[string]string `json:"envs,omitempty"`
	Cwd  string            `json:"cwd,omitempty"`
}

type startRequest struct {
	Process processConfig `json:"process"`
	Stdin   bool          `json:"stdin"`
}

type startResponse struct {
	Event processEvent `json:"event"`
}

type processEvent struct {
	Start     *startEvent `json:"start"`
	Data      *dataEvent  `json:"data"`
	End       *endEvent   `json:"end"`
	Keepalive *struct{}   `json:"keepalive"`
}

type startEvent struct {
	PID uint32 `json:"pid"`
}

type dataEvent struct {
	Stdout []byte `json:"stdout"`
	Stderr []byte `json:"stderr"`
}

type endEvent struct {
	ExitCode int    `json:"exitCode"`
	Exited   bool   `json:"exited"`
	Status   string `json:"status"`
	Error    string `json:"error"`
}

type sendSignalRequest struct {
	Process processSelector `json:"process"`
	Signal  string          `json:"signal"`
}

type processSelector struct {
	PID uint32 `json:"pid"`
}

// Exec runs a command to its end. An exit other than 0 is no error. When ctx ends first, the command is killed.
func (r *Running) Exec(ctx context.Context, command Command) (Result, error) {
	const title = "Command in the E2B sandbox failed"
	body, err := frame(startRequest{Process: processConfig{command.Program, command.Args, command.Env, command.Dir}})
	if err != nil {
		return Result{}, &problem.Problem{Title: title, Object: command.Program, Cause: err}
	}
	request := r.call(envdPort, http.MethodPost, "/process.Process/Start", command.User)
	request.raw = body
	request.header.Set("Content-Type", "application/connect+json")
	request.header.Set("Keepalive-Ping-Interval", keepalive)
	if command.Timeout > 0 {
		request.header.Set("Connect-Timeout-Ms", strconv.FormatInt(command.Timeout.Milliseconds(), 10))
	}
	response, failed := r.client.open(ctx, request)
	if failed != nil {
		return Result{}, report(title, r.sandbox.SandboxID+": "+command.Program, failed)
	}
	defer response.Body.Close()
	var run run
	err = frames(response.Body, func(message json.RawMessage) error { return run.take(message, command.Output) })
	if err == nil && run.end == nil {
		err = errors.New("the stream ended, but the command did not")
	}
	if err != nil {
		r.kill(ctx, run.pid)
		return run.result, &problem.Problem{Title: title, Object: r.sandbox.SandboxID + ": " + command.Program, Cause: errors.Join(err, ctx.Err()), Advice: remoteAdvice(err)}
	}
	return run.result, nil
}

// run is a command of which events come in.
type run struct {
	pid    uint32
	end    *endEvent
	result Result
}

func (r *run) take(message json.RawMessage, output func(string, []byte)) error {
	var got startResponse
	if err := json.Unmarshal(message, &got); err != nil {
		return fmt.Errorf("a message cannot be read: %w", err)
	}
	event := got.Event
	switch {
	case event.Start != nil:
		r.pid = event.Start.PID
	case event.Data != nil:
		r.result.Stdout = append(r.result.Stdout, event.Data.Stdout...)
		r.result.Stderr = append(r.result.Stderr, event.Data.Stderr...)
		if len(r.result.Stdout)+len(r.result.Stderr) > maxOutput {
			return fmt.Errorf("the command printed more than %d MiB", maxOutput>>20)
		}
		if output != nil && len(event.Data.Stdout) > 0 {
			output("stdout", event.Data.Stdout)
		}
		if output != nil && len(event.Data.Stderr) > 0 {
			output("stderr", event.Data.Stderr)
		}
	case event.End != nil:
		r.end = event.End
		r.result.ExitCode, r.result.Error = event.End.ExitCode, event.End.Error
		if event.End.ExitCode == 0 && !event.End.Exited && event.End.Status != "" {
			r.result.ExitCode, r.result.Error = -1, event.End.Status
		}
	}
	return nil
}

// kill ends a process that nobody waits for any longer. That it may be gone already is why nothing is reported.
func (r *Running) kill(ctx context.Context, pid uint32) {
	if pid == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	request := r.call(envdPort, http.MethodPost, "/process.Process/SendSignal", "")
	request.json = sendSignalRequest{Process: processSelector{PID: pid}, Signal: "SIGNAL_SIGKILL"}
	if _, failed := r.client.once(ctx, request); failed != nil {
		r.client.logger.DebugContext(ctx, "process in the sandbox could not be killed", "sandbox", r.sandbox.SandboxID, "pid", pid, "error", failed.Error())
	}
}

// Healthy tells whether envd answers. A sandbox that is gone does not, which is no error.
func (r *Running) Healthy(ctx context.Context) (bool, error) {
	_, err := r.client.send(ctx, r.call(envdPort, http.MethodGet, "/health", ""))
	if e := requestError(err); e != nil && e.Status == http.StatusBadGateway {
		return false, nil
	}
	return err == nil, report("Health of the E2B sandbox could not be read", r.sandbox.SandboxID, err)
}

// call is a request to a port of the sandbox, as a user if one is named.
func (r *Running) call(port int, method, path, user string) call {
	header := http.Header{}
	header.Set("E2b-Sandbox-Id", r.sandbox.SandboxID)
	header.Set("E2b-Sandbox-Port", strconv.Itoa(port))
	if !r.sandbox.EnvdToken.Empty() {
		header.Set("X-Access-Token", r.sandbox.EnvdToken.Reveal())
	}
	if port == envdPort {
		header.Set("Connect-Protocol-Version", "1")
		if user != "" {
			header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":")))
		}
	} else if !r.sandbox.TrafficToken.Empty() {
		header.Set("E2B-Traffic-Access-Token", r.sandbox.TrafficToken.Reveal())
	}
	return call{method: method, path: path, base: r.client.sandboxAddress(r.sandbox, port), header: header,
		hide: []secret.Value{r.sandbox.EnvdToken, r.sandbox.TrafficToken}}
}

// ReadFile reads a file, by its path or one below the user's home.
func (r *Running) ReadFile(ctx context.Context, path string) ([]byte, error) {
	request := r.call(envdPort, http.MethodGet, "/files", "")
	request.query = url.Values{"path": {path}}
	got, err := r.client.send(ctx, request)
	if err != nil {
		return nil, report("File in the E2B sandbox could not be read", r.sandbox.SandboxID+": "+path, err)
	}
	return got.body, nil
}

func remoteAdvice(err error) string {
	var remote *RemoteError
	switch {
	case errors.As(err, &remote) && remote.Code == "deadline_exceeded":
		return "The command did not end within its time."
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "The sandbox may have ended: its time was over, or somebody ended it."
	}
	return ""
}

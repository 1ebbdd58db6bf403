package e2b

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

const (
	interpreterPort = 49999
	// maxLine bounds one event: the largest is a picture in base64.
	maxLine = 64 << 20
)

// Code is what the code-interpreter server runs.
type Code struct {
	Code string
	// ContextID names the context, or Language the default one of a language; with neither it is Python's. Not both.
	ContextID, Language string
	Env                 map[string]string
	// Output takes what is printed as it comes; nil leaves it to the Execution alone.
	Output func(stream, text string)
}

type executeBody struct {
	Code      string            `json:"code"`
	ContextID string            `json:"context_id,omitempty"`
	Language  string            `json:"language,omitempty"`
	EnvVars   map[string]string `json:"env_vars,omitempty"`
}

// Execution is what came of it.
type Execution struct {
	Stdout, Stderr string
	Results        []CodeResult
	// Raised is the exception that ended it; nil if none did.
	Raised *Raised
	// Count is the number of the execution in its context, from 1.
	Count int
}

// CodeResult is one thing that was displayed, or the value of the last expression if Main. Data has it by the server's
// word for the form: text, html, png, json, …
type CodeResult struct {
	Main bool
	Data map[string]json.RawMessage
}

// Text is the result's plain text.
func (r CodeResult) Text() string {
	var text string
	if err := json.Unmarshal(r.Data["text"], &text); err != nil {
		return ""
	}
	return text
}

// Raised is an exception.
type Raised struct {
	Name, Value, Traceback string
}

// CodeContext is a kernel with a name.
type CodeContext struct {
	ID       string `json:"id"`
	Language string `json:"language"`
	Dir      string `json:"cwd"`
}

type contextBody struct {
	Language string `json:"language,omitempty"`
	Cwd      string `json:"cwd,omitempty"`
}

// Execute runs code to its end. An exception in it is no error. When ctx ends first, the server interrupts the kernel.
func (r *Running) Execute(ctx context.Context, code Code) (Execution, error) {
	const title = "Code in the E2B sandbox could not be run"
	request := r.call(interpreterPort, http.MethodPost, "/execute", "")
	body, err := json.Marshal(executeBody{code.Code, code.ContextID, code.Language, code.Env})
	if err != nil {
		return Execution{}, report(title, r.sandbox.SandboxID, err)
	}
	request.raw = body
	request.header.Set("Content-Type", "application/json")
	response, failed := r.client.open(ctx, request)
	if failed != nil {
		return Execution{}, report(title, r.sandbox.SandboxID, failed)
	}
	defer response.Body.Close()
	var got Execution
	if err := got.read(response.Body, code.Output); err != nil {
		return got, &problem.Problem{Title: title, Object: r.sandbox.SandboxID, Cause: errors.Join(err, ctx.Err()), Advice: remoteAdvice(err)}
	}
	return got, nil
}

// read takes the server's events, JSON one a line, to the end of the answer.
func (e *Execution) read(stream io.Reader, output func(stream, text string)) error {
	reader := bufio.NewReader(stream)
	for {
		line, err := readLine(reader)
		if len(bytes.TrimSpace(line)) > 0 {
			if err := e.take(line, output); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func readLine(reader *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := reader.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("an event of more than %d MiB", maxLine>>20)
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return line, err
		}
	}
}

func (e *Execution) take(line []byte, output func(stream, text string)) error {
	var event struct {
		Type           string `json:"type"`
		Text           string `json:"text"`
		Name           string `json:"name"`
		Value          string `json:"value"`
		Traceback      string `json:"traceback"`
		ExecutionCount int    `json:"execution_count"`
		Main           bool   `json:"is_main_result"`
	}
	// A result's text need not be a string, so only its type is read of it here.
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return fmt.Errorf("an event cannot be read: %w", err)
	}
	if kind.Type == "result" {
		return e.result(line)
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("the event %q cannot be read: %w", kind.Type, err)
	}
	switch event.Type {
	case "stdout", "stderr":
		if event.Type == "stdout" {
			e.Stdout += event.Text
		} else {
			e.Stderr += event.Text
		}
		if output != nil {
			output(event.Type, event.Text)
		}
	case "error":
		e.Raised = &Raised{event.Name, event.Value, event.Traceback}
	case "number_of_executions":
		e.Count = event.ExecutionCount
	}
	return nil
}

func (e *Execution) result(line []byte) error {
	result := CodeResult{Data: map[string]json.RawMessage{}}
	if err := json.Unmarshal(line, &result.Data); err != nil {
		return fmt.Errorf("a result cannot be read: %w", err)
	}
	result.Main = strings.TrimSpace(string(result.Data["is_main_result"])) == "true"
	for name, value := range result.Data {
		if name == "type" || name == "is_main_result" || string(value) == "null" {
			delete(result.Data, name)
		}
	}
	e.Results = append(e.Results, result)
	return nil
}

// InterpreterHealthy tells whether the code-interpreter server answers that its kernels are up.
func (r *Running) InterpreterHealthy(ctx context.Context) (bool, error) {
	_, err := r.client.send(ctx, r.call(interpreterPort, http.MethodGet, "/health", ""))
	if e := requestError(err); e != nil && e.Status == http.StatusBadGateway {
		return false, nil
	}
	return err == nil, report("Health of the code-interpreter server could not be read", r.sandbox.SandboxID, err)
}

// CreateContext starts a kernel in a directory. With no directory the server uses one of its own choice.
func (r *Running) CreateContext(ctx context.Context, language, dir string) (CodeContext, error) {
	var got CodeContext
	request := r.call(interpreterPort, http.MethodPost, "/contexts", "")
	request.json, request.into, request.changes = contextBody{language, dir}, &got, true
	_, err := r.client.send(ctx, request)
	return got, report("Context in the E2B sandbox could not be made", r.sandbox.SandboxID, err)
}

// Contexts lists the kernels.
func (r *Running) Contexts(ctx context.Context) ([]CodeContext, error) {
	var got []CodeContext
	request := r.call(interpreterPort, http.MethodGet, "/contexts", "")
	request.into = &got
	_, err := r.client.send(ctx, request)
	return got, report("Contexts in the E2B sandbox could not be listed", r.sandbox.SandboxID, err)
}

// RestartContext starts a kernel anew under its id. It begins in the server's directory again, not in its own.
func (r *Running) RestartContext(ctx context.Context, id string) error {
	request := r.call(interpreterPort, http.MethodPost, "/contexts/"+url.PathEscape(id)+"/restart", "")
	request.changes = true
	_, err := r.client.send(ctx, request)
	return report("Context in the E2B sandbox could not be restarted", id, err)
}

// DeleteContext ends a kernel.
func (r *Running) DeleteContext(ctx context.Context, id string) error {
	_, err := r.client.send(ctx, r.call(interpreterPort, http.MethodDelete, "/contexts/"+url.PathEscape(id), ""))
	return report("Context in the E2B sandbox could not be removed", id, err)
}

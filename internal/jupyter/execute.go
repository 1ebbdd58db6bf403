package jupyter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Execution is what became of a piece of code.
type Execution struct {
	// Count is the number of the execution in its kernel, from 1.
	Count int
	// Outputs are what it displayed, and the value of its last expression, in order.
	Outputs []Output
	// Stdout and Stderr are what it printed.
	Stdout, Stderr string
	// Error is what it raised; nil if it came to its end.
	Error *CodeError
}

// Output is one value in one or more forms.
type Output struct {
	// Data is by MIME type: a string for what is text, JSON for the rest.
	Data map[string]json.RawMessage
	// Main tells the value of the last expression from what was displayed.
	Main bool

	// display names an output that the code may change later.
	display string
}

// Text is the value as plain text; "" if it has no such form.
func (o Output) Text() string {
	var text string
	if json.Unmarshal(o.Data["text/plain"], &text) != nil {
		return ""
	}
	return text
}

// Text is the value of the last expression as plain text; "" if there is none.
func (e *Execution) Text() string {
	for _, output := range e.Outputs {
		if output.Main {
			return output.Text()
		}
	}
	return ""
}

// CodeError is what the code raised.
type CodeError struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

func (e *CodeError) Error() string { return e.Name + ": " + e.Value }

// Execute runs code and waits until the kernel has answered and is idle again. What the code raises is no error of
// Execute: it is in the Execution. Ending ctx ends the waiting, not the code.
func (k *Kernel) Execute(ctx context.Context, code string) (*Execution, error) {
	if err := k.nudge(ctx); err != nil {
		return nil, err
	}
	id, waiting, err := k.request("execute_request", map[string]any{
		"code": code, "silent": false, "store_history": true, "user_expressions": map[string]any{}, "allow_stdin": false,
		// Where several wait for one kernel, what fails is the first one's business alone.
		"stop_on_error": false,
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-waiting.over:
	case <-ctx.Done():
		k.forget(id)
		// Nobody writes to it any more.
		problem := k.problem("Code did not end in time", errors.Join(context.Cause(ctx), waiting.missing()), "It may still run: shut the kernel down.")
		problem.Logs = lastLines(waiting.execution.Stdout + waiting.execution.Stderr)
		return nil, problem
	}
	if waiting.failed != nil {
		return nil, waiting.failed
	}
	if waiting.status == "aborted" || waiting.status == "abort" {
		return nil, k.problem("Kernel did not run the code", errors.New("its answer is "+waiting.status), "It was interrupted, or told to drop what waits.")
	}
	return &waiting.execution, nil
}

// pending is an execution that is not over: both the reply, on the shell channel, and the return to idle, on iopub, must
// come, in any order.
type pending struct {
	execution     Execution
	status        string
	replied, idle bool
	failed        error
	over          chan struct{}
}

// missing says what has not come.
func (p *pending) missing() error {
	switch {
	case p.replied:
		return errors.New("the kernel has answered, but is not idle")
	case p.idle:
		return errors.New("the kernel is idle, but has not answered")
	}
	return errors.New("the kernel has not answered")
}

// take adds a message to the execution, and tells whether that was the last.
func (p *pending) take(message Message) (over bool, err error) {
	var content struct {
		State     string                     `json:"execution_state"`
		Status    string                     `json:"status"`
		Count     int                        `json:"execution_count"`
		Name      string                     `json:"name"`
		Text      string                     `json:"text"`
		Data      map[string]json.RawMessage `json:"data"`
		Transient struct {
			Display string `json:"display_id"`
		} `json:"transient"`
		CodeError
	}
	switch message.Header.Type {
	case "status", "execute_reply", "kernel_info_reply", "execute_result", "display_data", "update_display_data", "stream", "error":
	default:
		return false, nil
	}
	if err := json.Unmarshal(message.Content, &content); err != nil {
		return false, fmt.Errorf("%s: %w", message.Header.Type, err)
	}
	e := &p.execution
	switch message.Header.Type {
	case "status":
		p.idle = p.idle || content.State == "idle"
	case "execute_reply":
		p.replied, p.status, e.Count = true, content.Status, content.Count
		if content.Status == "error" && e.Error == nil {
			e.Error = &content.CodeError
		}
	case "kernel_info_reply":
		p.replied = true
	case "execute_result", "display_data":
		e.Outputs = append(e.Outputs, Output{Data: content.Data, Main: message.Header.Type == "execute_result", display: content.Transient.Display})
	case "update_display_data":
		for i := range e.Outputs {
			if e.Outputs[i].display == content.Transient.Display {
				e.Outputs[i].Data = content.Data
			}
		}
	case "stream":
		if content.Name == "stderr" {
			e.Stderr += content.Text
		} else {
			e.Stdout += content.Text
		}
	case "error":
		e.Error = &content.CodeError
	}
	return p.replied && p.idle, nil
}

func lastLines(text string) []string {
	const most = 40
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines[max(0, len(lines)-most):]
}

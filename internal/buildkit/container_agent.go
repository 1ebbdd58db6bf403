package buildkit

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
)

//go:embed steps/agent.py
var agentProgram string

// agent is a small program that runs in a container beside its first process, and the session with it over its stdin and
// stdout. All that Dial and Exec do goes through it, because the daemon's own way to start a further process is unfit for
// that: one that ends with a status other than 0 ends the container; input for one that has ended drops every process of
// the container; and one that does not read its input holds up all others.
type agent struct {
	session *yamux.Session
	stdin   io.Closer
	said    *tail
}

// openAgent starts the agent, or gives the one that runs.
func (c *Container) openAgent() (*agent, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if err := c.Failure(); err != nil {
		return nil, err
	}
	if c.agent != nil && !c.agent.session.IsClosed() {
		return c.agent, nil
	}
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	started := &agent{stdin: toAgent, said: &tail{}}
	process, err := c.container.Start(c.ctx, gateway.StartRequest{
		Args: []string{"python3", "-I", "-S", "-c", agentProgram}, Env: c.process.Env, Cwd: "/", User: c.process.User,
		Stdin: in, Stdout: out, Stderr: keepOpen{started.said},
	})
	if err != nil {
		return nil, err
	}
	go func() {
		err := process.Wait()
		_ = out.CloseWithError(err)
		_ = in.CloseWithError(err)
	}()
	config := yamux.DefaultConfig()
	// The daemon's own connection is kept alive already, and a busy machine is no dead one.
	config.EnableKeepAlive = false
	config.ConnectionWriteTimeout = time.Minute
	config.LogOutput = io.Discard
	if started.session, err = yamux.Client(&duplex{fromAgent, toAgent}, config); err != nil {
		return nil, errors.Join(err, toAgent.Close())
	}
	c.agent = started
	return started, nil
}

// closeAgent ends the agent, if there is one: what is on its way to it must not meet a container that is gone.
func (c *Container) closeAgent() {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.agent != nil {
		_ = c.agent.stdin.Close()
	}
}

// ask opens a stream with a request, which steps/agent.py describes, and reads whether it is granted.
func (c *Container) ask(ctx context.Context, request any) (net.Conn, error) {
	line, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	agent, err := c.openAgent()
	if err != nil {
		return nil, err
	}
	stream, err := agent.session.OpenStream()
	if err != nil {
		return nil, agent.explain(err)
	}
	if err := greet(ctx, stream, append(line, '\n')); err != nil {
		return nil, errors.Join(agent.explain(err), stream.Close())
	}
	return stream, nil
}

func greet(ctx context.Context, stream net.Conn, line []byte) error {
	release := bound(ctx, stream)
	answer := make([]byte, 1)
	_, err := stream.Write(line)
	if err == nil {
		_, err = io.ReadFull(stream, answer)
	}
	if err == nil && answer[0] != '+' {
		var reason []byte
		if reason, err = io.ReadAll(stream); err == nil {
			err = errors.New(string(answer) + string(reason))
		}
	}
	return errors.Join(release(), err)
}

// bound makes the end of ctx the end of what waits for the stream. release undoes it, or says why ctx ended, after which the
// stream is of no use.
func bound(ctx context.Context, stream net.Conn) (release func() error) {
	stop := context.AfterFunc(ctx, func() { _ = stream.SetDeadline(time.Unix(1, 0)) })
	return func() error {
		if stop() {
			return nil
		}
		return context.Cause(ctx)
	}
}

// explain adds what the agent said before it ended.
func (a *agent) explain(err error) error {
	if said := strings.TrimSpace(a.said.String()); said != "" {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return err
}

// duplex is the agent's stdout and stdin.
type duplex struct {
	io.Reader
	io.WriteCloser
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 64 << 10

func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, data...)
	if len(t.text) > 2*tailBytes {
		t.text = bytes.Clone(t.text[len(t.text)-tailBytes:])
	}
	return len(data), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

package buildkit

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	gateway "github.com/moby/buildkit/frontend/gateway/client"
)

//go:embed steps/relay.py
var relayProgram string

// Dial connects to a TCP address as the container sees it ("127.0.0.1:8888"), wherever the daemon is: the connection
// goes over stdin and stdout of a small Python program in the container, so that a server in it needs no network but its
// own loopback. ctx bounds the connecting alone. It is made for http.Transport.DialContext.
func (c *Container) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s in the container of %s: %w", address, c.process.Image, err)
	}
	return conn, nil
}

func (c *Container) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" {
		return nil, net.UnknownNetworkError(network)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	living, cancel := context.WithCancelCause(c.ctx)
	var said bytes.Buffer
	process, err := c.exec(living, Command{Args: []string{"python3", "-I", "-S", "-c", relayProgram, host, port}, Cwd: "/"},
		gateway.StartRequest{Stdin: far, Stdout: far, Stderr: keepOpen{&said}})
	if err != nil {
		cancel(nil)
		return nil, errors.Join(err, near.Close(), far.Close())
	}
	relay := make(chan error, 1)
	go func() {
		err := process.Wait()
		cancel(nil)
		_ = far.Close()
		relay <- err
	}()
	stop := context.AfterFunc(ctx, func() { _ = near.SetDeadline(time.Unix(1, 0)) })
	first := make([]byte, 1)
	_, err = near.Read(first)
	if !stop() {
		// The context ended: the deadline may be set at any moment.
		_ = near.Close()
		return nil, context.Cause(ctx)
	}
	if err != nil {
		_ = near.Close()
		if ended := <-relay; said.Len() == 0 {
			return nil, errors.Join(err, ended)
		}
		return nil, errors.New(strings.TrimSpace(said.String()))
	}
	return near, nil
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
		t.text = append([]byte(nil), t.text[len(t.text)-tailBytes:]...)
	}
	return len(data), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

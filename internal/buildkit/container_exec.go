package buildkit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// Command is a further process in a running container, as the user of its first.
type Command struct {
	Args []string
	// Env replaces the environment of the first process; nil keeps it. Cwd "" is that of the first process.
	Env   []string
	Cwd   string
	Stdin io.Reader
}

// Dial connects to a TCP address as the container sees it ("127.0.0.1:8888"), wherever the daemon is, so that a server in
// the container needs no network but its own loopback. It is made for http.Transport.DialContext; ctx bounds the
// connecting alone. The image needs python3.
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
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, map[string]any{"host": host, "port": number})
}

// Exec runs a command in the container and waits until it has ended and nobody has its output open. A status other than 0
// is no error. Ending ctx kills the command and all in its process group. The image needs python3.
func (c *Container) Exec(ctx context.Context, command Command) (*Output, error) {
	output, err := c.execute(ctx, command)
	if err != nil {
		return nil, fmt.Errorf("%s in the container of %s: %w", command.Args[0], c.process.Image, err)
	}
	return output, nil
}

func (c *Container) execute(ctx context.Context, command Command) (*Output, error) {
	if command.Env == nil {
		command.Env = c.process.Env
	}
	if command.Cwd == "" {
		command.Cwd = c.process.Cwd
	}
	variables := map[string]string{}
	for _, variable := range command.Env {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}
	stream, err := c.ask(ctx, map[string]any{"args": command.Args, "env": variables, "cwd": command.Cwd})
	if err != nil {
		return nil, err
	}
	release := bound(ctx, stream)
	go feed(stream, command.Stdin)
	output, err := collect(stream)
	if ended := release(); ended != nil {
		output, err = nil, ended
	}
	return output, errors.Join(err, stream.Close())
}

// feed sends stdin as chunks. It stops when the stream does not take more, which whoever reads the stream will notice.
func feed(stream io.Writer, stdin io.Reader) {
	chunk := make([]byte, 4+32<<10)
	for stdin != nil {
		n, err := stdin.Read(chunk[4:])
		if n > 0 {
			binary.BigEndian.PutUint32(chunk, uint32(n))
			if _, err := stream.Write(chunk[:4+n]); err != nil {
				return
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = stream.Write(make([]byte, 4))
}

// Kinds of the chunks that come back from a command.
const (
	chunkExit = iota
	chunkStdout
	chunkStderr
)

// collect reads what a command prints, until its status comes.
func collect(stream io.Reader) (*Output, error) {
	var stdout, stderr bytes.Buffer
	header := make([]byte, 5)
	for {
		if _, err := io.ReadFull(stream, header); err != nil {
			return nil, err
		}
		size := int64(binary.BigEndian.Uint32(header[1:]))
		into := &stdout
		switch header[0] {
		case chunkExit:
			status := make([]byte, size)
			if _, err := io.ReadFull(stream, status); err != nil || size != 4 {
				return nil, errors.Join(fmt.Errorf("a status of %d bytes", size), err)
			}
			return &Output{Stdout: stdout.String(), Stderr: stderr.String(), ExitCode: int(binary.BigEndian.Uint32(status))}, nil
		case chunkStderr:
			into = &stderr
		}
		if _, err := io.CopyN(into, stream, size); err != nil {
			return nil, err
		}
	}
}

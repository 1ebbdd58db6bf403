package e2b

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// envd speaks the Connect protocol (https://connectrpc.com/docs/protocol) with JSON messages. A stream's messages are
// each one byte of flags, four bytes of length, then JSON; the last has the flag endOfStream and may hold an error.
// Written by hand: generated stubs register their descriptors whenever the provider starts, for two calls that it makes
// of a sandbox.

const (
	compressed  = 1
	endOfStream = 2
	// maxFrame bounds one message: envd sends output in pieces far below it.
	maxFrame = 64 << 20
)

// RemoteError is an error in the words of envd.
type RemoteError struct {
	// Code is one of the protocol's: "not_found", "unauthenticated", "deadline_exceeded", …
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error is code and message in one line.
func (e *RemoteError) Error() string { return e.Code + ": " + e.Message }

// frame encodes the one message of a request.
func frame(message any) ([]byte, error) {
	content, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 5, 5+len(content))
	binary.BigEndian.PutUint32(head[1:], uint32(len(content))) //nolint:gosec // what is sent is far below 4 GiB
	return append(head, content...), nil
}

// frames reads a stream of messages to its end and gives each to take. A stream that ends without saying so was cut.
func frames(stream io.Reader, take func(json.RawMessage) error) error {
	for {
		var head [5]byte
		if _, err := io.ReadFull(stream, head[:]); err != nil {
			return cut(err)
		}
		length := binary.BigEndian.Uint32(head[1:])
		if length > maxFrame {
			return fmt.Errorf("a message of %d bytes", length)
		}
		var content bytes.Buffer
		if _, err := io.CopyN(&content, stream, int64(length)); err != nil {
			return cut(err)
		}
		switch {
		case head[0]&compressed != 0:
			return errors.New("a compressed message, which was not asked for")
		case head[0]&endOfStream != 0:
			var end struct {
				Error *RemoteError `json:"error"`
			}
			if err := json.Unmarshal(content.Bytes(), &end); err != nil {
				return fmt.Errorf("the end of the stream cannot be read: %w", err)
			}
			if end.Error != nil {
				return end.Error
			}
			return nil
		}
		if err := take(content.Bytes()); err != nil {
			return err
		}
	}
}

func cut(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the stream was cut: %w", err)
}

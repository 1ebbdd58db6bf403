package jupyter

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coder/websocket"
)

// subprotocol is the framing in which a message is binary; without it, Jupyter Server speaks JSON.
const subprotocol = "v1.kernel.websocket.jupyter.org"

// protocolVersion is the version of the messages themselves.
const protocolVersion = "5.3"

// Header is that of a message (jupyter-client: messaging). A parent's is zero where there is none.
type Header struct {
	ID       string `json:"msg_id,omitempty"`
	Session  string `json:"session,omitempty"`
	Username string `json:"username,omitempty"`
	Date     string `json:"date,omitempty"`
	Type     string `json:"msg_type,omitempty"`
	Version  string `json:"version,omitempty"`
}

// Message is one message on one of a kernel's channels.
type Message struct {
	// Channel is "shell", "control", "stdin" or "iopub".
	Channel  string          `json:"channel"`
	Header   Header          `json:"header"`
	Parent   Header          `json:"parent_header"`
	Metadata json.RawMessage `json:"metadata"`
	Content  json.RawMessage `json:"content"`
	Buffers  [][]byte        `json:"-"`
}

// encode gives the frame of a message in the framing that the two sides agreed on.
func (m Message) encode(agreed string) (websocket.MessageType, []byte, error) {
	if m.Metadata == nil {
		m.Metadata = json.RawMessage("{}")
	}
	if agreed != subprotocol {
		if len(m.Buffers) > 0 {
			return 0, nil, errors.New("a message with buffers needs the framing " + subprotocol)
		}
		text, err := json.Marshal(struct {
			Message
			Buffers []string `json:"buffers"`
		}{m, []string{}})
		return websocket.MessageText, text, err
	}
	header, err := json.Marshal(m.Header)
	if err != nil {
		return 0, nil, err
	}
	parent, err := json.Marshal(m.Parent)
	if err != nil {
		return 0, nil, err
	}
	parts := append([][]byte{[]byte(m.Channel), header, parent, m.Metadata, m.Content}, m.Buffers...)
	// One offset for each part, and one for the end.
	frame := binary.LittleEndian.AppendUint64(nil, uint64(len(parts)+1))
	offset := uint64(8 * (len(parts) + 2))
	for _, part := range parts {
		frame = binary.LittleEndian.AppendUint64(frame, offset)
		offset += uint64(len(part))
	}
	frame = binary.LittleEndian.AppendUint64(frame, offset)
	for _, part := range parts {
		frame = append(frame, part...)
	}
	return websocket.MessageBinary, frame, nil
}

// decode reads a frame; buffers are slices of it.
func decode(agreed string, kind websocket.MessageType, frame []byte) (Message, error) {
	switch {
	case agreed == subprotocol && kind == websocket.MessageBinary:
		parts, err := split(frame, 8, binary.LittleEndian.Uint64)
		if err != nil {
			return Message{}, err
		}
		return fromParts(parts)
	case agreed != subprotocol && kind == websocket.MessageText:
		var message Message
		err := json.Unmarshal(frame, &message)
		return message, err
	case agreed != subprotocol && kind == websocket.MessageBinary:
		parts, err := split(frame, 4, func(b []byte) uint64 { return uint64(binary.BigEndian.Uint32(b)) })
		if err != nil {
			return Message{}, err
		}
		var message Message
		if err := json.Unmarshal(parts[0], &message); err != nil {
			return Message{}, err
		}
		message.Buffers = parts[1:]
		return message, nil
	}
	return Message{}, fmt.Errorf("a frame of kind %s in the framing %q", kind, agreed)
}

// split cuts a frame at its table of offsets: a count, then as many offsets, each size bytes. The binary framing lists the
// end too; the older one does not.
func split(frame []byte, size int, number func([]byte) uint64) ([][]byte, error) {
	if len(frame) < size {
		return nil, errors.New("a frame without a table of offsets")
	}
	count := number(frame)
	if count == 0 || count > uint64(len(frame)/size-1) {
		return nil, fmt.Errorf("a frame of %d bytes with %d offsets", len(frame), count)
	}
	offsets := make([]uint64, 0, count+1)
	for i := range int(count) {
		offsets = append(offsets, number(frame[size*(i+1):]))
	}
	if size == 4 {
		offsets = append(offsets, uint64(len(frame)))
	}
	parts := make([][]byte, 0, len(offsets))
	least := uint64(size) * (count + 1)
	for i := 1; i < len(offsets); i++ {
		start, end := offsets[i-1], offsets[i]
		if start < least || end < start || end > uint64(len(frame)) {
			return nil, fmt.Errorf("a frame of %d bytes with a part from %d to %d", len(frame), start, end)
		}
		parts = append(parts, frame[start:end])
	}
	if len(parts) == 0 {
		return nil, errors.New("a frame without parts")
	}
	return parts, nil
}

func fromParts(parts [][]byte) (Message, error) {
	if len(parts) < 5 {
		return Message{}, fmt.Errorf("a message of %d parts", len(parts))
	}
	message := Message{Channel: string(parts[0]), Metadata: parts[3], Content: parts[4], Buffers: parts[5:]}
	if err := json.Unmarshal(parts[1], &message.Header); err != nil {
		return Message{}, fmt.Errorf("header: %w", err)
	}
	if err := json.Unmarshal(parts[2], &message.Parent); err != nil {
		return Message{}, fmt.Errorf("parent header: %w", err)
	}
	for name, part := range map[string][]byte{"metadata": message.Metadata, "content": message.Content} {
		if !json.Valid(part) {
			return Message{}, fmt.Errorf("%s is not JSON", name)
		}
	}
	return message, nil
}

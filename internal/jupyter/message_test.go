package jupyter

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/coder/websocket"
)

func TestFramesAreAsTheServerDefinesThem(t *testing.T) {
	message := Message{Channel: "shell", Header: Header{ID: "1", Type: "t"}, Content: json.RawMessage(`{"a":1}`)}
	_, frame, err := message.encode(subprotocol)
	if err != nil {
		t.Fatal(err)
	}
	// Five parts and the end: 6 offsets of 8 bytes behind their count, then the parts.
	want := append([]byte{
		6, 0, 0, 0, 0, 0, 0, 0, 56, 0, 0, 0, 0, 0, 0, 0, 61, 0, 0, 0, 0, 0, 0, 0, 90, 0, 0, 0, 0, 0, 0, 0,
		92, 0, 0, 0, 0, 0, 0, 0, 94, 0, 0, 0, 0, 0, 0, 0, 101, 0, 0, 0, 0, 0, 0, 0,
	}, `shell{"msg_id":"1","msg_type":"t"}{}{}{"a":1}`...)
	if !bytes.Equal(frame, want) {
		t.Errorf("%q, want %q", frame, want)
	}
	kind, frame, err := message.encode("")
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"channel":"shell","header":{"msg_id":"1","msg_type":"t"},"parent_header":{},"metadata":{},"content":{"a":1},"buffers":[]}`; kind != websocket.MessageText || string(frame) != want {
		t.Errorf("%s, want %s", frame, want)
	}
	message.Buffers = [][]byte{{1}}
	if _, _, err := message.encode(""); err == nil {
		t.Error("buffers went into JSON")
	}
}

// FuzzDecode holds that no frame breaks the reader, and that what it reads is what it would write.
func FuzzDecode(f *testing.F) {
	for _, message := range []Message{
		{Channel: "iopub", Header: Header{ID: "1", Type: "status"}, Parent: Header{ID: "2"}, Content: json.RawMessage(`{"execution_state":"idle"}`)},
		{Channel: "shell", Content: json.RawMessage(`{}`), Buffers: [][]byte{{}, {0xff}}},
	} {
		_, frame, err := message.encode(subprotocol)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(true, true, frame)
		f.Add(true, true, frame[:len(frame)-1])
	}
	f.Add(false, false, []byte(`{"channel":"iopub","header":{"msg_type":"status"},"parent_header":{},"metadata":{},"content":{},"buffers":[]}`))
	f.Add(false, true, []byte("\x00\x00\x00\x02\x00\x00\x00\x0c\x00\x00\x00\x0e{}\xff"))
	f.Add(false, true, []byte("\xff\xff\xff\xff\x00\x00\x00\x08{}"))
	f.Fuzz(func(t *testing.T, newer, inBytes bool, frame []byte) {
		agreed, kind := "", websocket.MessageText
		if newer {
			agreed = subprotocol
		}
		if inBytes {
			kind = websocket.MessageBinary
		}
		message, err := decode(agreed, kind, frame)
		if err != nil {
			return
		}
		if message.Content == nil {
			message.Content = json.RawMessage("{}")
		}
		kind, again, err := message.encode(subprotocol)
		if err != nil {
			t.Fatalf("read, but not written: %+v: %v", message, err)
		}
		read, err := decode(subprotocol, kind, again)
		if err != nil {
			t.Fatalf("written, but not read: %q: %v", again, err)
		}
		if read.Header != message.Header || read.Parent != message.Parent || read.Channel != message.Channel || len(read.Buffers) != len(message.Buffers) {
			t.Errorf("%+v became %+v", message, read)
		}
	})
}

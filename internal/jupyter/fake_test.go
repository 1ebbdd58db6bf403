package jupyter_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/datalayer/terraform-provider-datalayer/internal/jupyter"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

const (
	framing = "v1.kernel.websocket.jupyter.org"
	token   = "cnry-jupyter/tok+en"
)

// fake is a Jupyter Server whose kernels do what the code that they are sent is a word for.
type fake struct {
	*httptest.Server
	// older makes it know the JSON framing alone. deaf makes it refuse WebSockets.
	older, deaf bool

	mu       sync.Mutex
	kernels  map[string]bool
	requests []*http.Request
	// held takes the requests of code "hold", which code "release" answers after itself.
	held chan *frame
	// holding tells that one is held.
	holding chan struct{}
	// unheard counts the requests whose answers on iopub are lost: after "die", those before the server has subscribed anew.
	unheard int
}

type frame struct {
	Channel string         `json:"channel"`
	Header  map[string]any `json:"header"`
	Parent  map[string]any `json:"parent_header"`
	Meta    map[string]any `json:"metadata"`
	Content map[string]any `json:"content"`
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{kernels: map[string]bool{}, held: make(chan *frame, 1), holding: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /base/api", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, map[string]any{"version": "2.99.0"}) })
	mux.HandleFunc("GET /base/api/kernels", func(w http.ResponseWriter, _ *http.Request) {
		list := []map[string]any{}
		for id := range f.kernels {
			list = append(list, map[string]any{"id": id})
		}
		answer(w, 200, list)
	})
	mux.HandleFunc("POST /base/api/kernels", func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		if json.NewDecoder(r.Body).Decode(&body) != nil || body["name"] == "nonesuch" {
			answer(w, 501, map[string]any{"message": "No such kernel named nonesuch", "reason": "said with " + token})
			return
		}
		f.kernels["0-0-0-0-1"] = true
		answer(w, 201, map[string]any{"id": "0-0-0-0-1", "name": body["name"]})
	})
	mux.HandleFunc("DELETE /base/api/kernels/{id}", func(w http.ResponseWriter, r *http.Request) {
		if !f.kernels[r.PathValue("id")] {
			answer(w, 404, map[string]any{"message": "Kernel does not exist: " + r.PathValue("id")})
			return
		}
		delete(f.kernels, r.PathValue("id"))
		w.WriteHeader(204)
	})
	mux.HandleFunc("GET /base/api/kernels/{id}/channels", func(w http.ResponseWriter, r *http.Request) {
		if f.deaf || !f.kernels[r.PathValue("id")] {
			answer(w, 404, map[string]any{"message": "Kernel does not exist"})
			return
		}
		options := &websocket.AcceptOptions{}
		if !f.older {
			options.Subprotocols = []string{framing}
		}
		f.mu.Unlock()
		defer f.mu.Lock()
		conn, err := websocket.Accept(w, r, options)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		conn.SetReadLimit(-1)
		for err == nil {
			err = f.kernel(r.Context(), conn)
		}
	})
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.requests = append(f.requests, r)
		if given := r.URL.Query().Get("token"); r.URL.Path != "/base/api" && given != token && r.Header.Get("Authorization") != "token "+token {
			answer(w, 403, map[string]any{"message": "Forbidden"})
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) endpoint(t *testing.T) jupyter.Endpoint {
	t.Helper()
	address, err := url.Parse(f.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	return jupyter.Endpoint{URL: address, Token: secret.New(token), Client: f.Client()}
}

// left are the kernels that run.
func (f *fake) left() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []string
	for id := range f.kernels {
		ids = append(ids, id)
	}
	return ids
}

func (f *fake) last() *http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[len(f.requests)-1]
}

func answer(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// kernel takes one request and does what its code says.
func (f *fake) kernel(ctx context.Context, conn *websocket.Conn) error {
	request, err := receive(ctx, conn)
	if err != nil {
		return err
	}
	code, _ := request.Content["code"].(string)
	say := func(channel, kind string, parent map[string]any, content map[string]any) {
		if err == nil && (channel != "iopub" || f.unheard == 0) {
			err = send(ctx, conn, frame{Channel: channel, Header: map[string]any{"msg_type": kind, "msg_id": "k"}, Parent: parent, Meta: map[string]any{}, Content: content})
		}
	}
	tell := func(kind string, content map[string]any) { say("iopub", kind, request.Header, content) }
	status := func(state string) { tell("status", map[string]any{"execution_state": state}) }
	reply := func(status string) {
		say("shell", "execute_reply", request.Header, map[string]any{"status": status, "execution_count": 7})
	}
	stranger := map[string]any{"msg_id": "another client's"}
	if f.unheard > 0 {
		defer func() { f.unheard-- }()
	}
	status("busy")
	if request.Header["msg_type"] == "kernel_info_request" {
		say("shell", "kernel_info_reply", request.Header, map[string]any{"status": "ok"})
		status("idle")
		return err
	}
	switch word, rest, _ := strings.Cut(code, " "); word {
	case "print":
		tell("stream", map[string]any{"name": "stdout", "text": rest})
		tell("stream", map[string]any{"name": "stderr", "text": "to " + rest})
		say("iopub", "stream", stranger, map[string]any{"name": "stdout", "text": "not ours"})
		say("shell", "execute_reply", stranger, map[string]any{"status": "error", "ename": "not ours"})
		say("iopub", "status", stranger, map[string]any{"execution_state": "idle"})
		status("idle")
		reply("ok")
	case "value":
		tell("display_data", map[string]any{"data": map[string]any{"text/plain": "first"}, "transient": map[string]any{"display_id": "d"}})
		tell("execute_result", map[string]any{"data": map[string]any{"text/plain": rest, "application/json": map[string]any{"x": 1}}})
		tell("update_display_data", map[string]any{"data": map[string]any{"text/plain": "second"}, "transient": map[string]any{"display_id": "d"}})
		reply("ok")
		status("idle")
	case "raise":
		tell("error", map[string]any{"ename": "ValueError", "evalue": rest, "traceback": []string{"line 1", "line 2"}})
		reply("error")
		status("idle")
	case "abort":
		reply("aborted")
		status("idle")
	case "hold":
		f.held <- request
		f.holding <- struct{}{}
	case "release":
		// The later one is answered first.
		status("idle")
		reply("ok")
		request = <-f.held
		tell("stream", map[string]any{"name": "stdout", "text": "held"})
		reply("ok")
		status("idle")
	case "never":
		tell("stream", map[string]any{"name": "stderr", "text": "so far\n"})
		if rest == "idle" {
			status("idle")
		} else {
			reply("ok")
		}
	case "die":
		say("iopub", "status", map[string]any{}, map[string]any{"execution_state": "restarting"})
		f.unheard = 2
	case "die-for-good":
		say("iopub", "status", map[string]any{}, map[string]any{"execution_state": "restarting"})
		f.unheard = math.MaxInt
	case "hang":
		_ = conn.CloseNow()
	case "garbage":
		if conn.Subprotocol() == framing {
			return conn.Write(ctx, websocket.MessageBinary, []byte{6, 0, 0, 0, 0, 0, 0, 0, 1})
		}
		return conn.Write(ctx, websocket.MessageText, []byte("{"))
	case "buffers":
		// A message of a widget, which is of no interest but must be read; in the older framing it comes as binary.
		if err = conn.Write(ctx, websocket.MessageBinary, withBuffer(conn.Subprotocol(), request.Header)); err == nil {
			status("idle")
			reply("ok")
		}
	}
	return err
}

// receive reads as jupyter_server does, apart from the client's own code.
func receive(ctx context.Context, conn *websocket.Conn) (*frame, error) {
	_, data, err := conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	var f frame
	if conn.Subprotocol() != framing {
		return &f, json.Unmarshal(data, &f)
	}
	count := binary.LittleEndian.Uint64(data)
	var parts [][]byte
	for i := range count - 1 {
		parts = append(parts, data[binary.LittleEndian.Uint64(data[8*(i+1):]):binary.LittleEndian.Uint64(data[8*(i+2):])])
	}
	f.Channel = string(parts[0])
	for i, into := range []*map[string]any{&f.Header, &f.Parent, &f.Meta, &f.Content} {
		if err := json.Unmarshal(parts[i+1], into); err != nil {
			return nil, err
		}
	}
	return &f, nil
}

func send(ctx context.Context, conn *websocket.Conn, f frame) error {
	if conn.Subprotocol() != framing {
		text, err := json.Marshal(f)
		if err != nil {
			return err
		}
		return conn.Write(ctx, websocket.MessageText, text)
	}
	return conn.Write(ctx, websocket.MessageBinary, binaryFrame(f))
}

func binaryFrame(f frame, buffers ...[]byte) []byte {
	parts := [][]byte{[]byte(f.Channel)}
	for _, part := range []map[string]any{f.Header, f.Parent, f.Meta, f.Content} {
		text, _ := json.Marshal(part)
		parts = append(parts, text)
	}
	parts = append(parts, buffers...)
	offsets := []int{8 * (len(parts) + 2)}
	for _, part := range parts {
		offsets = append(offsets, offsets[len(offsets)-1]+len(part))
	}
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(offsets)))
	for _, offset := range offsets {
		data = binary.LittleEndian.AppendUint64(data, uint64(offset))
	}
	return append(data, slices.Concat(parts...)...)
}

func withBuffer(agreed string, parent map[string]any) []byte {
	f := frame{Channel: "iopub", Header: map[string]any{"msg_type": "comm_msg"}, Parent: parent, Meta: map[string]any{}, Content: map[string]any{}}
	if agreed == framing {
		return binaryFrame(f, []byte{0xff, 0}, []byte("more"))
	}
	text, _ := json.Marshal(f)
	data := binary.BigEndian.AppendUint32(nil, 2)
	data = binary.BigEndian.AppendUint32(data, 12)
	data = binary.BigEndian.AppendUint32(data, uint32(12+len(text)))
	return append(append(data, text...), 0xff, 0)
}

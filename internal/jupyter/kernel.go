package jupyter

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// maxMessage bounds one message of a kernel: its largest are results with data of their own.
const maxMessage = 64 << 20

// nudgeEvery is how long a kernel has to answer a question after its restart, before it is asked again.
const nudgeEvery = time.Second

// sendWithin bounds how long the connection may take one message of ours.
const sendWithin = 30 * time.Second

// Kernel is a connection to a running kernel. Its methods may be called at once.
type Kernel struct {
	// ID is the server's name for the kernel.
	ID string

	server  *Server
	conn    *websocket.Conn
	session string
	// stop ends the reader; ended is closed when it has ended.
	stop  context.CancelFunc
	ended chan struct{}

	mu sync.Mutex
	// waiting are the executions that are not over, by the id of their request.
	waiting map[string]*pending
	count   int
	// lost is why the connection is no more.
	lost error
	// restarted tells that another process is the kernel now, which may not be heard on iopub yet.
	restarted bool
	every     time.Duration
}

// Connect opens a kernel's channels. ctx bounds the opening alone.
func (s *Server) Connect(ctx context.Context, id string) (*Kernel, error) {
	session := make([]byte, 16)
	// It never fails.
	_, _ = rand.Read(session)
	k := &Kernel{ID: id, server: s, session: hex.EncodeToString(session), ended: make(chan struct{}), waiting: map[string]*pending{}, every: nudgeEvery}
	target, header := s.endpoint.sent(url.Values{"session_id": {k.session}}, "api", "kernels", id, "channels")
	what := "GET api/kernels/" + id + "/channels"
	conn, response, err := websocket.Dial(ctx, target.String(), &websocket.DialOptions{
		HTTPClient: s.endpoint.client(), HTTPHeader: header, Subprotocols: []string{subprotocol},
	})
	if response != nil && response.Body != nil {
		defer response.Body.Close()
	}
	if err != nil {
		if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
			// The library has read the answer's beginning and keeps it.
			text, _ := io.ReadAll(response.Body)
			return nil, s.refused(what, response.StatusCode, text)
		}
		return nil, s.problem("Kernel's channels did not open", s.unaddressed(what, err), "A proxy before the server must let WebSockets through.")
	}
	conn.SetReadLimit(maxMessage)
	k.conn = conn
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	k.stop = stop
	go k.read(reading)
	return k, nil
}

// ShutDown ends the kernel and the connection.
func (k *Kernel) ShutDown(ctx context.Context) error {
	defer k.Close()
	return k.server.ShutDown(ctx, k.ID)
}

// Close ends the connection; the kernel runs on. Executions that wait fail.
func (k *Kernel) Close() {
	// A server that takes no notice of the closing does not hold us up.
	_ = k.conn.CloseNow()
	k.stop()
	<-k.ended
}

func (k *Kernel) read(ctx context.Context) {
	defer close(k.ended)
	for {
		kind, frame, err := k.conn.Read(ctx)
		if err == nil {
			var message Message
			if message, err = decode(k.conn.Subprotocol(), kind, frame); err == nil {
				err = k.take(message)
			}
		}
		if err != nil {
			k.lose(err)
			return
		}
	}
}

// take gives a message to the execution that it belongs to; others, such as those of another client, are not looked at.
func (k *Kernel) take(message Message) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if waiting := k.waiting[message.Parent.ID]; waiting != nil {
		over, err := waiting.take(message)
		if over {
			delete(k.waiting, message.Parent.ID)
			close(waiting.over)
		}
		return err
	}
	if message.Header.Type != "status" {
		return nil
	}
	// The server itself says that a kernel died; that has no parent.
	var status struct {
		State string `json:"execution_state"`
	}
	if err := json.Unmarshal(message.Content, &status); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	k.restarted = k.restarted || strings.HasSuffix(status.State, "restarting")
	if status.State == "restarting" || status.State == "autorestarting" || status.State == "dead" {
		k.failAll(k.problem("Kernel died", fmt.Errorf("the server says that it is %s", status.State),
			"Most often it ran out of memory, or the code ended its process. What it held is lost."))
	}
	return nil
}

// lose fails what waits, and all that comes.
func (k *Kernel) lose(err error) {
	_ = k.conn.CloseNow()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lost = k.problem("Connection to the kernel was lost", err, "The kernel may still run. Connect again, or start another one.")
	k.failAll(k.lost)
}

// failAll needs k.mu.
func (k *Kernel) failAll(err error) {
	for id, waiting := range k.waiting {
		waiting.failed = err
		close(waiting.over)
		delete(k.waiting, id)
	}
}

// request sends a request on the shell channel and gives what waits for its answers.
func (k *Kernel) request(kind string, content any) (string, *pending, error) {
	encoded, err := json.Marshal(content)
	if err != nil {
		return "", nil, err
	}
	waiting := &pending{over: make(chan struct{})}
	k.mu.Lock()
	if k.lost != nil {
		defer k.mu.Unlock()
		return "", nil, k.lost
	}
	k.count++
	id := fmt.Sprintf("%s_%d", k.session, k.count)
	k.waiting[id] = waiting
	k.mu.Unlock()

	message := Message{Channel: "shell", Content: encoded, Header: Header{
		ID: id, Session: k.session, Username: "terraform", Type: kind, Version: protocolVersion,
		Date: time.Now().UTC().Format(time.RFC3339Nano),
	}}
	typ, frame, err := message.encode(k.conn.Subprotocol())
	if err == nil {
		// A caller's own context would end the connection for all.
		sending, cancel := context.WithTimeout(context.Background(), sendWithin)
		defer cancel()
		err = k.conn.Write(sending, typ, frame)
	}
	if err != nil {
		k.forget(id)
		return "", nil, k.problem("Request to the kernel was not sent", err, "")
	}
	return id, waiting, nil
}

// nudge waits until a kernel that was restarted is heard on all channels. The server hears of its idle state only once it
// has subscribed to the new process, and what that said before is lost: so the kernel is asked what it is until both the
// reply and the return to idle come, as the server itself does when a connection is opened.
func (k *Kernel) nudge(ctx context.Context) error {
	k.mu.Lock()
	restarted := k.restarted
	k.mu.Unlock()
	for restarted {
		id, waiting, err := k.request("kernel_info_request", struct{}{})
		if err != nil {
			return err
		}
		again := time.NewTimer(k.every)
		select {
		case <-waiting.over:
			again.Stop()
			if waiting.failed != nil {
				return waiting.failed
			}
			k.mu.Lock()
			k.restarted, restarted = false, false
			k.mu.Unlock()
		case <-again.C:
			k.forget(id)
		case <-ctx.Done():
			again.Stop()
			k.forget(id)
			return k.problem("Code did not end in time", errors.Join(context.Cause(ctx), errors.New("the kernel has not come back after its restart")), "It was not run. Start another kernel.")
		}
	}
	return nil
}

func (k *Kernel) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.waiting, id)
}

func (k *Kernel) problem(title string, cause error, advice string) *problem.Problem {
	return &problem.Problem{Title: title, Object: fmt.Sprintf("kernel %s of %s", k.ID, k.server.endpoint), Cause: cause, Advice: advice}
}

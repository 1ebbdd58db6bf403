package jupyter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// maxBody bounds what is read of one answer.
const maxBody = 16 << 20

// pollEvery is the time between two looks at a server that does not answer yet.
const pollEvery = 100 * time.Millisecond

// Server is a Jupyter Server.
type Server struct {
	endpoint Endpoint
	masker   secret.Masker
}

// NewServer makes a client. It sends nothing yet.
func NewServer(endpoint Endpoint) *Server {
	secrets := []secret.Value{endpoint.Token}
	for _, values := range endpoint.Header {
		for _, value := range values {
			secrets = append(secrets, secret.New(value))
		}
	}
	return &Server{endpoint: endpoint, masker: secret.NewMasker(secrets...)}
}

// StatusError is an answer other than the one asked for.
type StatusError struct {
	// Status is the HTTP status code; Message is what the server says of it.
	Status  int
	Message string
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Version asks for the server's version ("2.21.0"); it needs no login.
func (s *Server) Version(ctx context.Context) (string, error) {
	var answer struct{ Version string }
	if err := s.call(ctx, http.MethodGet, http.StatusOK, nil, &answer, "api"); err != nil {
		return "", err
	}
	if answer.Version == "" {
		return "", s.problem("Answer is not Jupyter Server's", errors.New("GET api gave no version"),
			"Something else listens there: check the address, and that nothing else has taken the port.")
	}
	return answer.Version, nil
}

// Wait polls until the server answers with its version, and gives that. An error wraps ctx's, and says what the last look
// found. ended, if not nil, tells that the server's process has ended, and why.
func (s *Server) Wait(ctx context.Context, ended func() error) (string, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	start := time.Now()
	found := errors.New("it was not asked")
	for {
		version, err := s.Version(ctx)
		if err == nil {
			return version, nil
		}
		// A look that the end of ctx cut short found nothing.
		if ctx.Err() == nil {
			found = err
		}
		if ended != nil {
			if cause := ended(); cause != nil {
				return "", cause
			}
		}
		select {
		case <-ctx.Done():
			return "", s.problem("Jupyter Server did not answer in time", errors.Join(context.Cause(ctx), found),
				fmt.Sprintf("It was asked for %.1f s. Look at its log, and whether it listens on the address above.", time.Since(start).Seconds()))
		case <-tick.C:
		}
	}
}

// kernelModel is the part of the server's own model that is used.
type kernelModel struct {
	ID string `json:"id"`
}

// StartKernel starts a kernel of the name ("python3"; "" is the server's default) and connects to it.
func (s *Server) StartKernel(ctx context.Context, name string) (*Kernel, error) {
	body := map[string]string{}
	if name != "" {
		body["name"] = name
	}
	var model kernelModel
	if err := s.call(ctx, http.MethodPost, http.StatusCreated, body, &model, "api", "kernels"); err != nil {
		return nil, err
	}
	kernel, err := s.Connect(ctx, model.ID)
	if err != nil {
		// The kernel is of no use, and the caller does not know of it.
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupWithin)
		defer cancel()
		return nil, errors.Join(err, s.ShutDown(cleanup, model.ID))
	}
	return kernel, nil
}

// cleanupWithin bounds what is tidied up after a failure or a cancel.
const cleanupWithin = 30 * time.Second

// Kernels gives the ids of the kernels that run.
func (s *Server) Kernels(ctx context.Context) ([]string, error) {
	var models []kernelModel
	if err := s.call(ctx, http.MethodGet, http.StatusOK, nil, &models, "api", "kernels"); err != nil {
		return nil, err
	}
	ids := []string{}
	for _, model := range models {
		ids = append(ids, model.ID)
	}
	return ids, nil
}

// ShutDown ends a kernel. One that is gone already is no error.
func (s *Server) ShutDown(ctx context.Context, id string) error {
	err := s.call(ctx, http.MethodDelete, http.StatusNoContent, nil, nil, "api", "kernels", id)
	var answer *StatusError
	if errors.As(err, &answer) && answer.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// call sends one request with body as JSON, if any, and reads the answer into into, if any.
func (s *Server) call(ctx context.Context, method string, want int, body, into any, path ...string) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	target, header := s.endpoint.sent(nil, path...)
	request, err := http.NewRequestWithContext(ctx, method, target.String(), content)
	if err != nil {
		return err
	}
	request.Header = header
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	what := method + " " + strings.Join(path, "/")
	response, err := s.endpoint.client().Do(request)
	if err != nil {
		return s.problem("Jupyter Server does not answer", s.unaddressed(what, err), "Check that the server runs and listens on this address.")
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return s.problem("Answer of Jupyter Server was cut off", fmt.Errorf("%s: %w", what, err), "")
	}
	if response.StatusCode != want {
		return s.refused(what, response.StatusCode, text)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return s.problem("Answer is not Jupyter Server's", fmt.Errorf("%s: %w", what, err),
			"Something else listens there: check the address, and that nothing else has taken the port.")
	}
	return nil
}

// refused explains a status that was not asked for; the server gives its reason as {"message": "…"}.
func (s *Server) refused(what string, status int, text []byte) error {
	var said struct{ Message, Reason string }
	if json.Unmarshal(text, &said) != nil {
		said.Message = strings.TrimSpace(string(text[:min(len(text), 300)]))
	}
	if said.Reason != "" {
		said.Message = strings.TrimSpace(said.Message + " " + said.Reason)
	}
	cause := fmt.Errorf("%s: %w", what, &StatusError{Status: status, Message: s.masker.Mask(said.Message)})
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return s.problem("Jupyter Server refused the token", cause, "Use the token that the server was started with (IdentityProvider.token).")
	}
	return s.problem("Jupyter Server refused the request", cause, "")
}

func (s *Server) problem(title string, cause error, advice string) error {
	return &problem.Problem{Title: title, Object: s.endpoint.String(), Cause: cause, Advice: advice}
}

// unaddressed takes the address out of an error of net/http: its query may hold the token.
func (s *Server) unaddressed(what string, err error) error {
	var addressed *url.Error
	if errors.As(err, &addressed) {
		err = addressed.Err
	}
	return fmt.Errorf("%s: %w", what, err)
}

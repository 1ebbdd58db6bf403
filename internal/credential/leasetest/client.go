package leasetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
)

// pause is between two looks and before a request is made again.
const pause = 10 * time.Millisecond

// Client speaks to a Server. It is a credential.Store.
type Client struct{ URL string }

// Build is an artifact of the service.
type Build struct{ ID, Name, Status string }

// refused is an answer that is no success.
type refused struct {
	request string
	status  int
	message string
}

func (r *refused) Error() string {
	return fmt.Sprintf("%s answered %d: %s", r.request, r.status, r.message)
}

// Unclear tells whether the service may have done what it was asked for.
func (r *refused) Unclear() bool { return r.status >= 500 }

// NotFound tells whether an error is a 404 of the service.
func NotFound(err error) bool {
	var r *refused
	return errors.As(err, &r) && r.status == http.StatusNotFound
}

// Service is the name in private state and messages.
func (Client) Service() string { return "Leasetest" }

// Removal says how a person removes a stored credential.
func (c Client) Removal(s credential.Stored) string {
	return fmt.Sprintf("curl -X DELETE %s/credentials/%s", c.URL, s.ID)
}

// CreateCredential stores a login. It is not repeated: its answer may be lost.
func (c Client) CreateCredential(ctx context.Context, name string, login image.Credential) (id string, err error) {
	var made struct{ ID string }
	err = c.once(ctx, http.MethodPost, "/credentials", map[string]string{
		"name": name, "username": login.Username, "password": login.Password.Reveal(),
	}, &made)
	return made.ID, err
}

// List gives all stored credentials.
func (c Client) List(ctx context.Context) (stored []credential.Stored, err error) {
	return stored, c.repeat(ctx, http.MethodGet, "/credentials", &stored)
}

// Delete returns when the credential is gone, which the service may take its time for.
func (c Client) Delete(ctx context.Context, id string) error {
	path := "/credentials/" + id
	err := c.repeat(ctx, http.MethodDelete, path, nil)
	for err == nil {
		if err = c.repeat(ctx, http.MethodGet, path, nil); err == nil {
			err = wait(ctx)
		}
	}
	if NotFound(err) {
		return nil
	}
	return err
}

// StartBuild starts a build with a stored credential.
func (c Client) StartBuild(ctx context.Context, name, credential string) (b Build, err error) {
	return b, c.once(ctx, http.MethodPost, "/builds", map[string]string{"name": name, "credential": credential}, &b)
}

// Build gives an artifact, Builds all of them.
func (c Client) Build(ctx context.Context, id string) (b Build, err error) {
	return b, c.repeat(ctx, http.MethodGet, "/builds/"+id, &b)
}

// Builds gives all artifacts.
func (c Client) Builds(ctx context.Context) (all []Build, err error) {
	return all, c.repeat(ctx, http.MethodGet, "/builds", &all)
}

// Wait returns when a build has ended.
func (c Client) Wait(ctx context.Context, id string) error {
	for {
		b, err := c.Build(ctx, id)
		switch {
		case err != nil:
			return err
		case b.Status == "ready":
			return nil
		case b.Status != "building":
			return fmt.Errorf("build %s is %s", id, b.Status)
		}
		if err := wait(ctx); err != nil {
			return err
		}
	}
}

// DeleteBuild removes an artifact. One that is not there is success.
func (c Client) DeleteBuild(ctx context.Context, id string) error {
	if err := c.repeat(ctx, http.MethodDelete, "/builds/"+id, nil); !NotFound(err) {
		return err
	}
	return nil
}

// repeat makes a request again while the service fails, three times at most.
func (c Client) repeat(ctx context.Context, method, path string, into any) error {
	for attempt := 1; ; attempt++ {
		err := c.once(ctx, method, path, nil, into)
		var r *refused
		if err == nil || attempt == 3 || errors.As(err, &r) && r.status < 500 || wait(ctx) != nil {
			return err
		}
	}
}

func (c Client) once(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode > 299:
		var said refusal
		_ = json.Unmarshal(answer, &said) // What is no refusal has no message.
		return &refused{request: method + " " + path, status: response.StatusCode, message: said.Message}
	case into == nil:
		return nil
	}
	return json.Unmarshal(answer, into)
}

func wait(ctx context.Context) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

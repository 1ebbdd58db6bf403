package image

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// maxQuote is how much of a registry's own words an error repeats.
const maxQuote = 300

// ErrCannotUntag says that a registry removes manifests by digest only, which would take every tag along.
var ErrCannotUntag = errors.New("the registry cannot remove a single tag")

// ErrIncomplete says that the registry holds an image's manifest or index, but not all that it lists.
var ErrIncomplete = errors.New("the image is incomplete")

// ErrNotImage says that a manifest was read but is not a container image or an index of such.
var ErrNotImage = errors.New("not a container image")

// Error is one request that a registry did not answer as hoped.
type Error struct {
	// Method of the request.
	Method string
	// Host and Repository are what was asked, and Reference the object in it: "@sha256:…", ":tag" or "/tags/list".
	Host, Repository, Reference string
	retry.Failure

	// Login is what a refused request was sent with, as Credential.String names it.
	Login string
	// Sought says of a refused request where its login is looked for, as the source of the credentials says it.
	Sought string

	retryAfter time.Duration
}

// Error is one line: "HEAD localhost:5000/team/env:v1: 403 Forbidden: DENIED: no access".
func (e *Error) Error() string {
	return e.Line(e.Method + " " + e.Host + "/" + e.Repository + e.Reference)
}

// NotFound tells whether the registry answered 404, the only answer that means gone.
func NotFound(err error) bool { return status(err) == http.StatusNotFound }

// Denied tells whether the registry, or its token service, answered 401 or 403.
func Denied(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Denied()
}

// Transient tells whether the same request may succeed later: see [retry.Failure.Transient].
func Transient(err error) bool {
	var e *Error
	return errors.As(err, &e) && !errors.Is(err, context.Canceled) && e.Transient()
}

// incomplete takes the meaning "gone" from a 404 for something that an image lists: the image itself is there.
func incomplete(err error) error {
	if !NotFound(err) {
		return err
	}
	return fmt.Errorf("%w: %s", ErrIncomplete, err.Error())
}

func status(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

func (k call) failed(cause error) *Error {
	return &Error{Method: k.method, Host: k.repo.Host, Repository: k.repo.Path, Reference: k.object, Failure: retry.Failure{Cause: cause}}
}

func (k call) spoiled(cause error) *Error {
	e := k.failed(cause)
	e.Spoiled = true
	return e
}

// refused is an answer outside 2xx.
func (c *Client) refused(k call, host string, response *http.Response, body []byte) *Error {
	e := k.failed(nil)
	e.Status = response.StatusCode
	e.retryAfter = retry.After(response.Header)
	var answer struct {
		Errors []struct{ Code, Message string }
	}
	if json.Unmarshal(body, &answer) == nil && len(answer.Errors) > 0 {
		e.Code = answer.Errors[0].Code
		var words []string
		for _, one := range answer.Errors {
			if one.Message != "" {
				words = append(words, one.Message)
			}
		}
		e.Message = strings.Join(words, "; ")
	} else {
		e.Message = string(body)
	}
	if Denied(e) {
		e.Login, e.Sought = c.login(host), Sought(c.source, k.repo.Host)
	}
	mask := c.masker(host, response.Request)
	e.Code, e.Message = excerpt(mask, e.Code), excerpt(mask, e.Message)
	return e
}

// unanswered is a request without an answer: the network failed, or the credential or token for it could not be had.
func (c *Client) unanswered(k call, host string, err error) *Error {
	e := k.failed(err)
	var network *url.Error
	var token *errcode.ErrorResponse
	var credential *CredentialError
	switch {
	case errors.As(err, &credential):
		// The registry is not what failed, even where the network was.
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		e.Status, e.Cause, e.Login = http.StatusUnauthorized, nil, Credential{}.String()
		e.Message = "the registry asks for credentials, and none were found for " + k.repo.Host
	case errors.As(err, &token):
		e.Message = fmt.Sprintf("the token service %s answered %d", token.URL.Host, token.StatusCode)
		if len(token.Errors) > 0 {
			e.Message += ": " + excerpt(c.masker(host, nil), token.Errors.Error())
		}
		e.Cause = nil
		// Its 404 says nothing of the repository, so only what keeps its meaning becomes the status.
		if s := token.StatusCode; s == http.StatusUnauthorized || s == http.StatusForbidden || s == http.StatusTooManyRequests || s >= 500 {
			e.Status = s
		}
		e.Login = c.login(host)
	case !errors.As(err, &network):
		if !brokenOff(err) {
			e.Cause = retry.Final(err)
		}
	case network.Op == "parse":
		e.Cause = retry.Final(err)
	case strings.HasPrefix(network.Err.Error(), "failed to parse Location header"):
		// net/http keeps no type of it.
		e.Cause = retry.Final(network.Err)
	default:
		e.Cause = network.Err
		if asked, err := url.Parse(network.URL); err == nil && asked.Host != host {
			e.Message = "request to " + asked.Host
		}
	}
	if Denied(e) {
		e.Sought = Sought(c.source, k.repo.Host)
	}
	return e
}

// brokenOff tells whether an answer of the token service was not read to its end. Whatever else oras-go says itself is of
// an answer that comes again.
func brokenOff(err error) bool {
	var syntax *json.SyntaxError
	var shape *json.UnmarshalTypeError
	return strings.Contains(err.Error(), "failed to decode response") && !errors.As(err, &syntax) && !errors.As(err, &shape)
}

func (c *Client) login(host string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent[host].String()
}

// masker hides the credential last sent to the host and what the request itself carried.
func (c *Client) masker(host string, request *http.Request) secret.Masker {
	c.mu.Lock()
	known := c.sent[host]
	c.mu.Unlock()
	values := []secret.Value{known.Password, known.RefreshToken}
	if request != nil {
		_, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
		values = append(values, secret.New(token))
		if decoded, err := base64.StdEncoding.DecodeString(token); err == nil {
			_, password, _ := strings.Cut(string(decoded), ":")
			values = append(values, secret.New(password))
		}
	}
	return secret.NewMasker(values...)
}

// excerpt is a registry's text in one line, masked before it is cut so that no half of a secret stays.
func excerpt(mask secret.Masker, text string) string {
	line := strings.Join(strings.Fields(mask.Mask(strings.ToValidUTF8(text, "�"))), " ")
	if runes := []rune(line); len(runes) > maxQuote {
		return string(runes[:maxQuote-1]) + "…"
	}
	return line
}

// object names a repository's content the way references are written.
func object(repo reference.Repository, tagOrDigest string) string {
	return repo.String() + suffix(tagOrDigest)
}

func suffix(tagOrDigest string) string {
	if reference.ValidDigest(tagOrDigest) {
		return "@" + tagOrDigest
	}
	return ":" + tagOrDigest
}

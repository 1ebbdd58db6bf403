package e2b

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// maxQuote is how much of E2B's own words an error repeats.
const maxQuote = 600

// Error is one request that E2B did not answer as hoped.
type Error struct {
	// Method and Path of the request, without its query: "POST", "/v3/templates".
	Method, Path string
	// Failure's Code is E2B's own: "sandbox_capacity_unavailable".
	retry.Failure

	host       string
	bare       bool // Options.FromEnvironment
	ours       bool // the body is E2B's form of an error, and the answer so E2B's own
	retryAfter time.Duration
}

// Error is one line: "POST /v3/templates: 429 Too Many Requests: Rate limit exceeded".
func (e *Error) Error() string { return e.Line(e.Method + " " + e.Path) }

// NotFound tells whether E2B itself answered that the object is not there. A 404 of something else at that address, or
// of a route that the deployment does not have, says nothing of the object.
func NotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound && e.ours && !e.noRoute()
}

// noRoute tells whether the deployment refuses the route or method as one that it does not have.
func (e *Error) noRoute() bool {
	return e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotFound &&
		(!e.ours || strings.HasPrefix(e.Message, "validation error") || strings.Contains(e.Message, "no matching operation"))
}

// Denied tells whether E2B answered 401 or 403.
func Denied(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Denied()
}

// Transient tells whether the same request may succeed later: see [retry.Failure.Transient].
func Transient(err error) bool {
	var e *Error
	return errors.As(err, &e) && !errors.Is(err, context.Canceled) && e.Transient()
}

// Unclear tells whether a request that changes something may have been carried out although it failed: see
// [retry.Failure.Unclear].
func Unclear(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Unclear()
}

// retryAfter is the time after which E2B asks to be asked again; 0 if it names none.
func retryAfter(err error) time.Duration {
	if e := requestError(err); e != nil {
		return e.retryAfter
	}
	return 0
}

// refused is an answer outside 2xx.
func (k call) refused(response *http.Response, body []byte, mask secret.Masker) *Error {
	e := k.failed(nil)
	e.Status, e.retryAfter = response.StatusCode, retry.After(response.Header)
	var answer struct {
		// Code is the status again; envd's is a word of the Connect protocol.
		Code      json.RawMessage `json:"code"`
		ErrorCode string          `json:"error_code"`
		Message   string          `json:"message"`
	}
	switch {
	case json.Unmarshal(body, &answer) == nil && answer.Message != "":
		var word string
		if json.Unmarshal(answer.Code, &word) == nil && word != "" {
			e.ours, answer.ErrorCode = true, word
		} else {
			e.ours = string(answer.Code) == strconv.Itoa(response.StatusCode)
		}
		e.Code, e.Message = excerpt(mask, answer.ErrorCode), excerpt(mask, answer.Message)
	case isHTML(response):
		e.Message = htmlPage
	case response.StatusCode >= 300 && response.StatusCode < 400:
		e.Message = "a redirect, which is not followed because it would carry the API key along"
	default:
		e.Message = excerpt(mask, string(body))
	}
	return e
}

// htmlPage is said of what proxies and gateways answer in E2B's place.
const htmlPage = "a page of HTML, not an answer of the E2B API"

func isHTML(response *http.Response) bool {
	return strings.Contains(response.Header.Get("Content-Type"), "html")
}

// unanswered is a request without an answer.
func (k call) unanswered(err error) *Error {
	var network *url.Error
	if errors.As(err, &network) {
		err = network.Err
	}
	return k.failed(err)
}

func (k call) failed(cause error) *Error {
	return &Error{Method: k.method, Path: k.shown(), host: k.host(), bare: k.bare, Failure: retry.Failure{Cause: cause}}
}

func (k call) spoiled(status int, cause error) *Error {
	e := k.failed(cause)
	e.Status, e.Spoiled = status, true
	return e
}

func excerpt(mask secret.Masker, text string) string {
	text = strings.TrimSpace(mask.Mask(text))
	if len(text) > maxQuote {
		text = strings.ToValidUTF8(text[:maxQuote], "") + "…"
	}
	return text
}

// report turns a failed request into what a person reads.
func report(title, object string, err error) error {
	if err == nil {
		return nil
	}
	var done *problem.Problem
	if errors.As(err, &done) {
		return err
	}
	return &problem.Problem{Title: title, Object: object, Cause: err, Advice: advice(err)}
}

func advice(err error) string {
	var e *Error
	var proxy *retry.ProxyError
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case !errors.As(err, &e):
		return ""
	case e.Status == http.StatusUnauthorized:
		return "E2B does not take the API key. Check " + e.settings("api_key", "E2B_API_KEY") + ", and that the key belongs to the deployment " +
			e.host + ": keys of one deployment are unknown to the others."
	case e.Status == http.StatusForbidden:
		return "The API key is valid at " + e.host + ", but its team may not do this. Check that the key is that of the team that owns the template, and that the team is not blocked."
	case e.noRoute():
		return "What answers at " + e.host + " does not offer this. Check " + e.settings("domain and api_url", "E2B_DOMAIN and E2B_API_URL") + "."
	case e.Status == http.StatusTooManyRequests && e.bare:
		return "E2B limits how much a team does at once. Wait for other builds or sandboxes to end, then try again."
	case e.Status == http.StatusTooManyRequests:
		return "E2B limits how much a team does at once. Wait for other builds or sandboxes to end, or run fewer at a time (terraform apply -parallelism=1)."
	case e.Status >= 500:
		return "The service failed, not the configuration: try again, and see https://status.e2b.dev if it goes on."
	case e.Status >= 300 && e.Status < 400 && e.bare:
		return "Give the address that it redirects to as E2B_API_URL."
	case e.Status >= 300 && e.Status < 400:
		return "Give the address that it redirects to as api_url or sandbox_url, or as E2B_API_URL or E2B_SANDBOX_URL."
	case errors.As(err, &proxy):
		return proxy.Advice(e.host)
	case (e.Status == 0 || e.Spoiled) && e.bare:
		return "Check that " + e.host + " can be reached from this machine, and that it is the deployment that is meant: E2B_API_URL or E2B_DOMAIN names another."
	case e.Status == 0 || e.Spoiled:
		return "Check that " + e.host + " can be reached from where Terraform runs."
	}
	return ""
}

// settings names what to check: attributes of the provider's e2b settings, and the variables that stand for them.
func (e *Error) settings(attributes, variables string) string {
	switch {
	case e.bare:
		return variables
	case strings.Contains(attributes, " and "):
		return attributes + " in the provider's e2b settings, or " + variables
	}
	return attributes + " in the provider's e2b settings or " + variables
}

// requestError finds the failed request in an error; nil if there is none.
func requestError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

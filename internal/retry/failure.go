package retry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// Failure is what all services have in common in a request that failed.
type Failure struct {
	// Status is the HTTP status; 0 if no answer came.
	Status int
	// Code is the service's error code ("MANIFEST_UNKNOWN"), Message its words with secrets masked; either may be empty.
	Code, Message string
	// Cause is the network's error, or what is wrong with a 2xx answer.
	Cause error
	// Spoiled tells that an answer came, but not one that can be used: cut short, or not of the service.
	Spoiled bool
}

// Line is one line on the request: "HEAD localhost:5000/team/env:v1: 403 Forbidden: DENIED: no access".
func (f Failure) Line(request string) string {
	parts := []string{request}
	if f.Status != 0 {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", f.Status, http.StatusText(f.Status))))
	}
	if f.Code != "" {
		parts = append(parts, f.Code)
	}
	if f.Message != "" {
		parts = append(parts, f.Message)
	}
	if f.Cause != nil {
		parts = append(parts, f.Cause.Error())
	}
	return strings.Join(parts, ": ")
}

// Because adds why the request is not made again, where that says more than the failure itself: the service asks for a
// longer pause than there is time for.
func (f *Failure) Because(ends error) {
	if long, is := errors.AsType[*TooLong](ends); is {
		f.Cause = errors.Join(f.Cause, long)
	}
}

// Unwrap gives the cause.
func (f Failure) Unwrap() error { return f.Cause }

// Denied tells whether the service answered 401 or 403.
func (f Failure) Denied() bool {
	return f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden
}

// Transient tells whether the same request may succeed later: 429, 5xx, an answer cut short, and every failure of the
// network but those that come again however often it is asked: see permanent. What the caller cancelled is not.
func (f Failure) Transient() bool {
	switch {
	case errors.Is(f.Cause, context.Canceled):
		return false
	case f.Spoiled:
		return true
	case f.Status != 0:
		return f.Status == http.StatusTooManyRequests || f.Status >= 500
	}
	return f.Cause != nil && !permanent(f.Cause)
}

// Unclear tells whether a request that changes something may have been carried out although it failed: the answer was
// lost or cut short, or came from a gateway. A look at the object decides.
func (f Failure) Unclear() bool {
	return !f.Unsent() && (f.Status == 0 || f.Status >= 500 || f.Spoiled)
}

// Unsent tells whether the request surely never reached the service.
func (f Failure) Unsent() bool {
	var dial *net.OpError
	return f.Status == 0 && (isA[*ProxyError](f.Cause) || errors.As(f.Cause, &dial) && dial.Op == "dial")
}

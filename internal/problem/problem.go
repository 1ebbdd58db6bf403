// Package problem is the one form in which every room reports a failure to a person: what failed, which object,
// the words of the service or tool, its last log lines, and what to do next. The Terraform surface turns a Problem
// into a diagnostic; nothing here knows of Terraform.
package problem

import (
	"errors"
	"fmt"
	"strings"
)

// Key is a map key in a Path; a plain string there is an attribute name and an int a list index.
type Key string

// Problem is one failure. Title is required and unique to the place that reports it. No field ever holds a secret:
// whoever fills Logs or Cause from a service masks them first.
type Problem struct {
	// Title says what failed, in a few words: "Hash mismatch in the locked packages".
	Title string
	// Path is where in the configuration the cause lies, outermost first: "files", 2, "path". Empty: nowhere in particular.
	Path []any
	// Object names what it failed on: a repository, a reference, a line of a lock.
	Object string
	// Cause is the error below, in the service's own words.
	Cause error
	// Logs are the last lines of the failing step, oldest first.
	Logs []string
	// Advice says what to do next.
	Advice string
}

// Error is the whole problem in one line, for logs and wrapped errors.
func (p *Problem) Error() string {
	parts := []string{p.Title}
	if p.Object != "" {
		parts = append(parts, p.Object)
	}
	if p.Cause != nil {
		parts = append(parts, Words(p.Cause))
	}
	return strings.Join(parts, ": ")
}

// Unwrap gives the cause, so that errors.Is(err, context.Canceled) sees through a Problem.
func (p *Problem) Unwrap() error { return p.Cause }

// Detail is the text below the title: object, cause, log lines, advice, each in a paragraph of its own.
func (p *Problem) Detail() string {
	var paragraphs []string
	if p.Object != "" {
		paragraphs = append(paragraphs, p.Object)
	}
	if p.Cause != nil {
		paragraphs = append(paragraphs, Words(p.Cause))
	}
	if len(p.Logs) > 0 {
		paragraphs = append(paragraphs, fmt.Sprintf("Last %d log lines:\n  %s", len(p.Logs), strings.Join(p.Logs, "\n  ")))
	}
	if p.Advice != "" {
		paragraphs = append(paragraphs, p.Advice)
	}
	return strings.Join(paragraphs, "\n\n")
}

// List is several problems found in one look; nil or empty means none.
type List []*Problem

// Error joins the problems, one a line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As reach each problem.
func (l List) Unwrap() []error {
	errs := make([]error, len(l))
	for i, p := range l {
		errs[i] = p
	}
	return errs
}

// Err is nil for an empty list, so that callers can return it as an error.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// From gives the problems within err. An error that carries none becomes one, under the title given.
func From(err error, title string) List {
	if err == nil {
		return nil
	}
	var list List
	if errors.As(err, &list) {
		return list
	}
	var one *Problem
	if errors.As(err, &one) {
		return List{one}
	}
	return List{{Title: title, Cause: err}}
}

// Moved puts the problems within err that lie at one argument to another; any other error stays as it is. A room that
// does not know what an argument is called on a resource names its own.
func Moved(err error, from, to string) error {
	var list List
	var one *Problem
	switch {
	case errors.As(err, &list):
	case errors.As(err, &one):
		list = List{one}
	default:
		return err
	}
	moved := List{}
	for _, p := range list {
		said := *p
		if len(p.Path) > 0 && p.Path[0] == from {
			said.Path = append([]any{to}, p.Path[1:]...)
		}
		moved = append(moved, &said)
	}
	return moved.Err()
}

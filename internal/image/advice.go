package image

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
)

// report turns a failed request into what a person reads. A Problem from below (a credential that could not be had)
// says more than we could, and stays as it is.
func report(title string, repo reference.Repository, object string, err error) error {
	if err == nil {
		return nil
	}
	var withheld *CredentialError
	if errors.As(err, &withheld) {
		return withheld
	}
	var below *problem.Problem
	if errors.As(err, &below) {
		return below
	}
	return &problem.Problem{Title: title, Object: object, Cause: err, Advice: advice(repo, err)}
}

func advice(repo reference.Repository, err error) string {
	var e *Error
	var proxy *retry.ProxyError
	switch {
	case errors.Is(err, ErrNotImage):
		return "It may be a build cache, an attestation or another artifact: name the tag or digest of the image itself."
	case Denied(err):
		return strings.TrimSpace(fmt.Sprintf("%s answered %d to a request with %s: check the credentials for %s and their right to this repository. %s", repo.Host, status(err), sentWith(err), repo.Host, sought(err)))
	case status(err) == http.StatusMethodNotAllowed:
		return fmt.Sprintf("%s does not take this kind of request: it may be read-only, or a mirror.", repo.Host)
	case NotFound(err):
		return fmt.Sprintf("Check the name of the repository and what is asked for in it; a registry may also answer 404 where the credentials for %s have no right to look.", repo.Host)
	case status(err) == http.StatusTooManyRequests:
		return fmt.Sprintf("%s limits the rate of requests: try again later, or give credentials for it if it was asked anonymously.", repo.Host)
	case errors.As(err, &proxy):
		return proxy.Advice(repo.Host)
	case Transient(err) && reference.PlainHTTP(repo.Host):
		return fmt.Sprintf("%s could not answer, also when asked again: check that it runs and is reachable. A registry on this machine's loopback is asked in plain HTTP; one that speaks TLS there is reached by a name of its own.", repo.Host)
	case Transient(err):
		return fmt.Sprintf("%s could not answer, also when asked again: check that it is reachable and try again.", repo.Host)
	case errors.As(err, &e) && e.Status == 0 && !errors.Is(err, io.EOF):
		return fmt.Sprintf("Check the registry host %s, the network and its TLS certificate.", repo.Host)
	}
	return "The registry's own words say why."
}

// Sought is what the source of the credentials says of where the host's are looked for; "" where it says nothing.
func Sought(source Credentials, host string) string {
	if from, ok := source.(interface{ Sought(host string) string }); ok {
		return from.Sought(host)
	}
	return ""
}

func sought(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Sought
	}
	return ""
}

func sentWith(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Login != "" {
		return e.Login
	}
	return Credential{}.String()
}

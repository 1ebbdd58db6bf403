package image

import (
	"errors"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// CredentialError says that the credential for a request could not be had: the registry has not been asked, and whoever
// looked for the credential knows best what to do.
type CredentialError struct{ Problem *problem.Problem }

// Error is the problem in one line.
func (e *CredentialError) Error() string { return e.Problem.Error() }

// Unwrap gives the problem.
func (e *CredentialError) Unwrap() error { return e.Problem }

// CredentialProblem is why the credential for a request could not be had, laid at the argument that named the image; nil
// where something else failed.
func CredentialProblem(err error, at ...any) *problem.Problem {
	var held *CredentialError
	if !errors.As(err, &held) {
		return nil
	}
	said := *held.Problem
	if len(said.Path) == 0 {
		said.Path = at
	}
	return &said
}

// ofCredential marks what whoever looked for a credential says of it.
func ofCredential(err error) error {
	var said *problem.Problem
	if !errors.As(err, &said) {
		return err
	}
	return &CredentialError{said}
}

package retry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
)

// Final marks an error of our own that comes again however often the request is made: a request that cannot be made, or
// an answer that is not taken.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return final{err}
}

type final struct{ error }

func (f final) Unwrap() error { return f.error }

// permanent tells whether a request that got no answer would fail again in the same way: the host does not exist, it is
// not who it should be, the address is none, a proxy refuses, or we do ourselves.
func permanent(err error) bool {
	if isA[final](err) || errors.Is(err, http.ErrSchemeMismatch) {
		return true
	}
	if proxy, is := errors.AsType[*ProxyError](err); is {
		return !proxy.RetryableError()
	}
	var host *net.DNSError
	if errors.As(err, &host) && host.IsNotFound && !host.IsTemporary && !host.IsTimeout {
		return true
	}
	var address *url.Error
	if errors.As(err, &address) && address.Op == "parse" {
		return true
	}
	return untrusted(err) || isA[url.EscapeError](err) || isA[url.InvalidHostError](err) || isA[*net.AddrError](err) || isA[*net.ParseError](err)
}

// untrusted tells whether the two sides could not agree on TLS: a certificate that one of them does not take, or a
// server that speaks something else.
func untrusted(err error) bool {
	if isA[*tls.CertificateVerificationError](err) || isA[tls.RecordHeaderError](err) || isA[*tls.ECHRejectionError](err) ||
		isA[x509.UnknownAuthorityError](err) || isA[x509.HostnameError](err) || isA[x509.CertificateInvalidError](err) || isA[x509.SystemRootsError](err) {
		return true
	}
	// An alert is of a type that crypto/tls keeps to itself.
	var alert *net.OpError
	if !errors.As(err, &alert) || alert.Op != "remote error" && alert.Op != "local error" || alert.Err == nil {
		return false
	}
	for _, passing := range []tls.AlertError{alertBadRecord, alertInternalError} {
		if alert.Err.Error() == passing.Error() {
			return false
		}
	}
	return true
}

// Alerts of RFC 8446, section 6.2, that tell of the connection or of the peer's own trouble.
const (
	alertBadRecord     = 20
	alertInternalError = 80
)

func isA[T error](err error) bool {
	_, is := errors.AsType[T](err)
	return is
}

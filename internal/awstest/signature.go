package awstest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// signer finds who signed a request and whether the signature (SigV4) is good: for this region and service, with the
// secret and the session token that belong to the key, over this body.
func (c *Cloud) signer(r *http.Request, region, service string, call *Call) (p *principal, body []byte, refused *failure) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, nil, &failure{http.StatusBadRequest, "IncompleteSignature", err.Error()}
	}
	incomplete := &failure{http.StatusForbidden, "IncompleteSignature", "Authorization header requires 'Credential' parameter, 'Signature' parameter and 'SignedHeaders' parameter."}
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	fields := map[string]string{}
	for _, field := range strings.Split(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		fields[name] = value
	}
	scope := append(strings.Split(fields["Credential"], "/"), "", "", "", "")
	if scheme != "AWS4-HMAC-SHA256" || scope[0] == "" || fields["Signature"] == "" {
		return nil, body, incomplete
	}
	call.AccessKeyID, call.SessionToken = scope[0], r.Header.Get("X-Amz-Security-Token") != ""
	c.mu.Lock()
	p = c.principals[scope[0]]
	c.mu.Unlock()
	invalid := &failure{http.StatusForbidden, "InvalidClientTokenId", "The security token included in the request is invalid."}
	if service == "ecr" {
		invalid = &failure{http.StatusBadRequest, "UnrecognizedClientException", "The security token included in the request is invalid."}
	}
	if p == nil || p.sessionToken != r.Header.Get("X-Amz-Security-Token") {
		return nil, body, invalid
	}
	call.Caller = p.arn
	if scope[2] != region || scope[3] != service {
		return nil, body, &failure{http.StatusForbidden, "SignatureDoesNotMatch", "Credential should be scoped to a valid region and service."}
	}
	if !p.expires.IsZero() && !c.Now().Before(p.expires) {
		name := "ExpiredToken"
		if service == "ecr" {
			name = "ExpiredTokenException"
		}
		return nil, body, &failure{http.StatusBadRequest, name, "The security token included in the request is expired"}
	}
	if again := resigned(r, body, p, scope[0], region, service, fields["SignedHeaders"]); again != r.Header.Get("Authorization") {
		mismatch := &failure{http.StatusForbidden, "SignatureDoesNotMatch", mismatched(r, body, fields["SignedHeaders"], strings.Join(scope[1:5], "/"))}
		if service == "ecr" {
			mismatch.status, mismatch.code = http.StatusBadRequest, "InvalidSignatureException"
		}
		return nil, body, mismatch
	}
	return p, body, nil
}

// mismatched is what AWS says of a signature that is not the secret's: it shows the whole request as it was signed, the
// session token included.
func mismatched(r *http.Request, body []byte, signed, scope string) string {
	var text strings.Builder
	text.WriteString("The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.\n\n")
	fmt.Fprintf(&text, "The Canonical String for this request should have been\n'%s\n%s\n%s\n", r.Method, r.URL.Path, r.URL.RawQuery)
	for name := range strings.SplitSeq(signed, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		fmt.Fprintf(&text, "%s:%s\n", name, value)
	}
	fmt.Fprintf(&text, "\n%s\n%x'\n\n", signed, sha256.Sum256(body))
	fmt.Fprintf(&text, "The String-to-Sign should have been\n'AWS4-HMAC-SHA256\n%s\n%s\n%s'\n", r.Header.Get("X-Amz-Date"), scope, strings.Repeat("0", 64))
	return text.String()
}

// resigned is the Authorization header that the holder of the secret makes for the request.
func resigned(r *http.Request, body []byte, p *principal, key, region, service, signed string) string {
	copied, err := http.NewRequest(r.Method, "https://"+r.Host+r.URL.RequestURI(), bytes.NewReader(body)) //nolint:noctx // It is never sent.
	if err != nil {
		return ""
	}
	for _, name := range strings.Split(signed, ";") {
		if name != "host" && name != "content-length" {
			copied.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(body)
	keys := aws.Credentials{AccessKeyID: key, SecretAccessKey: p.secret, SessionToken: p.sessionToken}
	if err := v4.NewSigner().SignHTTP(r.Context(), keys, copied, hex.EncodeToString(sum[:]), service, region, at); err != nil {
		return ""
	}
	return copied.Header.Get("Authorization")
}

package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// AWSError is an answer of AWS that is no success.
type AWSError struct {
	// Operation is "STS AssumeRole"; Status the HTTP status, 0 if no answer came; Code is AWS's ("AccessDenied").
	Operation, Code, Message string
	Status                   int
	cause                    error
}

// Error is one line: "STS AssumeRole: 403 Forbidden: AccessDenied: User … is not authorized".
func (e *AWSError) Error() string {
	var parts []string
	status := ""
	if e.Status != 0 {
		status = strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)))
	}
	for _, part := range []string{e.Operation, status, e.Code, e.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if e.Status == 0 && e.Code == "" && e.cause != nil {
		parts = append(parts, e.cause.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap gives what the SDK said.
func (e *AWSError) Unwrap() error { return e.cause }

// ReadAWSError takes from an error of the SDK what AWS itself said.
func ReadAWSError(err error) *AWSError {
	var own *AWSError
	if errors.As(err, &own) {
		return own
	}
	e := &AWSError{cause: err}
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		e.Operation, e.cause = operation.ServiceID+" "+operation.OperationName, operation.Err
	}
	var answer *awshttp.ResponseError
	var asked *http.Request
	if errors.As(err, &answer) {
		e.Status = answer.HTTPStatusCode()
		if answer.Response != nil && answer.Response.Response != nil {
			asked = answer.Response.Request
		}
	}
	var said smithy.APIError
	if errors.As(err, &said) {
		e.Code, e.Message = said.ErrorCode(), quoted(said.ErrorMessage(), asked, maxWords)
	}
	if e.Code == plainCode {
		e.Code = ""
	}
	if e.misread() && e.Message == "" {
		e.Message = "the answer is not understood"
		if asked != nil {
			e.Message = "the answer of " + asked.URL.Host + " is not understood"
		}
	}
	return e
}

// maxWords is how much of AWS's own words an error repeats, which name the reason of a refusal last, and maxForeign how
// much of what others answer in its place.
const maxWords, maxForeign = 2000, 300

// workings is where AWS begins to show how it checked a signature: with the whole request, its session token included.
var workings = lazyregexp.New(`(?i)\s*The (canonical string|string-to-sign)\b`)

// sessionToken is one in a request's headers or query, as others than AWS may repeat it.
var sessionToken = lazyregexp.New(`(?i)(x-amz-security-token["']?\s*[:=]\s*)[^\s&]+`)

// quoted is what AWS said to a request in one line of at most so many runes, without the request's session token; asked
// may be nil.
func quoted(message string, asked *http.Request, most int) string {
	if at := workings.FindStringIndex(message); at != nil {
		message = message[:at[0]]
	}
	if asked != nil {
		message = secret.NewMasker(secret.New(asked.Header.Get("X-Amz-Security-Token"))).Mask(message)
	}
	message = strings.Join(strings.Fields(sessionToken.ReplaceAllString(message, "${1}[redacted]")), " ")
	if runes := []rune(message); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return message
}

// misread tells that somebody said yes in words that are not AWS's.
func (e *AWSError) misread() bool { return e.Status/100 == 2 }

func code(err error) string { return ReadAWSError(err).Code }

// notVisibleYet recognises how STS refuses a role, or keys, that not all of AWS knows yet.
func notVisibleYet(err error) bool {
	switch code(err) {
	case "AccessDenied", "AccessDeniedException", "InvalidClientTokenId":
		return true
	}
	return false
}

// roleRefused names the role, who asked for it, and what AWS holds against it.
func (a *AWS) roleRefused(ctx context.Context, host string, who Identity, at ECRHost, duration time.Duration, err error) error {
	said := ReadAWSError(err)
	p := &problem.Problem{Title: "AWS role for the registry cannot be assumed", Object: fmt.Sprintf("%s, for %s", who.RoleARN, host), Cause: said}
	if ended := ctx.Err(); ended != nil {
		// Nobody is asked any more, and what the end has cut off says nothing of AWS.
		p.Cause = endedBy(ended, said)
		return p
	}
	if caller := a.callerOf(ctx, said, who.Profile, at); caller != "" {
		p.Object += ", as " + caller
	}
	switch {
	case said.Code == "AccessDenied" || said.Code == "AccessDeniedException":
		p.Advice = "Check that the role exists, that its trust policy names this caller, and that the caller may sts:AssumeRole it. "
		if who.ExternalID == "" {
			p.Advice += "A trust policy that asks for an external id needs external_id. "
		} else {
			p.Advice += "The trust policy may ask for another external_id than the one that was sent. "
		}
		p.Advice += "One that asks for MFA cannot be used by Terraform alone: sign in with MFA first (`aws sts get-session-token --serial-number … --token-code …`, or IAM Identity Center) and use those keys. " +
			fmt.Sprintf("A new role is not known everywhere at once: it was asked for again for up to %s.", visibleWithin)
	case strings.Contains(said.Message, "chaining"), said.Code == "ValidationError" && duration > time.Hour && strings.Contains(p.Object, ":assumed-role/"):
		p.Advice = fmt.Sprintf("session_duration is %s, and the caller is itself a role's session: AWS lets one role's session assume another role (role chaining) for one hour at most. Set session_duration to 1h or less, or leave it out (%s).", written(duration), written(DefaultSessionDuration))
	case strings.Contains(said.Message, "MaxSessionDuration"):
		p.Advice = fmt.Sprintf("session_duration is %s, more than the role's own maximum. Lower it, or raise the role's maximum session duration.", written(duration))
	case strings.HasPrefix(said.Code, "ExpiredToken"):
		p.Advice = "The AWS credentials that assume the role have expired: sign in again."
	case said.Code == "PackedPolicyTooLarge":
		p.Advice = "The policy that names the repositories is too large in the form in which AWS packs it. Use fewer repositories of this registry at once."
	case said.Code == "RegionDisabledException":
		p.Advice = "STS is not active in " + at.Region + " for this account: activate it there, or set aws.region to a region where it is."
	case said.Code == "InvalidClientTokenId":
		p.Advice = "AWS does not know the access key of " + profileName(who.Profile) + ", or not in this partition (" + at.Partition + "). " +
			fmt.Sprintf("A new key is not known everywhere at once: it was asked for again for up to %s.", visibleWithin)
	case said.Code == "SignatureDoesNotMatch":
		p.Advice = "The keys are those of " + profileName(who.Profile) + ". " + unsigned
	case said.misread():
		p.Advice = "Something else answers in the place of STS: check aws.endpoints.sts, HTTPS_PROXY and what stands before the network."
	case said.Status == 0:
		p.Advice = "Check that STS can be reached from here (aws.endpoints.sts, HTTPS_PROXY) and that its certificate is trusted."
	default:
		p.Advice = "AWS's own words say why."
	}
	return p
}

// callerOf is who was refused; "" where a proxy refused, which would be sent its login once more for that.
func (a *AWS) callerOf(ctx context.Context, said *AWSError, profile string, at ECRHost) string {
	var proxy *retry.ProxyError
	if errors.As(said, &proxy) {
		return ""
	}
	return a.caller(ctx, profile, at)
}

func (a *AWS) tokenRefused(ctx context.Context, host string, who Identity, at ECRHost, keys aws.Credentials, err error) error {
	said := ReadAWSError(err)
	p := &problem.Problem{Title: "Login token of ECR was refused", Object: host, Cause: said}
	if ended := ctx.Err(); ended != nil {
		p.Cause = endedBy(ended, said)
		return p
	}
	if who.RoleARN != "" {
		p.Object += ", with a session of " + who.RoleARN
	} else if caller := a.callerOf(ctx, said, who.Profile, at); caller != "" {
		p.Object += ", as " + caller
	}
	switch {
	case strings.HasPrefix(said.Code, "AccessDenied"):
		p.Advice = "It needs ecr:GetAuthorizationToken on \"*\": a session has what both its role and its policy allow, and ours allows it."
	case strings.HasPrefix(said.Code, "ExpiredToken"):
		p.Advice = "The AWS credentials have expired: sign in again."
	case said.Code == "UnrecognizedClientException", said.Code == "InvalidClientTokenId":
		p.Advice = "AWS does not know these keys, or not in this partition (" + at.Partition + ")."
		if keys.SessionToken == "" && who.RoleARN == "" {
			p.Advice += " Temporary keys need their session token too (AWS_SESSION_TOKEN)."
		}
	case said.Code == "InvalidSignatureException":
		p.Advice = unsigned
	case said.Status == 0:
		p.Advice = "Check that the ECR API of " + at.Region + " can be reached from here (aws.endpoints.ecr, HTTPS_PROXY) and that its certificate is trusted."
	default:
		p.Advice = "AWS's own words say why."
	}
	return p
}

// unsigned says what a signature that AWS does not take may come from.
const unsigned = "AWS knows the access key, and the signature is not that of its secret key: the secret key (AWS_SECRET_ACCESS_KEY, aws_secret_access_key) is mistyped or belongs to another access key, or the clock of this machine is wrong."

// endedBy is a cancel or a deadline, and what AWS had answered before it.
func endedBy(ended error, said *AWSError) error {
	if said.Status == 0 {
		return ended
	}
	return fmt.Errorf("%w, after %w", ended, said)
}

func profileName(profile string) string {
	if profile == "" {
		return "the default credential chain"
	}
	return fmt.Sprintf("profile %q", profile)
}

// plainCode stands in the place of AWS's error code in an answer that had none.
const plainCode = "NotAnAnswerOfAWS"

// plainWords is an HTTP client whose refusals the SDK can always read: what stands before AWS (a proxy, a VPC endpoint)
// refuses in plain text or HTML, of which the SDK would show its parser's error instead.
type plainWords struct{ next aws.HTTPClient }

func (c plainWords) Do(request *http.Request) (*http.Response, error) {
	response, err := c.next.Do(request)
	if err != nil || response.StatusCode < 400 {
		return response, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	queries := request.Header.Get("X-Amz-Target") == ""
	if queries && !bytes.Contains(body, []byte("<Error")) || !queries && !json.Valid(body) {
		body = inProtocol(queries, quoted(strings.ToValidUTF8(string(body), "�"), request, maxForeign))
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

func inProtocol(queries bool, words string) []byte {
	if queries {
		var escaped bytes.Buffer
		_ = xml.EscapeText(&escaped, []byte(words)) // A buffer takes all.
		return fmt.Appendf(nil, "<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>", plainCode, escaped.String())
	}
	text, _ := json.Marshal(map[string]string{"__type": plainCode, "message": words}) // Strings are always JSON.
	return text
}

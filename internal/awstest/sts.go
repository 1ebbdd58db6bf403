package awstest

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// serveSTS speaks AWS's query protocol.
func (c *Cloud) serveSTS(w http.ResponseWriter, r *http.Request, region string) {
	call := Call{Service: "sts", Region: region}
	defer func() { c.record(call) }()
	p, body, refused := c.signer(r, region, "sts", &call)
	form, err := url.ParseQuery(string(body))
	if err != nil {
		refused = &failure{http.StatusBadRequest, "MalformedQueryString", err.Error()}
	}
	call.Operation, call.Parameters = form.Get("Action"), map[string]string{}
	for name := range form {
		call.Parameters[name] = form.Get(name)
	}
	if c.fault(w, r, &call) {
		return
	}
	var result any
	if refused == nil {
		switch call.Operation {
		case "GetCallerIdentity":
			result = callerIdentity{Result: callerResult{p.arn, "AIDA", p.account}}
		case "AssumeRole":
			result, refused = c.assumeRole(p, call.Parameters)
		default:
			refused = &failure{http.StatusBadRequest, "InvalidAction", "Could not find operation " + call.Operation}
		}
	}
	w.Header().Set("Content-Type", "text/xml")
	call.Status = http.StatusOK
	if refused != nil {
		call.Status, result = refused.status, stsError{Type: "Sender", Code: refused.code, Message: refused.message, RequestID: "r-1"}
	}
	w.WriteHeader(call.Status)
	_ = xml.NewEncoder(w).Encode(result) // Who hangs up early gets nothing.
}

type callerResult struct{ Arn, UserId, Account string } //nolint:revive // AWS's spelling.

type callerIdentity struct {
	XMLName xml.Name     `xml:"https://sts.amazonaws.com/doc/2011-06-15/ GetCallerIdentityResponse"`
	Result  callerResult `xml:"GetCallerIdentityResult"`
}

type stsError struct {
	XMLName   xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ ErrorResponse"`
	Type      string   `xml:"Error>Type"`
	Code      string   `xml:"Error>Code"`
	Message   string   `xml:"Error>Message"`
	RequestID string   `xml:"RequestId"`
}

type assumedRole struct {
	XMLName         xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ AssumeRoleResponse"`
	AccessKeyID     string   `xml:"AssumeRoleResult>Credentials>AccessKeyId"`
	SecretAccessKey string   `xml:"AssumeRoleResult>Credentials>SecretAccessKey"`
	SessionToken    string   `xml:"AssumeRoleResult>Credentials>SessionToken"`
	Expiration      string   `xml:"AssumeRoleResult>Credentials>Expiration"`
	ARN             string   `xml:"AssumeRoleResult>AssumedRoleUser>Arn"`
	RoleID          string   `xml:"AssumeRoleResult>AssumedRoleUser>AssumedRoleId"`
	PackedSize      int      `xml:"AssumeRoleResult>PackedPolicySize"`
}

var sessionName = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)

func (c *Cloud) assumeRole(p *principal, parameters map[string]string) (any, *failure) {
	arn, name := parameters["RoleArn"], parameters["RoleSessionName"]
	invalid := func(format string, values ...any) (any, *failure) {
		return nil, &failure{http.StatusBadRequest, "ValidationError", fmt.Sprintf(format, values...)}
	}
	seconds, err := strconv.Atoi(parameters["DurationSeconds"])
	duration := time.Duration(seconds) * time.Second
	switch {
	case err != nil || seconds < 900 || seconds > 43200:
		return invalid("1 validation error detected: Value '%s' at 'durationSeconds' failed to satisfy constraint", parameters["DurationSeconds"])
	case !sessionName.MatchString(name):
		return invalid("1 validation error detected: Value '%s' at 'roleSessionName' failed to satisfy constraint", name)
	case len(parameters["Policy"]) > 2048:
		return invalid("1 validation error detected: Value at 'policy' failed to satisfy constraint: Member must have length less than or equal to 2048")
	}
	policy, err := parsePolicy(parameters["Policy"])
	if err != nil {
		return nil, &failure{http.StatusBadRequest, "MalformedPolicyDocument", err.Error()}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	role := c.roles[arn]
	if role != nil && role.Invisible > 0 {
		role.Invisible--
		role = nil
	}
	if role == nil || role.ExternalID != parameters["ExternalId"] || role.Trusts != nil && !slices.Contains(role.Trusts, p.arn) {
		return nil, denied(p, "sts:AssumeRole", arn)
	}
	longest := role.MaxSession
	if longest == 0 {
		longest = time.Hour
	}
	switch {
	case strings.Contains(p.arn, ":assumed-role/") && duration > time.Hour:
		return invalid("The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.")
	case duration > longest:
		return invalid("The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
	}
	account := strings.Split(arn, ":")[4]
	session := &principal{
		arn: strings.Replace(strings.Replace(arn, ":iam:", ":sts:", 1), ":role/", ":assumed-role/", 1) + "/" + name, account: account,
		sessionToken: "cnry-session-" + random(60), expires: c.Now().Add(duration).UTC().Truncate(time.Second),
		allows: func(action, resource string) bool {
			own := resource == "*" || slices.ContainsFunc(role.Repositories, func(pattern string) bool { return matches(pattern, resource) })
			return own && policy.allows(action, resource)
		},
	}
	key, secret := c.principal("ASIA", session)
	return assumedRole{
		AccessKeyID: key, SecretAccessKey: secret, SessionToken: session.sessionToken, Expiration: session.expires.Format(time.RFC3339),
		ARN: session.arn, RoleID: "AROA:" + name, PackedSize: len(parameters["Policy"]) * 100 / 2048,
	}, nil
}

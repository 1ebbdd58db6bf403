package credential

import (
	"net/http"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// AWS shows the whole request where its signature is wrong, session token included: a mistyped secret key must not show it.
func TestAWrongSignatureDoesNotShowTheSessionToken(t *testing.T) {
	for name, tt := range map[string]struct {
		identity func(c *cloud) Identity
		code     string
	}{
		"own keys":       {func(*cloud) Identity { return Identity{} }, "InvalidSignatureException"},
		"role":           {func(c *cloud) Identity { return Identity{RoleARN: c.roleFor(awstest.Role{})} }, "SignatureDoesNotMatch"},
		"profile's role": {func(*cloud) Identity { return Identity{Profile: "chained"} }, "SignatureDoesNotMatch"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			key, _, token := c.Temporary(account, "ci")
			if name == "profile's role" {
				c.profiles("[profile chained]\nrole_arn = " + c.roleFor(awstest.Role{}) + "\nsource_profile = base\n[profile base]\naws_access_key_id = " + key +
					"\naws_secret_access_key = mistyped\naws_session_token = " + token + "\n")
			} else {
				t.Setenv("AWS_ACCESS_KEY_ID", key)
				t.Setenv("AWS_SECRET_ACCESS_KEY", "mistyped")
				t.Setenv("AWS_SESSION_TOKEN", token)
			}
			identity := tt.identity(c)
			_, err := c.resolver(AWSOptions{Default: &identity}).Credential(t.Context(), ecrHost)
			p := asProblem(t, err)
			for _, said := range []string{p.Detail(), p.Error(), ReadAWSError(err).Error()} {
				if strings.Contains(said, "cnry") || strings.Contains(said, "Canonical String") || !strings.Contains(said, tt.code+": The request signature we calculated does not match") {
					t.Errorf("got %s", said)
				}
			}
			if !strings.Contains(p.Detail(), "secret key (AWS_SECRET_ACCESS_KEY") || !strings.Contains(p.Detail(), "clock") {
				t.Errorf("it is not said what to do: %s", p.Detail())
			}
		})
	}
}

// Whoever else answers may repeat the request in words of its own.
func TestARefusalDoesNotRepeatTheSessionToken(t *testing.T) {
	for name, body := range map[string]string{"XML": "<ErrorResponse><Error><Code>Blocked</Code><Message>%s</Message></Error></ErrorResponse>", "JSON": `{"__type":"Blocked","message":"%s"}`, "text": "blocked: %s"} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			key, secretKey, token := c.Temporary(account, "ci")
			t.Setenv("AWS_ACCESS_KEY_ID", key)
			t.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
			t.Setenv("AWS_SESSION_TOKEN", token)
			c.Choose = func(awstest.Call, *http.Request) *enginetest.FaultResponse {
				words := "X-Amz-Security-Token: " + token + " and " + token + strings.Repeat(" more", 200)
				return &enginetest.FaultResponse{Status: http.StatusForbidden, Body: strings.Replace(body, "%s", words, 1)}
			}
			for _, identity := range []Identity{{}, {RoleARN: c.roleFor(awstest.Role{})}} {
				_, err := c.resolver(AWSOptions{Default: &identity}).Credential(t.Context(), ecrHost)
				if p := asProblem(t, err); strings.Contains(p.Detail(), "cnry") || len(p.Detail()) > 1500 {
					t.Errorf("got %s", p.Detail())
				}
			}
		})
	}
}

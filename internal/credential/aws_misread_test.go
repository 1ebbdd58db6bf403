package credential

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// A portal or a proxy says 200 in words of its own. What it says may be anything, so it is not repeated.
func TestAYesThatIsNotOfAWSIsSaidToBeNone(t *testing.T) {
	for operation, advice := range map[string]string{"AssumeRole": "answers in the place of STS", "GetAuthorizationToken": "Check what answers for the ECR API in eu-west-1"} {
		for name, body := range map[string]string{
			"page": "<html>cnry sign in</html>", "nothing": "", "an object": "{}", "half of it": `{"authorizationData":[{"authorizationToken":"cnry-token"`,
			"half of the other": "<AssumeRoleResponse><AssumeRoleResult><Credentials><SecretAccessKey>cnry-key",
		} {
			t.Run(operation+", "+name, func(t *testing.T) {
				c := newCloud(t)
				c.Choose = func(call awstest.Call, _ *http.Request) *enginetest.FaultResponse {
					if call.Operation != operation {
						return nil
					}
					return &enginetest.FaultResponse{Status: http.StatusOK, Body: body, Header: http.Header{"Content-Type": {"text/html"}}}
				}
				_, err := c.resolver(AWSOptions{Default: &Identity{RoleARN: c.roleFor(awstest.Role{})}}).Credential(t.Context(), ecrHost)
				p := asProblem(t, err)
				if text := strings.TrimSpace(body); operation == "AssumeRole" && text == "<html>cnry sign in</html>" && !strings.Contains(p.Detail(), "the answer of sts.eu-west-1.amazonaws.com is not understood") {
					t.Errorf("who answered is not in %q", p.Detail())
				}
				if said := p.Title + p.Detail(); !strings.Contains(said, advice) || !strings.Contains(said, "the answer") || strings.Contains(said, "own words") || strings.Contains(said, "cnry") {
					t.Errorf("got %q", said)
				}
			})
		}
	}
}

// A clock that is a day ahead would have each request refused for a token that is good, or seems to be.
func TestALoginTokenThatHasEndedAlreadyIsNoLogin(t *testing.T) {
	c := newCloud(t)
	source := NewAWS(AWSOptions{Default: &Identity{}, HTTPClient: c.Client(t), Sleep: c.Sleep, Now: func() time.Time { return c.now.Add(24 * time.Hour) }})
	_, err := NewResolver(nil).WithAWS(source).Credential(t.Context(), ecrHost)
	if p := asProblem(t, err); p.Title != "Login token of ECR has ended already" || !strings.Contains(p.Detail(), ecrHost) || !strings.Contains(p.Detail(), "clock of this machine") {
		t.Errorf("got %q: %s", p.Title, p.Detail())
	}
}

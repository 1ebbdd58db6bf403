package credential

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry/retrytest"
)

// AWS names last what refuses: the policy that an administrator has to change.
func TestTheReasonAtTheEndOfALongRefusalIsKept(t *testing.T) {
	const policy = "arn:aws:organizations::111122223333:policy/o-abcdefghij/service_control_policy/p-0123456789"
	words := "User: arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_Developers_0123456789abcdef/jane.doe@subsidiary.example.com is not authorized to perform: ecr:GetAuthorizationToken on resource: *" +
		strings.Repeat(" in the team's own account", 6) + " with an explicit deny in a service control policy: " + policy
	if len(words) < 400 {
		t.Fatalf("the refusal has %d characters only", len(words))
	}
	c := newCloud(t)
	c.Choose = func(awstest.Call, *http.Request) *enginetest.FaultResponse {
		return &enginetest.FaultResponse{Status: http.StatusBadRequest, Body: `{"__type":"AccessDeniedException","message":"` + words + `"}`}
	}
	_, err := c.resolver(AWSOptions{Default: &Identity{}}).Credential(t.Context(), ecrHost)
	if p := asProblem(t, err); !strings.Contains(p.Detail(), policy) {
		t.Errorf("got %s", p.Detail())
	}
	endless := ReadAWSError(&smithy.GenericAPIError{Code: "AccessDenied", Message: strings.Repeat("é", 3000)})
	if got := len([]rune(endless.Message)); got != maxWords {
		t.Errorf("an endless refusal has %d runes", got)
	}
}

// The words of a page are cut sooner.
func TestAForeignRefusalIsCut(t *testing.T) {
	c := newCloud(t)
	c.Choose = func(awstest.Call, *http.Request) *enginetest.FaultResponse {
		return &enginetest.FaultResponse{Status: http.StatusForbidden, Body: "<html>" + strings.Repeat("é", 3000)}
	}
	_, err := c.resolver(AWSOptions{Default: &Identity{}}).Credential(t.Context(), ecrHost)
	if got := len([]rune(ReadAWSError(err).Message)); got != 300 {
		t.Errorf("a page of %d runes is shown", got)
	}
}

// A login that a proxy refuses must not be sent again: that may lock the account.
func TestAProxysRefusalIsAskedForOnce(t *testing.T) {
	for _, status := range []int{http.StatusProxyAuthRequired, http.StatusForbidden} {
		// Without a role it is first looked up, once for a profile, who the caller is.
		for name, tt := range map[string]struct {
			identity Identity
			want     int
		}{"ECR": {Identity{}, 2}, "STS": {Identity{RoleARN: "arn:aws:iam::111122223333:role/builder"}, 1}} {
			c := newCloud(t)
			proxy := retrytest.RefusingProxy(t, status)
			client := awshttp.NewBuildableClient().WithTransportOptions(func(transport *http.Transport) { transport.Proxy = proxy.For })
			source := NewAWS(AWSOptions{Default: &tt.identity, HTTPClient: client, Now: c.clock.Now, Sleep: c.Sleep})
			_, err := NewResolver(nil).WithAWS(source).Credential(t.Context(), ecrHost)
			if said := asProblem(t, err).Detail(); proxy.Asked() != tt.want || !strings.Contains(said, "the proxy "+proxy.URL.Host+" did not let the request through: "+strconv.Itoa(status)) || !strings.Contains(said, "HTTPS_PROXY") {
				t.Errorf("%s, %d: asked %d times: %s", name, status, proxy.Asked(), said)
			}
		}
	}
}

package credential

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// Who cancels waits for no further request, and is not sent to look at the network.
func TestACancelAsksAWSNoMore(t *testing.T) {
	// Without a role the warning asks who the caller is, before the token.
	for operation, asked := range map[string]int{"AssumeRole": 0, "GetAuthorizationToken": 1} {
		t.Run(operation, func(t *testing.T) {
			c := newCloud(t)
			ctx, cancel := context.WithCancel(t.Context())
			c.Choose = func(call awstest.Call, _ *http.Request) *enginetest.FaultResponse {
				if call.Operation != operation {
					return nil
				}
				cancel()
				<-ctx.Done()
				return &enginetest.FaultResponse{Status: http.StatusInternalServerError}
			}
			identity := Identity{}
			if operation == "AssumeRole" {
				identity.RoleARN = c.roleFor(awstest.Role{})
			}
			_, err := c.resolver(AWSOptions{Default: &identity}).Credential(ctx, ecrHost)
			p := asProblem(t, err)
			if !errors.Is(err, context.Canceled) || strings.Contains(p.Detail(), "can be reached") {
				t.Errorf("got %q", p.Detail())
			}
			if calls := c.Calls("GetCallerIdentity"); len(calls) != asked {
				t.Errorf("AWS was asked %d times who the caller is, want %d", len(calls), asked)
			}
		})
	}
}

// Time runs out while a role that is refused may only be new: the refusal is what helps.
func TestAnEndBetweenTwoTriesKeepsTheRefusal(t *testing.T) {
	c := newCloud(t)
	role := c.roleFor(awstest.Role{Trusts: []string{"nobody"}})
	ctx, cancel := context.WithCancel(t.Context())
	source := NewAWS(AWSOptions{Default: &Identity{RoleARN: role}, HTTPClient: c.Client(t), Now: c.clock.Now, Sleep: func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	}})
	_, err := NewResolver(nil).WithAWS(source).Credential(ctx, ecrHost)
	p := asProblem(t, err)
	if detail := p.Detail(); !errors.Is(err, context.Canceled) || !strings.Contains(detail, "AccessDenied") || !strings.Contains(detail, role) {
		t.Errorf("got %q", detail)
	}
	if calls := c.Calls("GetCallerIdentity"); len(calls) > 0 {
		t.Errorf("after the cancel AWS was asked %+v", calls)
	}
}

package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// E2B is given user AWS and a login token of a session that may read the base's repository alone, and state says until when.
func TestCLIE2B_PullsFromECRWithANarrowToken(t *testing.T) {
	cloud := awstest.Start(t)
	logins := map[string]map[string]string{}
	s := newE2B(t, func(o *e2btest.Options) { o.Registries = logins })
	c := s.newCLI(t)
	key, secret := cloud.User("777788889999", "ci")
	maps.Copy(c.env, cloud.Environment(t, key, secret))
	repository := cloud.Repository(t, baseAccount, baseRegion, "base")
	role := cloud.Role(baseAccount, "reader", awstest.Role{Repositories: []string{awstest.ARN(baseAccount, baseRegion, "*")}})
	host, _, _ := strings.Cut(repository, "/")
	var given struct {
		FromImageRegistry struct{ Type, Username, Password string }
	}
	s.Inject(e2btest.Fault{Route: "POST /v2/templates/{templateID}/builds/{buildID}", Pass: true, Before: func(r e2btest.Request) {
		if err := json.Unmarshal(r.Body, &given); err != nil {
			t.Error(err)
		}
		// Whether AWS would take the token is what the tests of ECR prove; here it is what E2B is to be given.
		logins[host] = map[string]string{given.FromImageRegistry.Username: given.FromImageRegistry.Password}
	}})
	config := strings.Replace(template(fmt.Sprintf("  base_registry = { role_arn = %q }\n", role)), templateBase, repository+"@sha256:"+strings.Repeat("b", 64), 1)
	c.write("main.tf", config)
	o := c.apply()
	token := given.FromImageRegistry.Password
	if given.FromImageRegistry.Type != "registry" || given.FromImageRegistry.Username != "AWS" || token == "" {
		t.Errorf("E2B was given %q", given.FromImageRegistry.Username)
	}
	if policies := cloud.Policies(); len(policies) != 1 || !strings.Contains(policies[0], awstest.ARN(baseAccount, baseRegion, "base")) || strings.Contains(policies[0], "PutImage") {
		t.Errorf("session policies: %q", policies)
	}
	if ends := c.only().Attributes["credential_expires_at"]; ends == nil {
		t.Error("state does not say when the token ends")
	}
	for _, text := range []string{o.stdout, o.stderr, o.log, fmt.Sprint(c.only().Attributes)} {
		if strings.Contains(text, token) {
			t.Error("the token is in an output, the log or state")
		}
	}
	c.planIsEmpty()
	c.destroyE2B(s)
}

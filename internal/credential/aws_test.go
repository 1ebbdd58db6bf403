package credential

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
)

const (
	account  = "111122223333"
	other    = "444455556666"
	region   = "eu-west-1"
	roleName = "builder"
)

var ecrHost = awstest.Host(account, region)

// clock is one that tests set; sleeping moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) Sleep(_ context.Context, d time.Duration) error {
	c.pass(d)
	return nil
}

// cloud is an AWS whose user's keys are in the environment, with a clock that both it and the source look at.
type cloud struct {
	*awstest.Cloud
	*clock
	t *testing.T
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{Cloud: awstest.Start(t), clock: &clock{now: time.Now()}, t: t}
	c.Cloud.Now = c.clock.Now
	dockerConfig(t, "", nil)
	key, secret := c.User(account, "ci")
	for name, value := range c.Environment(t, key, secret) {
		if strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, value)
		}
	}
	for _, name := range []string{"AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE"} {
		t.Setenv(name, "")
	}
	return c
}

func (c *cloud) source(o AWSOptions) *AWS {
	o.HTTPClient, o.Now, o.Sleep = c.Client(c.t), c.clock.Now, c.Sleep
	return NewAWS(o)
}

func (c *cloud) resolver(o AWSOptions) *Resolver { return NewResolver(nil).WithAWS(c.source(o)) }

// roleFor makes a role that may do all in the account's registries.
func (c *cloud) roleFor(role awstest.Role) string {
	if role.Repositories == nil {
		role.Repositories = []string{"arn:aws:ecr:*"}
	}
	return c.Role(account, roleName, role)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestASessionIsHeldToTheGrants(t *testing.T) {
	c := newCloud(t)
	role := c.roleFor(awstest.Role{})
	r := c.resolver(AWSOptions{Default: &Identity{RoleARN: role}})
	lease, err := r.Acquire(t.Context(), ecrHost, []Grant{{"base/py", []Action{Pull}}, {"team/env", []Action{Pull, Push}}})
	must(t, err)
	calls := c.Calls("AssumeRole")
	if len(calls) != 1 {
		t.Fatalf("got %+v", calls)
	}
	sent := calls[0].Parameters
	marker, ok := ParseMarker(sent["RoleSessionName"])
	if !ok || !marker.ExpiresAt.Equal(c.clock.Now().Add(15*time.Minute).UTC().Truncate(time.Second)) {
		t.Errorf("the session is called %q", sent["RoleSessionName"])
	}
	want := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ecr:GetAuthorizationToken","Resource":"*"},` +
		`{"Effect":"Allow","Action":["ecr:BatchCheckLayerAvailability","ecr:BatchGetImage","ecr:CompleteLayerUpload","ecr:GetDownloadUrlForLayer","ecr:InitiateLayerUpload","ecr:PutImage","ecr:UploadLayerPart"],"Resource":"arn:aws:ecr:eu-west-1:111122223333:repository/team/env"},` +
		`{"Effect":"Allow","Action":["ecr:BatchCheckLayerAvailability","ecr:BatchGetImage","ecr:GetDownloadUrlForLayer"],"Resource":"arn:aws:ecr:eu-west-1:111122223333:repository/base/py"}]}`
	if sent["Policy"] != want || sent["DurationSeconds"] != "900" || calls[0].Region != region {
		t.Errorf("got %s for %s s in %s", sent["Policy"], sent["DurationSeconds"], calls[0].Region)
	}
	token := c.Calls("GetAuthorizationToken")
	// C10: keys of a session are never used without its token.
	if len(token) != 1 || !token[0].SessionToken || !strings.HasPrefix(token[0].AccessKeyID, "ASIA") || token[0].Region != region {
		t.Errorf("got %+v", token)
	}
	if !lease.Narrowed || lease.Login.Username != "AWS" || lease.Login.Password.Empty() || lease.Host != ecrHost {
		t.Errorf("got %+v", lease.Login)
	}
	if end := lease.ExpiresAt.Sub(c.clock.Now()); end < 12*time.Hour-time.Second || end > 12*time.Hour {
		t.Errorf("the login token is said to end in %s", end)
	}
	if k := lease.AWS; k == nil || k.Region != region || !strings.HasPrefix(k.AccessKeyID, "ASIA") || k.SessionToken.Empty() || k.SecretAccessKey.Empty() || k.ExpiresAt.Sub(c.clock.Now()) > 15*time.Minute {
		t.Errorf("got keys %+v", k)
	}
	must(t, lease.Release(t.Context()))
	if len(r.aws.Warnings()) > 0 {
		t.Error("a narrow session is warned of")
	}
}

func TestATokenIsGotOnceAndAgainBeforeItEnds(t *testing.T) {
	c := newCloud(t)
	c.TokenLife = 12 * time.Hour
	role := c.roleFor(awstest.Role{})
	source := c.source(AWSOptions{Default: &Identity{RoleARN: role, SessionDuration: time.Hour}})
	grants := []Grant{{"team/env", []Action{Push}}}
	ask := func() image.Credential {
		t.Helper()
		// Two resources with one source share what they are given.
		got, err := NewResolver(nil).WithAWS(source).Using(ecrHost, grants...).Credential(t.Context(), ecrHost+":443")
		must(t, err)
		return got
	}
	first := ask()
	for range 3 {
		if ask() != first {
			t.Error("the token was not kept")
		}
	}
	c.pass(54 * time.Minute)
	if ask() != first {
		t.Error("the token was not kept until shortly before the session's end")
	}
	c.pass(2 * time.Minute)
	second := ask()
	if second.Password == first.Password || !second.RenewAt.After(first.RenewAt) {
		t.Error("the token was not renewed before the session's end")
	}
	if sessions, tokens := len(c.Calls("AssumeRole")), len(c.Calls("GetAuthorizationToken")); sessions != 2 || tokens != 2 {
		t.Errorf("%d sessions and %d tokens", sessions, tokens)
	}
	// Another policy, another role, another region: each has its own.
	if _, err := NewResolver(nil).WithAWS(source).Using(ecrHost, Grant{"team/other", []Action{Push}}).Credential(t.Context(), ecrHost); err != nil {
		t.Fatal(err)
	}
	if _, err := NewResolver(nil).WithAWS(source).Using(awstest.Host(account, "us-east-1"), grants...).Credential(t.Context(), awstest.Host(account, "us-east-1")); err != nil {
		t.Fatal(err)
	}
	if policies := c.Policies(); len(policies) != 4 || policies[2] == policies[1] || !strings.Contains(policies[3], ":us-east-1:") {
		t.Errorf("got %q", policies)
	}
}

func TestAShortTokenIsRenewedWithinItsLife(t *testing.T) {
	c := newCloud(t)
	c.TokenLife = 3 * time.Second
	r := c.resolver(AWSOptions{Default: &Identity{}})
	first, err := r.Credential(t.Context(), ecrHost)
	must(t, err)
	c.pass(2 * time.Second)
	again, err := r.Credential(t.Context(), ecrHost)
	must(t, err)
	c.pass(time.Second)
	last, err := r.Credential(t.Context(), ecrHost)
	must(t, err)
	if again != first || last.Password == first.Password {
		t.Error("a token of three seconds is not used for two, or for three")
	}
	c.Choose = func(call awstest.Call, _ *http.Request) *enginetest.FaultResponse {
		if call.Operation != "GetAuthorizationToken" {
			return nil
		}
		return &enginetest.FaultResponse{Status: http.StatusForbidden, Body: "token no longer valid\n", Header: http.Header{"Content-Type": {"text/plain"}}}
	}
	c.pass(3 * time.Second)
	_, err = r.Credential(t.Context(), ecrHost)
	detail := asProblem(t, err).Detail()
	for _, words := range []string{ecrHost, "403 Forbidden", "has expired", "token no longer valid", "arn:aws:iam::111122223333:user/ci"} {
		if !strings.Contains(detail, words) {
			t.Errorf("%q is not in %q", words, detail)
		}
	}
	if strings.Contains(detail, "invalid character") || strings.Contains(detail, "deserialization") || strings.Contains(detail, plainCode) {
		t.Errorf("the parser's error shows: %q", detail)
	}
}

func TestManyAskAtOnceAndOneIsSent(t *testing.T) {
	c := newCloud(t)
	r := c.resolver(AWSOptions{Default: &Identity{}})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := r.Credential(t.Context(), ecrHost); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if calls := c.Calls("GetAuthorizationToken"); len(calls) != 1 {
		t.Errorf("%d tokens were got", len(calls))
	}
}

func TestWithoutARoleItIsSaidOnceWhatTheIdentityReaches(t *testing.T) {
	c := newCloud(t)
	source := c.source(AWSOptions{Default: &Identity{}})
	r := NewResolver(nil).WithAWS(source).Using(ecrHost, Grant{"team/env", []Action{Push}})
	lease, err := r.Acquire(t.Context(), ecrHost, nil)
	must(t, err)
	if lease.Narrowed || lease.AWS != nil {
		t.Error("an identity's own keys are handed out as a narrow session")
	}
	here, err := r.Credential(t.Context(), ecrHost)
	must(t, err)
	there, err := r.Credential(t.Context(), awstest.Host(other, "us-east-1"))
	must(t, err)
	if here.Password == there.Password {
		t.Error("a host is given the token of another")
	}
	if tokens := c.Calls("GetAuthorizationToken"); len(tokens) != 3 || tokens[1].Region != region || tokens[2].Region != "us-east-1" {
		t.Errorf("got %+v", tokens)
	}
	said := source.Warnings()
	if len(said) != 1 || len(source.Warnings()) != 0 {
		t.Fatalf("got %v", said)
	}
	for _, words := range []string{"arn:aws:iam::111122223333:user/ci", ecrHost, "12 hours", "role_arn"} {
		if !strings.Contains(said[0].Detail(), words) {
			t.Errorf("%q is not in %q", words, said[0].Detail())
		}
	}
	if calls := c.Calls("AssumeRole"); len(calls) > 0 {
		t.Errorf("got %+v", calls)
	}
}

func TestAWSIsAskedOnlyWhereItIsAskedFor(t *testing.T) {
	c := newCloud(t)
	everywhere, named, nowhere := c.source(AWSOptions{Default: &Identity{}}), c.source(AWSOptions{Hosts: map[string]Identity{ecrHost: {}}}), c.source(AWSOptions{})
	// A login of the configuration goes before AWS, which goes before the Docker configuration.
	dockerConfig(t, fmt.Sprintf(`{"auths":{%q:{"auth":"YTpi"}}}`, ecrHost), nil)
	for name, tt := range map[string]struct {
		resolver *Resolver
		host     string
		want     string
	}{
		"asked for":          {NewResolver(nil).WithAWS(everywhere), ecrHost, "AWS"},
		"its own host":       {NewResolver(nil).WithAWS(named), ecrHost, "AWS"},
		"another host":       {NewResolver(nil).WithAWS(named), awstest.Host(other, region), ""},
		"not asked for":      {NewResolver(nil).WithAWS(nowhere), ecrHost, "a"},
		"no AWS":             {NewResolver(nil), ecrHost, "a"},
		"provider's login":   {NewResolver(Static{ecrHost: login("s", "1")}).WithAWS(everywhere), ecrHost, "s"},
		"resource's login":   {NewResolver(nil).WithAWS(everywhere).With(ecrHost, login("o", "1")), ecrHost, "o"},
		"public gallery":     {NewResolver(nil).WithAWS(everywhere), PublicECR, ""},
		"resource's role":    {NewResolver(Static{ecrHost: login("s", "1")}).WithAWS(nowhere).Assuming(ecrHost, c.roleFor(awstest.Role{}), ""), ecrHost, "AWS"},
		"its external id":    {NewResolver(nil).WithAWS(nowhere).Assuming(ecrHost, c.Role(account, "named", awstest.Role{ExternalID: "team-a", Repositories: []string{"arn:aws:ecr:*"}}), "team-a"), ecrHost, "AWS"},
		"role of other host": {NewResolver(nil).WithAWS(nowhere).Assuming(ecrHost, "arn", ""), awstest.Host(other, region), ""},
	} {
		c.Forget()
		got, err := tt.resolver.Credential(t.Context(), tt.host)
		if err != nil || got.Username != tt.want {
			t.Errorf("%s: got %q, %v", name, got.Username, err)
		}
		if asked := len(c.Calls()) > 0; asked && tt.want != "AWS" {
			t.Errorf("%s: AWS was asked", name)
		}
	}
	c.Forget()
	for _, host := range lookAlikes {
		if got, err := NewResolver(nil).WithAWS(everywhere).Credential(t.Context(), host); err != nil || !got.Password.Empty() {
			t.Errorf("%q: got %v, %v", host, got, err)
		}
	}
	if len(c.Calls()) > 0 || len(c.Strangers()) > 0 {
		t.Errorf("for a look-alike AWS was asked %+v, and %q", c.Calls(), c.Strangers())
	}
}

func TestAHostsOwnIdentityGoesFirst(t *testing.T) {
	wide := Identity{Profile: "p", RoleARN: "wide", ExternalID: "w", SessionDuration: time.Hour}
	source := NewAWS(AWSOptions{Default: &wide, Hosts: map[string]Identity{ecrHost: {RoleARN: "own"}}})
	for name, tt := range map[string]struct {
		host, role string
		want       Identity
	}{
		"default":         {awstest.Host(other, region), "", wide},
		"host":            {ecrHost, "", Identity{Profile: "p", RoleARN: "own", SessionDuration: time.Hour}},
		"resource":        {ecrHost, "mine", Identity{Profile: "p", RoleARN: "mine", SessionDuration: time.Hour}},
		"the same role":   {awstest.Host(other, region), "wide", wide},
		"resource, other": {awstest.Host(other, region), "mine", Identity{Profile: "p", RoleARN: "mine", SessionDuration: time.Hour}},
	} {
		if got, _, ok := source.identity(tt.host, Identity{RoleARN: tt.role}); !ok || got != tt.want {
			t.Errorf("%s: got %+v, %t", name, got, ok)
		}
	}
}

func TestSTSSaysNo(t *testing.T) {
	for name, tt := range map[string]struct {
		role     awstest.Role
		identity Identity
		as       string
		calls    int
		words    []string
	}{
		"chaining": {awstest.Role{MaxSession: 4 * time.Hour}, Identity{SessionDuration: 2 * time.Hour}, "session", 1,
			[]string{"session_duration is 2h,", "leave it out (15m)", "role chaining", "one hour", "arn:aws:sts::111122223333:assumed-role/ci/someone", "role/builder", "ValidationError"}},
		"longer than the role's": {awstest.Role{}, Identity{SessionDuration: 2 * time.Hour}, "user", 1, []string{"session_duration is 2h, more than the role's own maximum"}},
		"not trusted": {awstest.Role{Trusts: []string{"nobody"}}, Identity{}, "user", 5,
			[]string{"AccessDenied", "role/builder", "arn:aws:iam::111122223333:user/ci", "needs external_id", "MFA", ecrHost}},
		"no external id":    {awstest.Role{ExternalID: "x"}, Identity{}, "user", 5, []string{"AccessDenied", "needs external_id"}},
		"wrong external id": {awstest.Role{ExternalID: "x"}, Identity{ExternalID: "cnry-y"}, "user", 5, []string{"another external_id"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			if tt.as == "session" {
				key, secret, token := c.Temporary(account, "ci")
				t.Setenv("AWS_ACCESS_KEY_ID", key)
				t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
				t.Setenv("AWS_SESSION_TOKEN", token)
			}
			tt.identity.RoleARN = c.roleFor(tt.role)
			_, err := c.resolver(AWSOptions{Default: &tt.identity}).Acquire(t.Context(), ecrHost, nil)
			p := asProblem(t, err)
			for _, words := range tt.words {
				if !strings.Contains(p.Detail(), words) {
					t.Errorf("%q is not in %q", words, p.Detail())
				}
			}
			if calls := len(c.Calls("AssumeRole")); calls != tt.calls {
				t.Errorf("the role was asked for %d times, want %d", calls, tt.calls)
			}
			for _, hidden := range []string{"ASIA", "AKIA", "cnry"} {
				if strings.Contains(p.Detail()+p.Error(), hidden) {
					t.Errorf("%q shows in %q", hidden, p.Detail())
				}
			}
		})
	}
}

func TestAChainedSessionOfTheDefaultLengthWorks(t *testing.T) {
	c := newCloud(t)
	key, secret, token := c.Temporary(account, "ci")
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_SESSION_TOKEN", token)
	if _, err := c.resolver(AWSOptions{Default: &Identity{RoleARN: c.roleFor(awstest.Role{})}}).Acquire(t.Context(), ecrHost, nil); err != nil {
		t.Fatal(err)
	}
	if calls := c.Calls("AssumeRole"); !calls[0].SessionToken {
		t.Error("STS was asked without the session token")
	}
}

func TestARoleThatWasJustMadeIsWaitedFor(t *testing.T) {
	c := newCloud(t)
	role := c.roleFor(awstest.Role{Invisible: 3})
	began := c.clock.Now()
	if _, err := c.resolver(AWSOptions{Default: &Identity{RoleARN: role}}).Acquire(t.Context(), ecrHost, nil); err != nil {
		t.Fatal(err)
	}
	if waited := c.clock.Now().Sub(began); len(c.Calls("AssumeRole")) != 4 || waited > visibleWithin {
		t.Errorf("%d requests, %s", len(c.Calls("AssumeRole")), waited)
	}
}

// C24: new keys are unknown to STS for some seconds, which is no refusal of the role.
func TestKeysThatWereJustMadeAreWaitedFor(t *testing.T) {
	c := newCloud(t)
	role := c.roleFor(awstest.Role{})
	began, unknown := c.clock.Now(), 3
	c.Choose = func(call awstest.Call, _ *http.Request) *enginetest.FaultResponse {
		if call.Operation != "AssumeRole" || unknown == 0 {
			return nil
		}
		unknown--
		return &enginetest.FaultResponse{Status: http.StatusForbidden, Header: http.Header{"Content-Type": {"text/xml"}},
			Body: "<ErrorResponse><Error><Code>InvalidClientTokenId</Code><Message>The security token included in the request is invalid.</Message></Error></ErrorResponse>"}
	}
	if _, err := c.resolver(AWSOptions{Default: &Identity{RoleARN: role}}).Acquire(t.Context(), ecrHost, nil); err != nil {
		t.Fatal(err)
	}
	if waited := c.clock.Now().Sub(began); len(c.Calls("AssumeRole")) != 4 || waited > visibleWithin {
		t.Errorf("%d requests, %s", len(c.Calls("AssumeRole")), waited)
	}
}

func TestTemporaryKeysWithoutTheirTokenAreRefused(t *testing.T) {
	c := newCloud(t)
	key, secret, _ := c.Temporary(account, "ci")
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	_, err := c.resolver(AWSOptions{Default: &Identity{}}).Credential(t.Context(), ecrHost)
	for _, err := range []error{err, CheckAWSEnvironment(), CheckLogin(key)} {
		p := asProblem(t, err)
		if !strings.Contains(p.Detail(), "AWS_SESSION_TOKEN") || strings.Contains(p.Detail()+p.Error(), key) || strings.Contains(p.Detail(), secret) {
			t.Errorf("got %q", p.Detail())
		}
	}
	if len(c.Calls()) > 0 {
		t.Errorf("AWS was asked: %+v", c.Calls())
	}
	t.Setenv("AWS_SESSION_TOKEN", "t")
	must(t, CheckAWSEnvironment())
	for _, name := range []string{"AWS", "ci", "ASIA", "akia"} {
		must(t, CheckLogin(name))
	}
}

func TestTheSourceSaysWhatIsMissing(t *testing.T) {
	c := newCloud(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	folder := t.TempDir()
	write(t, folder+"/config", "[profile mfa]\nrole_arn = arn:aws:iam::111122223333:role/x\nsource_profile = base\nmfa_serial = arn:aws:iam::111122223333:mfa/ci\n[profile base]\naws_access_key_id = AKIAXXXXXXXXXXXXXXXX\naws_secret_access_key = cnry-secret\n[profile half]\naws_access_key_id = ASIAXXXXXXXXXXXXXXXX\naws_secret_access_key = cnry-secret\n", 0o600)
	t.Setenv("AWS_CONFIG_FILE", folder+"/config")
	for profile, words := range map[string][]string{
		"":        {"AWS_ACCESS_KEY_ID", "default credential chain"},
		"missing": {`profile "missing"`},
		"mfa":     {`profile "mfa"`, "mfa_serial"},
		"half":    {"session token", "ASIA"},
	} {
		_, err := c.resolver(AWSOptions{Default: &Identity{Profile: profile}}).Credential(t.Context(), ecrHost)
		detail := asProblem(t, err).Title + asProblem(t, err).Detail()
		for _, word := range words {
			if !strings.Contains(detail, word) || strings.Contains(detail, "cnry") {
				t.Errorf("%q: %q is not in %q", profile, word, detail)
			}
		}
	}
	if len(c.Strangers()) > 0 {
		t.Errorf("somebody else was asked: %q", c.Strangers())
	}
}

func TestEndpointsFollowTheHost(t *testing.T) {
	c := newCloud(t)
	var asked []string
	c.Choose = func(_ awstest.Call, r *http.Request) *enginetest.FaultResponse {
		asked = append(asked, r.Host)
		return nil
	}
	role := c.roleFor(awstest.Role{})
	for _, tt := range []struct {
		host, sts string
		want      []string
	}{
		{ecrHost, "", []string{"sts.eu-west-1.amazonaws.com", "api.ecr.eu-west-1.amazonaws.com"}},
		{account + ".dkr.ecr-fips.us-east-2.amazonaws.com", "", []string{"sts-fips.us-east-2.amazonaws.com", "api.ecr-fips.us-east-2.amazonaws.com"}},
		{account + ".dkr-ecr.us-east-1.on.aws", "", []string{"sts.us-east-1.amazonaws.com", "ecr.us-east-1.api.aws"}},
		{ecrHost, "us-east-1", []string{"sts.us-east-1.amazonaws.com", "api.ecr.eu-west-1.amazonaws.com"}},
	} {
		asked = nil
		if _, err := c.resolver(AWSOptions{Default: &Identity{RoleARN: role}, Region: tt.sts}).Acquire(t.Context(), tt.host, nil); err != nil {
			t.Errorf("%s: %v", tt.host, err)
		}
		if !slices.Equal(asked, tt.want) {
			t.Errorf("%s: asked %q, want %q", tt.host, asked, tt.want)
		}
	}
}

func TestAWSDoesNotPrint(t *testing.T) {
	c := newCloud(t)
	source := c.source(AWSOptions{Default: &Identity{RoleARN: c.roleFor(awstest.Role{})}})
	r := NewResolver(nil).WithAWS(source)
	lease, err := r.Acquire(t.Context(), ecrHost, nil)
	must(t, err)
	text := fmt.Sprintf("%v %+v %#v %v %+v %#v %+v %#v %+v", lease, lease, lease, source, source, source, *r, *r, *lease.AWS)
	for _, value := range []string{lease.Login.Password.Reveal(), lease.AWS.SecretAccessKey.Reveal(), lease.AWS.SessionToken.Reveal()} {
		if strings.Contains(text, value) || value == "" {
			t.Errorf("a secret shows: %s", text)
		}
	}
}

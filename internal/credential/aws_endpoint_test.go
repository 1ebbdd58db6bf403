package credential

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// A region belongs to a partition: for a registry of another one its own region is asked, with what is known there.
func TestTheRegionOfOnePartitionIsNotAskedForAnother(t *testing.T) {
	c := newCloud(t)
	var asked []string
	c.Choose = func(_ awstest.Call, r *http.Request) *enginetest.FaultResponse {
		asked = append(asked, r.Host)
		return nil
	}
	for host, want := range map[string]string{
		account + ".dkr.ecr.us-gov-west-1.amazonaws.com": "sts.us-gov-west-1.amazonaws.com", awstest.Host(account, "us-east-1"): "sts.eu-west-1.amazonaws.com",
	} {
		asked = nil
		// Without a role the warning asks STS whose keys they are.
		_, err := c.resolver(AWSOptions{Default: &Identity{}, Region: "eu-west-1"}).Acquire(t.Context(), host, nil)
		must(t, err)
		if !slices.Contains(asked, want) || slices.ContainsFunc(asked, func(name string) bool { return strings.HasPrefix(name, "sts.") && name != want }) {
			t.Errorf("%s: asked %q, want %s", host, asked, want)
		}
	}
}

// A region whose name is newer than what is known of partitions is taken at its word.
func TestARegionOfNoKnownPartitionIsAsked(t *testing.T) {
	at, _ := ParseECRHost(ecrHost)
	for configured, want := range map[string]string{"": region, "us-east-1": "us-east-1", "nz-north-1": "nz-north-1", "cn-north-1": region, "us-gov-east-1": region} {
		if got, _ := NewAWS(AWSOptions{Region: configured}).region(at); got != want {
			t.Errorf("with region %q STS is asked in %s, want %s", configured, got, want)
		}
	}
}

// The SDK makes the client that asks for a profile's own role, or for that of a web identity, from the environment alone.
func TestAnEndpointOfOnesOwnIsAskedForTheIdentityToo(t *testing.T) {
	const own = "vpce.example.com"
	for name, profile := range map[string]string{"profile": "chained", "web identity": "web", "web identity of the environment": ""} {
		for _, variable := range []string{"", "http://general.example.com"} {
			t.Run(name+" "+variable, func(t *testing.T) {
				c := newCloud(t)
				role, token := c.roleFor(awstest.Role{}), t.TempDir()+"/token"
				write(t, token, "cnry-token", 0o600)
				c.profiles(fmt.Sprintf("[profile chained]\nrole_arn = %s\nsource_profile = base\n[profile base]\naws_access_key_id = AKIAXXXXXXXXXXXXXXXX\naws_secret_access_key = cnry\n[profile web]\nrole_arn = %s\nweb_identity_token_file = %s\n", role, role, token))
				if profile == "" {
					t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token)
					t.Setenv("AWS_ROLE_ARN", role)
				}
				t.Setenv("AWS_ENDPOINT_URL_STS", variable)
				_, err := c.resolver(AWSOptions{Default: &Identity{Profile: profile}, STSEndpoint: "http://" + own + "/sts"}).Credential(t.Context(), ecrHost)
				if said := asProblem(t, err).Detail(); !strings.Contains(said, "403 Forbidden") || strings.Contains(said, "cnry") {
					t.Errorf("got %q", said)
				}
				if asked := slices.Compact(c.Strangers()); !slices.Equal(asked, []string{own}) {
					t.Errorf("asked %q, want %s", asked, own)
				}
				if calls := c.Calls(); len(calls) > 0 {
					t.Errorf("AWS's own STS was asked: %+v", calls)
				}
			})
		}
	}
}

// An endpoint that the configuration names is asked, whatever kind of host the registry has and whatever the environment
// names. The proxy knows none of these names, and answers 403.
func TestAnEndpointOfOnesOwnIsAsked(t *testing.T) {
	const own, general = "vpce.example.com", "general.example.com"
	fips, dual := account+".dkr.ecr-fips.us-east-2.amazonaws.com", account+".dkr-ecr.us-east-1.on.aws"
	for name, tt := range map[string]struct {
		host     string
		options  AWSOptions
		variable string
	}{
		"STS, FIPS":            {fips, AWSOptions{STSEndpoint: "http://" + own}, ""},
		"ECR, FIPS":            {fips, AWSOptions{ECREndpoint: "http://" + own}, ""},
		"ECR, dual stack":      {dual, AWSOptions{ECREndpoint: "http://" + own}, ""},
		"STS by variable":      {fips, AWSOptions{}, "AWS_ENDPOINT_URL_STS"},
		"ECR by variable":      {dual, AWSOptions{}, "AWS_ENDPOINT_URL_ECR"},
		"STS before variables": {ecrHost, AWSOptions{STSEndpoint: "http://" + own}, "AWS_ENDPOINT_URL_STS"},
		"ECR before variables": {ecrHost, AWSOptions{ECREndpoint: "http://" + own}, "AWS_ENDPOINT_URL_ECR"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			tt.options.Default = &Identity{RoleARN: c.roleFor(awstest.Role{})}
			want := own
			if tt.variable != "" {
				t.Setenv(tt.variable, "http://"+general)
				if tt.options.STSEndpoint+tt.options.ECREndpoint == "" {
					want = general
				}
			}
			_, err := c.resolver(tt.options).Credential(t.Context(), tt.host)
			if said := asProblem(t, err).Detail(); !strings.Contains(said, "403 Forbidden") || strings.Contains(said, "custom endpoint") {
				t.Errorf("got %q", said)
			}
			if asked := slices.Compact(c.Strangers()); !slices.Equal(asked, []string{want}) {
				t.Errorf("asked %q, want %s", asked, want)
			}
		})
	}
}

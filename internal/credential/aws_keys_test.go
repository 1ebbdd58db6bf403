package credential

import (
	"fmt"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
)

// profiles writes the shared configuration, and takes the keys of the environment away.
func (c *cloud) profiles(text string) {
	c.t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		c.t.Setenv(name, "")
	}
	path := c.t.TempDir() + "/config"
	write(c.t, path, text, 0o600)
	c.t.Setenv("AWS_CONFIG_FILE", path)
}

// What a credential_process prints holds keys, also where it is not what the SDK can read.
func TestWhatACredentialProcessPrintsIsNotRepeated(t *testing.T) {
	c := newCloud(t)
	processes := map[string]struct{ prints, says string }{
		"broken":     {`printf 'signed in\n{"Version": 1, "SecretAccessKey": "cnry-printed"}'`, "is not the JSON that the AWS SDKs take"},
		"wrong type": {`printf '{"Version": 1, "SecretAccessKey": ["cnry-printed"]}'`, "is not the JSON that the AWS SDKs take"},
		"wrong time": {`printf '{"Version": 1, "AccessKeyId": "k", "SecretAccessKey": "cnry-printed", "Expiration": "cnry-soon"}'`, "is not the JSON that the AWS SDKs take"},
		"no secret":  {`printf '{"Version": 1, "AccessKeyId": "cnry-key"}'`, "missing SecretAccessKey in process output"},
		"failing":    {`sh -c 'printf cnry-printed; exit 3'`, "exit status 3"},
	}
	var text strings.Builder
	for name, process := range processes {
		fmt.Fprintf(&text, "[profile %s]\ncredential_process = %s\n", strings.ReplaceAll(name, " ", "-"), process.prints)
	}
	c.profiles(text.String())
	for name, process := range processes {
		t.Run(name, func(t *testing.T) {
			_, err := c.resolver(AWSOptions{Default: &Identity{Profile: strings.ReplaceAll(name, " ", "-")}}).Credential(t.Context(), ecrHost)
			p := asProblem(t, err)
			if said := p.Error() + "\n" + p.Detail(); strings.Contains(said, "cnry") || strings.Contains(said, "\n: ") || !strings.Contains(said, process.says) || !strings.Contains(said, "profile") {
				t.Errorf("got %q", said)
			}
		})
	}
}

// A profile that assumes a role itself needs a region to ask STS in; so does a token of a web identity.
func TestAProfileNeedsNoRegionOfItsOwn(t *testing.T) {
	c := newCloud(t)
	key, secret := c.User(account, "base")
	own := c.Role(account, "own", awstest.Role{Repositories: []string{"arn:aws:ecr:*"}})
	c.profiles(fmt.Sprintf("[profile chained]\nrole_arn = %s\nsource_profile = base\n[profile base]\naws_access_key_id = %s\naws_secret_access_key = %s\n", own, key, secret))
	for set, want := range map[string]string{"": region, "us-east-1": "us-east-1"} {
		c.Forget()
		_, err := c.resolver(AWSOptions{Default: &Identity{Profile: "chained"}, Region: set}).Credential(t.Context(), ecrHost)
		must(t, err)
		if calls := c.Calls("AssumeRole"); len(calls) != 1 || calls[0].Region != want || calls[0].Parameters["RoleArn"] != own {
			t.Errorf("with region %q the profile's role was asked for by %+v", set, calls)
		}
	}
	t.Setenv("AWS_REGION", "us-east-2")
	c.Forget()
	_, err := c.resolver(AWSOptions{Default: &Identity{Profile: "chained"}}).Credential(t.Context(), ecrHost)
	must(t, err)
	if calls := c.Calls("AssumeRole"); len(calls) != 1 || calls[0].Region != "us-east-2" {
		t.Errorf("the region of the environment was left for %+v", calls)
	}
}

package credential

import (
	"crypto/sha1" //nolint:gosec // the AWS CLI names its files by it
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// Keys that were found and did not work are not "not found": each link of the chain says what mends it.
func TestEachLinkOfTheChainSaysWhatMendsIt(t *testing.T) {
	const (
		closed = "arn:aws:iam::" + other + ":role/closed"
		start  = "https://cnry.awsapps.com/start"
	)
	sso := "sso_start_url = %s\nsso_region = eu-west-1\nsso_account_id = 111122223333\nsso_role_name = Reader\n"
	shared := "[profile chained]\nrole_arn = " + closed + "\nsource_profile = base\n" +
		"[profile base]\naws_access_key_id = <KEY>\naws_secret_access_key = <SECRET>\n" +
		"[profile stale]\nrole_arn = " + closed + "\nsource_profile = unknown\n[profile unknown]\naws_access_key_id = AKIAXXXXXXXXXXXXXXXX\naws_secret_access_key = cnry-unknown\n" +
		"[profile proc]\ncredential_process = \"<PROGRAM>\" --token cnry-argument\n" +
		"[profile viaproc]\nrole_arn = " + closed + "\nsource_profile = proc\n" +
		"[profile sso]\n" + fmt.Sprintf(sso, "https://d-1.awsapps.com/start") +
		"[profile viasso]\nrole_arn = " + closed + "\nsource_profile = sso\n" +
		"[profile session]\nsso_session = corp\nsso_account_id = 111122223333\nsso_role_name = Reader\n[sso-session corp]\nsso_start_url = https://d-2.awsapps.com/start\nsso_region = eu-west-1\n" +
		"[profile signedin]\n" + fmt.Sprintf(sso, start) +
		"[profile login]\nlogin_session = arn:aws:iam::111122223333:user/me\nregion = eu-west-1\n" +
		"[profile webfile]\nrole_arn = " + closed + "\nweb_identity_token_file = /nowhere/token\n" +
		"[profile half]\naws_access_key_id = AKIAXXXXXXXXXXXXXXXX\n"
	for name, tt := range map[string]struct {
		profile string
		env     map[string]string
		answer  string // of STS to a web identity
		title   string
		says    []string
	}{
		"role of the profile":       {"chained", nil, "", "Role of the AWS profile cannot be assumed", []string{`profile "chained"`, closed, "AccessDenied", "trust policy", "external_id"}},
		"source of the profile":     {"stale", nil, "", "Role of the AWS profile cannot be assumed", []string{"InvalidClientTokenId", `source_profile = "unknown"`}},
		"program":                   {"proc", nil, "", "Program of the AWS profile failed", []string{`profile "proc"`, "<PROGRAM>", "exit status 3", "by hand"}},
		"program of a source":       {"viaproc", nil, "", "Program of the AWS profile failed", []string{`profile "proc"`, "<PROGRAM>", "exit status 3"}},
		"not signed in":             {"sso", nil, "", "AWS profile is not signed in", []string{"`aws sso login --profile sso`"}},
		"source not signed in":      {"viasso", nil, "", "AWS profile is not signed in", []string{"`aws sso login --profile sso`"}},
		"session not signed in":     {"session", nil, "", "AWS profile is not signed in", []string{"`aws sso login --profile session`"}},
		"by variable not signed in": {"", map[string]string{"AWS_PROFILE": "sso"}, "", "AWS profile is not signed in", []string{"`aws sso login --profile sso`"}},
		"signed in, not assigned":   {"signedin", map[string]string{"AWS_ENDPOINT_URL_SSO": "http://sso.example.com"}, "", "IAM Identity Center refused the AWS profile", []string{`profile "signedin"`, `sso_role_name = "Reader"`, `"111122223333"`}},
		"login session":             {"login", nil, "", "AWS profile is not signed in", []string{"`aws login --profile login`"}},
		"no token file": {"", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere/token", "AWS_ROLE_ARN": closed}, "", "Web identity token cannot be read",
			[]string{"AWS_WEB_IDENTITY_TOKEN_FILE = /nowhere/token", "no such file", "id_tokens"}},
		"no token file of a profile": {"webfile", nil, "", "Web identity token cannot be read", []string{`profile "webfile"`, "/nowhere/token"}},
		"web identity without role":  {"", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere/token"}, "", "AWS configuration cannot be used", []string{"AWS_ROLE_ARN"}},
		"web identity refused": {"", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "<TOKEN>", "AWS_ROLE_ARN": closed}, "AccessDenied", "Role of the web identity cannot be assumed",
			[]string{"AWS_WEB_IDENTITY_TOKEN_FILE = ", closed, "AccessDenied", "sub"}},
		"web identity expired": {"", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "<TOKEN>", "AWS_ROLE_ARN": closed}, "ExpiredTokenException", "Role of the web identity cannot be assumed",
			[]string{"ExpiredTokenException", "has expired"}},
		"no secret":          {"", map[string]string{"AWS_ACCESS_KEY_ID": "AKIAXXXXXXXXXXXXXXXX"}, "", "Half a pair of AWS keys in the environment", []string{"AWS_ACCESS_KEY_ID is set", "Set AWS_SECRET_ACCESS_KEY"}},
		"no id":              {"", map[string]string{"AWS_SECRET_ACCESS_KEY": "cnry-secret"}, "", "Half a pair of AWS keys in the environment", []string{"AWS_SECRET_ACCESS_KEY is set", "Set AWS_ACCESS_KEY_ID"}},
		"half of a profile":  {"half", nil, "", "AWS configuration cannot be used", []string{`profile "half"`, "partial credentials"}},
		"no such profile":    {"nobody", nil, "", "AWS configuration cannot be used", []string{`profile "nobody"`}},
		"container":          {"", map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/x"}, "", "AWS credentials of the container cannot be read", []string{"AWS_CONTAINER_CREDENTIALS_FULL_URI"}},
		"nothing whatsoever": {"", nil, "", "AWS credentials were not found", []string{"AWS_PROFILE", "metadata"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.Role(other, "closed", awstest.Role{Trusts: []string{"arn:aws:iam::" + account + ":user/nobody"}})
			home := t.TempDir()
			t.Setenv("HOME", home)
			program, token := filepath.Join(home, "keys program"), filepath.Join(home, "token")
			write(t, program, "#!/bin/sh\necho cnry-printed\necho cnry-said >&2\nexit 3\n", 0o700)
			write(t, token, "cnry-token", 0o600)
			sum := sha1.Sum([]byte(start)) //nolint:gosec // the AWS CLI names its files by it
			cache := filepath.Join(home, ".aws", "sso", "cache")
			must(t, os.MkdirAll(cache, 0o700))
			write(t, filepath.Join(cache, hex.EncodeToString(sum[:])+".json"), `{"accessToken":"cnry-access","expiresAt":"2099-01-01T00:00:00Z"}`, 0o600)
			key, secret := c.User(account, "base")
			fill := strings.NewReplacer("<PROGRAM>", program, "<TOKEN>", token, "<KEY>", key, "<SECRET>", secret).Replace
			c.profiles(fill(shared))
			for variable, value := range tt.env {
				t.Setenv(variable, fill(value))
			}
			c.Choose = func(call awstest.Call, _ *http.Request) *enginetest.FaultResponse {
				if tt.answer == "" || call.Service != "sts" {
					return nil
				}
				return &enginetest.FaultResponse{Status: http.StatusForbidden, Body: "<ErrorResponse><Error><Code>" + tt.answer + "</Code><Message>no</Message></Error></ErrorResponse>"}
			}
			_, err := c.resolver(AWSOptions{Default: &Identity{Profile: tt.profile}}).Credential(t.Context(), ecrHost)
			p := asProblem(t, err)
			said := p.Detail()
			if p.Title != tt.title || strings.Contains(said, "cnry-") {
				t.Errorf("got %q, want %q:\n%s", p.Title, tt.title, said)
			}
			for _, words := range tt.says {
				if words = fill(words); !strings.Contains(said, words) {
					t.Errorf("%q is not in:\n%s", words, said)
				}
			}
			if name != "nothing whatsoever" && strings.Contains(said, "Looked for in") {
				t.Errorf("it looks for what was found:\n%s", said)
			}
		})
	}
}

package credential

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// dockerConfig makes text the Docker configuration of the test; "" means that there is none. Helpers are shell
// scripts by suffix.
func dockerConfig(t *testing.T, text string, helpers map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	if text != "" {
		write(t, filepath.Join(dir, "config.json"), text, 0o600)
	}
	bin := t.TempDir()
	for suffix, script := range helpers {
		write(t, filepath.Join(bin, "docker-credential-"+suffix), "#!/bin/sh\n"+script+"\n", 0o700)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return dir
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func login(name, password string) image.Credential {
	return image.Credential{Username: name, Password: secret.New(password)}
}

// answer is a helper that gives this user and the host that it was asked for as password.
func answer(name string) string {
	return `read -r host; printf '{"ServerURL":"%s","Username":"` + name + `","Secret":"for %s"}' "$host" "$host"`
}

func from(source string, c image.Credential) image.Credential {
	c.Source = source
	return c
}

func TestTheNearestSourceWins(t *testing.T) {
	// "YTpi" is a:b.
	dockerConfig(t, `{"auths":{"r.example.com":{"auth":"YTpi"},"own.example.com":{"auth":"YTpi"},"static.example.com":{"auth":"YTpi"}}}`, nil)
	resolver := NewResolver(Static{"static.example.com": login("s", "1"), "own.example.com": login("s", "2")}).
		With("own.example.com", login("o", "3"))
	for host, want := range map[string]image.Credential{
		"own.example.com":        login("o", "3"),
		"own.example.com:443":    login("o", "3"),
		"static.example.com":     login("s", "1"),
		"static.example.com:443": login("s", "1"),
		"r.example.com":          from("the Docker configuration", login("a", "b")),
		"r.example.com:5000":     {},
		"other.example.com":      {},
	} {
		got, err := resolver.Credential(t.Context(), host)
		if err != nil || got != want {
			t.Errorf("%s: got %s %q, %v", host, got.Username, got.Password.Reveal(), err)
		}
	}
}

func TestWithChangesACopyOnly(t *testing.T) {
	dockerConfig(t, "", nil)
	first := NewResolver(nil).With("a.example.com", login("u", "1"))
	second := first.With("https://a.example.com/team/env", login("u", "2"))
	for resolver, want := range map[*Resolver]string{first: "1", second: "2", NewResolver(nil): ""} {
		got, err := resolver.Credential(t.Context(), "a.example.com")
		if err != nil || got.Password.Reveal() != want {
			t.Errorf("got %q, %v; want %q", got.Password.Reveal(), err, want)
		}
	}
}

func TestDockerConfigurationForms(t *testing.T) {
	helpers := map[string]string{
		"one": answer("one"), "all": answer("all"), "token": answer("<token>"),
		"empty": `echo "credentials not found in native keychain"; exit 1`,
	}
	tests := map[string]struct {
		config, host string
		want         image.Credential
	}{
		"no file":                 {"", "r.example.com", image.Credential{}},
		"empty file":              {" \n", "r.example.com", image.Credential{}},
		"no entry":                {"{}", "r.example.com", image.Credential{}},
		"old key":                 {`{"auths":{"https://r.example.com/v1/":{"auth":"YTpi"}}}`, "r.example.com", login("a", "b")},
		"port":                    {`{"auths":{"localhost:5000":{"auth":"YTpi"}}}`, "localhost:5000", login("a", "b")},
		"docker hub":              {`{"auths":{"https://index.docker.io/v1/":{"auth":"YTpi"}}}`, "docker.io", login("a", "b")},
		"docker hub, API host":    {`{"auths":{"https://index.docker.io/v1/":{"auth":"YTpi"}}}`, "registry-1.docker.io", login("a", "b")},
		"identity token":          {`{"auths":{"r.example.com":{"identitytoken":"t"}}}`, "r.example.com", image.Credential{RefreshToken: secret.New("t")}},
		"helper of the host":      {`{"credHelpers":{"r.example.com":"one"},"credsStore":"all"}`, "r.example.com", login("one", "for r.example.com")},
		"helper of another host":  {`{"credHelpers":{"r.example.com":"one"},"credsStore":"all"}`, "s.example.com", login("all", "for s.example.com")},
		"store":                   {`{"credsStore":"all","auths":{"r.example.com":{}}}`, "r.example.com", login("all", "for r.example.com")},
		"store, docker hub":       {`{"credsStore":"all"}`, "docker.io", login("all", "for https://index.docker.io/v1/")},
		"helper, docker hub":      {`{"credHelpers":{"docker.io":"one"}}`, "docker.io", login("one", "for https://index.docker.io/v1/")},
		"helper, token":           {`{"credsStore":"token"}`, "r.example.com", image.Credential{RefreshToken: secret.New("for r.example.com")}},
		"helper that has nothing": {`{"credsStore":"empty"}`, "r.example.com", image.Credential{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dockerConfig(t, tt.config, helpers)
			got, err := NewResolver(nil).Credential(t.Context(), tt.host)
			if tt.want != (image.Credential{}) {
				tt.want = from("the Docker configuration", tt.want)
			}
			if err != nil || got != tt.want {
				t.Errorf("got %s %q %q, %v", got.Username, got.Password.Reveal(), got.RefreshToken.Reveal(), err)
			}
		})
	}
}

func TestABrokenHelperIsNamedAndItsOutputIsNotShown(t *testing.T) {
	tests := map[string]struct{ script, words string }{
		"missing":   {"", "not on the PATH"},
		"fails":     {"echo cnry-out; echo cnry-err >&2; exit 3", "status 3"},
		"not JSON":  {"echo cnry-out", "not understood"},
		"two lines": {`printf '{"Username":"u","Secret":"cnry-1\\n"}'`, "line break"},
		"no end":    {"yes cnry-out", "larger than"},
		"wrong way": {`echo '{"Username":7,"Secret":"cnry-1"}'`, "not understood"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			helpers := map[string]string{}
			if tt.script != "" {
				helpers["bad"] = tt.script
			}
			dockerConfig(t, `{"credsStore":"bad"}`, helpers)
			got, err := NewResolver(nil).Credential(t.Context(), "r.example.com")
			p := asProblem(t, err)
			for _, words := range []string{"docker-credential-bad", "r.example.com", tt.words} {
				if !strings.Contains(p.Detail(), words) {
					t.Errorf("%q is not in %q", words, p.Detail())
				}
			}
			if strings.Contains(p.Detail()+p.Error(), "cnry") || got != (image.Credential{}) {
				t.Errorf("got %v with %q", got, p.Detail())
			}
		})
	}
}

func TestAHelperThatHangsIsEnded(t *testing.T) {
	// Script and child hold the pipe: it ends when both have.
	held := filepath.Join(t.TempDir(), "held")
	must(t, syscall.Mkfifo(held, 0o600))
	released := make(chan error)
	go func() {
		_, err := os.ReadFile(held)
		released <- err
	}()
	dockerConfig(t, "", map[string]string{"slow": "exec 3>'" + held + "'; sleep 500 & wait"})
	_, err := ask(t.Context(), "slow", "r.example.com", "r.example.com", 2*time.Second)
	select {
	case err := <-released:
		must(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("what the helper started lives on")
	}
	p := asProblem(t, err)
	if !strings.Contains(p.Detail(), "no answer within 2s") || !strings.Contains(p.Object, "docker-credential-slow for r.example.com") {
		t.Errorf("got %q", p.Detail())
	}
}

func TestAHelperThatLeavesAnAgentBehindHasAnswered(t *testing.T) {
	dockerConfig(t, "", map[string]string{"agent": "sleep 5 & " + answer("u")})
	got, err := ask(t.Context(), "agent", "r.example.com", "r.example.com", time.Minute)
	if err != nil || got != login("u", "for r.example.com") {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestABrokenDockerConfigurationIsNamed(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON":     `{"auths":{"r.example.com":{"auth":"cnry`,
		"not base64":   `{"auths":{"r.example.com":{"auth":"cnry!"}}}`,
		"no colon":     `{"auths":{"r.example.com":{"auth":"Y25yeQ=="}}}`,
		"auths a list": `{"auths":["cnry"]}`,
		"entry a text": `{"auths":{"r.example.com":"cnry"}}`,
		"store a list": `{"credsStore":["cnry"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := dockerConfig(t, text, nil)
			_, err := NewResolver(nil).Credential(t.Context(), "r.example.com")
			p := asProblem(t, err)
			if p.Object != filepath.Join(dir, "config.json") || strings.Contains(p.Detail()+p.Error(), "cnry") {
				t.Errorf("got %q", p.Detail())
			}
		})
	}
}

func TestParseRegistries(t *testing.T) {
	got, err := ParseRegistries(`{"https://R.example.com/": {"username": "u", "password": "p"}, "localhost:5000": {"username": "v", "password": "q"},
		"111122223333.dkr.ecr.eu-west-1.amazonaws.com": {"ecr": {"role_arn": "arn:aws:iam::111122223333:role/r", "external_id": "ours", "session_duration": "1h", "profile": "p"}},
		"444455556666.dkr.ecr.eu-west-1.amazonaws.com": {"ecr": {}}}`)
	if err != nil || len(got.Logins) != 2 || got.Logins["r.example.com"] != from(RegistriesVariable, login("u", "p")) || got.Logins["localhost:5000"] != from(RegistriesVariable, login("v", "q")) {
		t.Errorf("got %v, %v", got, err)
	}
	want := map[string]Identity{ecrHost: {Profile: "p", RoleARN: "arn:aws:iam::111122223333:role/r", ExternalID: "ours", SessionDuration: time.Hour}, "444455556666.dkr.ecr.eu-west-1.amazonaws.com": {}}
	if !maps.Equal(got.ECR, want) {
		t.Errorf("got %v", got.ECR)
	}
	for _, text := range []string{"", " \n", "{}"} {
		if got, err := ParseRegistries(text); err != nil || len(got.Logins)+len(got.ECR) != 0 {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

func TestParseRegistriesNamesHostAndKeyAndNoValue(t *testing.T) {
	tests := map[string]struct{ text, words string }{
		"not JSON":         {`{"r.example.com": cnry}`, "not JSON"},
		"cut":              {`{"r.example.com": {"password": "cnry`, "too early"},
		"a list":           {`["cnry"]`, "not a JSON object"},
		"two objects":      {`{} "cnry"`, "follows"},
		"a text":           {`{"r.example.com": "cnry"}`, "r.example.com"},
		"null":             {`{"r.example.com": null}`, "r.example.com"},
		"unknown key":      {`{"r.example.com": {"username": "cnry", "pass": "cnry"}}`, `"pass"`},
		"number":           {`{"r.example.com": {"username": "u", "password": 7777}}`, "password is not a string"},
		"no password":      {`{"r.example.com": {"username": "cnry"}}`, "password is missing"},
		"line break":       {`{"r.example.com": {"username": "u", "password": "cnry\n"}}`, "password holds a line break"},
		"line break, user": {`{"r.example.com": {"username": "u\n", "password": "cnry"}}`, "No registry takes a line break"},
		"empty user":       {`{"r.example.com": {"username": "", "password": "cnry"}}`, "username is missing"},
		"not a host":       {`{"team/env": {"username": "u", "password": "cnry"}}`, "team/env"},
		"user in host":     {`{"u:cnry@r.example.com": {"username": "u", "password": "p"}}`, "r.example.com"},
		"AWS keys":         {`{"r.example.com": {"username": "ASIACNRYXXXXXXXXXXXX", "password": "cnry"}}`, "AWS_SESSION_TOKEN"},
		"colon":            {`{"r.example.com": {"username": "cnry:p", "password": "cnry"}}`, "ends the user name"},
		"ecr, id":          {`{"111122223333.dkr.ecr.eu-west-1.amazonaws.com": {"ecr": {"external_id": "cnry !"}}}`, "ecr.external_id"},
		"both":             {`{"111122223333.dkr.ecr.eu-west-1.amazonaws.com": {"username": "cnry", "ecr": {}}}`, "not beside them"},
		"ecr elsewhere":    {`{"r.example.com": {"ecr": {}}}`, "private registries of Amazon ECR"},
		"ecr a text":       {`{"111122223333.dkr.ecr.eu-west-1.amazonaws.com": {"ecr": "cnry"}}`, "ecr is not an object"},
		"ecr, key":         {`{"111122223333.dkr.ecr.eu-west-1.amazonaws.com": {"ecr": {"role": "cnry"}}}`, `"ecr.role"`},
		"ecr, role":        {`{"111122223333.dkr.ecr.eu-west-1.amazonaws.com": {"ecr": {"role_arn": "cnry"}}}`, "ecr.role_arn"},
		"ecr, duration":    {`{"111122223333.dkr.ecr.eu-west-1.amazonaws.com": {"ecr": {"session_duration": "899s"}}}`, "ecr.session_duration"},
		"ecr twice":        {`{"111122223333.dkr.ecr.eu-west-1.amazonaws.com": {"ecr": {}}, "111122223333.dkr.ecr.eu-west-1.amazonaws.com:443": {"ecr": {}}}`, "111122223333"},
		"one host twice":   {`{"r.example.com": {"username": "u", "password": "cnry"}, "r.example.com:443": {"username": "u", "password": "cnry"}}`, "r.example.com"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseRegistries(tt.text)
			p := asProblem(t, err)
			if got.Logins != nil || got.ECR != nil || !strings.Contains(p.Detail(), tt.words) || !strings.Contains(p.Object, RegistriesVariable) {
				t.Errorf("got %v, %q", got, p.Detail())
			}
			if strings.Contains(p.Detail()+p.Error(), "cnry") || strings.Contains(p.Detail(), "7777") {
				t.Errorf("a value shows: %q", p.Detail())
			}
		})
	}
}

func TestCredentialsDoNotPrint(t *testing.T) {
	static := Static{"r.example.com": {Username: "u", Password: secret.New("cnry-1"), RefreshToken: secret.New("cnry-2")}}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", static, static, static), fmt.Sprintf("%+v %#v", *NewResolver(static), *NewResolver(static))} {
		if strings.Contains(text, "cnry") {
			t.Errorf("a secret shows: %s", text)
		}
	}
}

func asProblem(t *testing.T, err error) *problem.Problem {
	t.Helper()
	var p *problem.Problem
	if !errors.As(err, &p) {
		t.Fatalf("got %v, want a problem", err)
	}
	return p
}

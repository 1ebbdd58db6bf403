package provider_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
)

// sweepProgram is the shipped program.
func sweepProgram() string { return filepath.Join(providerFolder, "terraform-provider-datalayer") }

// sweepImages runs the shipped program's sweep with the CLI's environment.
func (c *cli) sweepImages(arguments ...string) (said string, code int) {
	c.t.Helper()
	command := exec.CommandContext(c.t.Context(), sweepProgram(), append([]string{"sweep"}, arguments...)...)
	command.Dir = c.dir
	for name, value := range c.env {
		command.Env = append(command.Env, name+"="+value)
	}
	text, err := command.CombinedOutput()
	if command.ProcessState == nil {
		c.t.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

// registryClient logs in as the CLI's provider does.
func (s *stack) registryClient(t *testing.T, c *cli) *image.Client {
	t.Helper()
	given, err := credential.ParseRegistries(c.env["DATALAYER_REGISTRIES"])
	if err != nil {
		t.Fatal(err)
	}
	return image.New(image.Options{Credentials: credential.NewResolver(given.Logins)})
}

// A killed apply may leave an image that no state knows: sweep finds it, and its commands import or remove it.
func TestCLI_SweepFindsImagesThatNoStateKnows(t *testing.T) {
	secret := enginetest.Canary("sweep")
	s := newStack(t, enginetest.BasicAuth(map[string]string{"reader": secret}, nil))
	c := s.newCLI(t)
	c.env["DATALAYER_REGISTRIES"] = fmt.Sprintf(`{%q: {"username": "reader", "password": %q}}`, s.registry.Host, secret)
	config := s.config(fmt.Sprintf(content, "a") + "\n  attestations = { sbom = false, provenance = \"max\" }")
	c.write("main.tf", config)
	c.apply()
	made := c.only()
	reference := fmt.Sprint(made.Attributes["reference"])
	if err := s.registryClient(t, c).Tag(t.Context(), s.target(t), fmt.Sprint(made.Attributes["digest"]), "latest"); err != nil {
		t.Fatal(err)
	}
	c.expect(0, "state", "rm", address)

	said, code := c.sweepImages("--repository", s.repository)
	if code != 0 {
		t.Errorf("sweep ended with %d:\n%s", code, said)
	}
	for _, text := range []string{
		"Registries:\n  artifact  " + reference + ", ", "s old, cache key " + fmt.Sprint(made.Attributes["cache_key"]) + "\n",
		"import: terraform import datalayer_environment.NAME " + reference + "\n",
		"remove: " + sweepProgram() + " sweep --repository " + s.repository + " --delete-artifact " + reference + "\n",
		"Removed: 0. Left to remove: 0. In use: 0. Artifacts: 1.",
	} {
		if !strings.Contains(said, text) {
			t.Errorf("%q is not in:\n%s", text, said)
		}
	}
	if said, code := c.sweepImages("--repository", s.repository, "--older-than", "1h"); code != 0 || !strings.Contains(said, "nothing of ours") {
		t.Errorf("sweep of what is older than an hour ended with %d:\n%s", code, said)
	}
	if said, code := c.sweepImages("--repository", s.registry.Host+"/team/other"); code != 0 || !strings.Contains(said, "nothing of ours") {
		t.Errorf("sweep of another repository ended with %d:\n%s", code, said)
	}
	if said, code := c.sweepImages("--delete-artifact", reference); code != 1 || !strings.Contains(said, "not checked (give --repository HOST/PATH)") {
		t.Errorf("sweep without a repository ended with %d:\n%s", code, said)
	}

	// The import that it prints works.
	c.expect(0, "import", address, reference)
	c.apply()
	c.expect(0, "state", "rm", address)

	// Somebody's tag keeps the image, which is no success.
	remove := []string{"--repository", s.repository, "--delete-artifact", reference}
	if said, code := c.sweepImages(remove...); code != 1 || !strings.Contains(said, "the image stayed: [latest] point to it") {
		t.Errorf("sweep of an image with another tag ended with %d:\n%s", code, said)
	}
	if err := s.registryClient(t, c).Untag(t.Context(), s.target(t), "latest"); err != nil {
		t.Fatal(err)
	}
	c.write("main.tf", config)
	c.apply()
	reference = fmt.Sprint(c.only().Attributes["reference"])
	remove[3] = reference
	if said, code := c.sweepImages(remove...); code != 0 || !strings.Contains(said, "removed   artifact "+reference) {
		t.Errorf("sweep by id ended with %d:\n%s", code, said)
	}
	for _, left := range s.registry.Left(t) {
		if strings.Contains(left, ":v1-") || strings.Contains(left, strings.TrimPrefix(reference, s.repository)) {
			t.Errorf("left in the registry: %s", left)
		}
	}

	c.env["DATALAYER_REGISTRIES"] = fmt.Sprintf(`{%q: {"username": "reader", "password": %q}}`, s.registry.Host, secret+"wrong")
	said, code = c.sweepImages("--repository", s.repository)
	if code != 1 || !strings.Contains(said, "failed    artifacts could not be listed") || !strings.Contains(said, "401") || !strings.Contains(said, `the login of "reader" from DATALAYER_REGISTRIES`) {
		t.Errorf("sweep with a wrong password ended with %d:\n%s", code, said)
	}
	if found := (enginetest.Canaries{"password": secret}).Found([]byte(said)); found != nil {
		t.Errorf("the password is in:\n%s", said)
	}
}

package provider_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// remoteBuilder is the configuration of a provider that builds over TCP with TLS. The key comes as a sensitive variable.
const remoteBuilder = `
variable "buildkit_key" {
  type      = string
  ephemeral = true
  sensitive = true
}

provider "datalayer" {
  buildkit = {
    address = %q
    tls     = { ca = %q, cert = %q, key = var.buildkit_key }
  }
}
`

const keyVariable = "TF_VAR_buildkit_key"

// remoteCLI gives a CLI as HCP Terraform has it: no program on the PATH, a home that cannot be written, no Docker, no
// daemon on the machine.
func (s *stack) remoteCLI(t *testing.T, pair enginetest.KeyPair) *cli {
	t.Helper()
	c := s.newCLI(t)
	c.env["PATH"], c.env["HOME"], c.env[keyVariable] = "", "/proc", string(pair.Key)
	delete(c.env, "BUILDKIT_HOST")
	return c
}

func TestCLI_BuildsOnARemoteDaemonAsHCPTerraformDoes(t *testing.T) {
	s := newStack(t)
	remote := enginetest.StartRemote(t)
	pair := remote.CA.Client(t)
	// The second line of the text: the first says what kind of key it is, which many share.
	keyText := strings.Split(string(pair.Key), "\n")[2]
	for name, form := range map[string]func([]byte) string{
		"text":  func(pem []byte) string { return string(pem) },
		"files": func(pem []byte) string { return enginetest.WritePEM(t, pem) },
	} {
		t.Run(name, func(t *testing.T) {
			c := s.remoteCLI(t, pair)
			c.env[keyVariable] = form(pair.Key)
			c.write("main.tf", fmt.Sprintf(remoteBuilder, remote.Address, form(remote.CA.PEM), form(pair.Certificate))+
				s.config(fmt.Sprintf(content, "a")+fmt.Sprintf("  lock = %q\n", testdata(t, "six.lock"))))
			applied := c.apply()
			if all := applied.stdout + applied.stderr + applied.log; strings.Contains(all, keyText) {
				t.Error("the key is in the output or the log")
			}
			c.planIsEmpty()
			s.holdsOnly(t, c.only())
			c.destroy(s)
			c.noFilesLeft()
		})
	}
}

func TestCLI_ErrorsOfARemoteDaemonNameTLS(t *testing.T) {
	s := newStack(t)
	remote := enginetest.StartRemote(t)
	stranger := enginetest.NewCA(t)
	good, foreign := remote.CA.Client(t), stranger.Client(t)
	plaintext := fmt.Sprintf("provider \"datalayer\" {\n  buildkit = { address = %q }\n}\n", remote.Address)
	for name, c := range map[string]struct {
		provider string
		pair     enginetest.KeyPair
		env      map[string]string
		says     []string
	}{
		"wrong CA":                 {fmt.Sprintf(remoteBuilder, remote.Address, stranger.PEM, good.Certificate), good, nil, []string{"TLS certificate of BuildKit is not trusted", "buildkit.tls.ca"}},
		"wrong client certificate": {fmt.Sprintf(remoteBuilder, remote.Address, remote.CA.PEM, foreign.Certificate), foreign, nil, []string{"BuildKit daemon refused the TLS client certificate", "buildkit.tls.cert"}},
		"plaintext":                {plaintext, good, nil, []string{"BuildKit daemon expects TLS", "Set buildkit.tls"}},
		"address of the variable":  {fmt.Sprintf(remoteBuilder, remote.Address, remote.CA.PEM, good.Certificate), good, map[string]string{"BUILDKIT_HOST": "docker-container://builder"}, nil},
		"no docker":                {"", good, map[string]string{"BUILDKIT_HOST": "docker-container://builder"}, []string{"Program that reaches BuildKit is not on this machine", "program docker", "tcp://host:port"}},
	} {
		t.Run(name, func(t *testing.T) {
			terminal := s.remoteCLI(t, c.pair)
			maps.Copy(terminal.env, c.env)
			terminal.write("main.tf", c.provider+s.config(fmt.Sprintf(content, "a")))
			if c.says == nil {
				terminal.apply()
				terminal.destroy(s)
				return
			}
			terminal.expect(1, "apply", "-auto-approve").says(t, c.says...)
			if left := s.registry.Left(t); len(left) > 0 {
				t.Errorf("left in the registry: %v", left)
			}
		})
	}
}

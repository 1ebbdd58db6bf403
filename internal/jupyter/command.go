package jupyter

import (
	"fmt"

	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// Command starts a Jupyter Server as a runtime pod and the ingress of a sandbox do: on every address of the sandbox, at
// the port and at no other, with the token alone as its login, and with its files in the directory. It refuses to run as
// root. The token is an argument, so every process of the sandbox can read it.
func Command(port int, token secret.Value, directory string) []string {
	return []string{
		"python3", "-m", "jupyter_server",
		"--ServerApp.ip=0.0.0.0", fmt.Sprintf("--ServerApp.port=%d", port), "--ServerApp.port_retries=0",
		"--ServerApp.open_browser=False", "--ServerApp.allow_remote_access=True", "--ServerApp.allow_origin=*",
		"--ServerApp.root_dir=" + directory, "--ServerApp.password=", "--IdentityProvider.token=" + token.Reveal(),
	}
}

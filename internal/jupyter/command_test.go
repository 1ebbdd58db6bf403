package jupyter_test

import (
	"slices"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/jupyter"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

func TestCommandIsThisAndNothingElse(t *testing.T) {
	want := []string{
		"python3", "-m", "jupyter_server", "--ServerApp.ip=0.0.0.0", "--ServerApp.port=8888", "--ServerApp.port_retries=0", "--ServerApp.open_browser=False",
		"--ServerApp.allow_remote_access=True", "--ServerApp.allow_origin=*", "--ServerApp.root_dir=/home/datalayer/content", "--ServerApp.password=", "--IdentityProvider.token=cnry-token",
	}
	if got := jupyter.Command(8888, secret.New("cnry-token"), "/home/datalayer/content"); !slices.Equal(got, want) {
		t.Errorf("the command is %q, want %q", got, want)
	}
}

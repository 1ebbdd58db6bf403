package doctor_test

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/secrets/secretsprovider"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// sandboxes starts containers and makes the images that they start from.
type sandboxes struct {
	*enginetest.Env
	daemon *buildkit.Daemon
	client *client.Client
	// base is an image that keeps the contract.
	base reference.Reference
}

func newSandboxes(t *testing.T) *sandboxes {
	t.Helper()
	s := &sandboxes{Env: enginetest.Engine(t)}
	var err error
	if s.daemon, err = buildkit.Connect(t.Context(), s.BuildkitAddress, 1, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.daemon.Close() })
	if s.client, err = client.New(t.Context(), s.BuildkitAddress); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.client.Close() })
	s.base = s.push(t, s.conforming(t))
	return s
}

// conforming lays on the engine's base what it lacks of the contract.
func (s *sandboxes) conforming(t *testing.T) llb.State {
	t.Helper()
	script := "exec pip install --break-system-packages --root-user-action=ignore --no-cache-dir ipykernel jupyter_client"
	options := []llb.RunOption{}
	if s.CABundle != "" {
		script += " --cert=/run/secrets/ca"
		options = append(options, llb.AddSecret("/run/secrets/ca", llb.SecretID("ca")))
	}
	options = append(options, llb.Args([]string{"/bin/sh", "-c", script}))
	return llb.Image(s.BaseReference, llb.LinuxAmd64).Run(options...).
		File(llb.Mkdir(environment.ReservedPath+"/bin", 0o755, llb.WithParents(true)).Mkfile(doctor.Path, doctor.Mode, doctor.Program()))
}

// changed is the base after a shell script that root ran in it.
func (s *sandboxes) changed(t *testing.T, script string) reference.Reference {
	t.Helper()
	return s.push(t, llb.Image(s.base.String(), llb.LinuxAmd64).Run(llb.Args([]string{"/bin/sh", "-euc", script})).Root())
}

func (s *sandboxes) push(t *testing.T, state llb.State) reference.Reference {
	t.Helper()
	definition, err := state.Marshal(t.Context(), llb.LinuxAmd64)
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string][]byte{}
	if s.CABundle != "" {
		if secrets["ca"], err = os.ReadFile(s.CABundle); err != nil {
			t.Fatal(err)
		}
	}
	name := s.RegistryHost + "/doctor"
	response, err := s.client.Solve(t.Context(), definition, client.SolveOpt{
		Session: []session.Attachable{secretsprovider.FromMap(secrets)},
		Exports: []client.ExportEntry{{Type: client.ExporterImage, Attrs: map[string]string{
			string(exptypes.OptKeyName): name, string(exptypes.OptKeyPush): "true", string(exptypes.OptKeyPushByDigest): "true",
		}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := reference.ParsePinned(name + "@" + response.ExporterResponse[exptypes.ExporterImageDigestKey])
	if err != nil {
		t.Fatal(err)
	}
	return pushed
}

// process is the doctor as a launcher starts it that keeps the contract.
func (s *sandboxes) process(command ...string) buildkit.Process {
	if len(command) == 0 {
		command = doctor.Command()
	}
	return buildkit.Process{
		Image: s.base, Platform: environment.DefaultPlatform, Init: []string{"/usr/bin/tini", "--", "/usr/bin/sleep", "infinity"}, Args: command,
		Env: []string{
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + environment.Home,
			"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC",
		},
		Cwd: environment.WorkDir, User: "1000:100",
	}
}

func (s *sandboxes) run(t *testing.T, process buildkit.Process) *buildkit.Output {
	t.Helper()
	output, err := s.daemon.Run(t.Context(), process, credential.NewResolver(nil))
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// report runs the doctor and holds its exit status and standard error against its report.
func (s *sandboxes) report(t *testing.T, process buildkit.Process) *doctor.Report {
	t.Helper()
	output := s.run(t, process)
	report, err := doctor.Parse([]byte(output.Stdout))
	if err != nil {
		t.Fatalf("%v\nstatus %d: %s", err, output.ExitCode, output.Stderr)
	}
	status, said := 0, ""
	if failed := report.FailedRows(); len(failed) > 0 {
		status, said = 1, "datalayer-sandbox doctor: "+failed[0].ID+" failed: "+failed[0].Message+"\n"
	}
	if output.ExitCode != status || output.Stderr != said || strings.Count(output.Stdout, "\n") != 1 {
		t.Errorf("status %d, stderr %q, stdout %q, want status %d, stderr %q and one line", output.ExitCode, output.Stderr, output.Stdout, status, said)
	}
	return report
}

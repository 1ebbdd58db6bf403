package doctor_test

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// sandboxes starts containers and makes the images that they start from.
type sandboxes struct {
	*enginetest.Env

	daemon *buildkit.Daemon
	client *client.Client
	// base is an image that keeps the contract, env what its config gives to a process.
	base reference.Reference
	env  []string
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
	s.base = s.conforming(t)
	return s
}

// conforming builds a base as datalayer_base_image does.
func (s *sandboxes) conforming(t *testing.T) reference.Reference {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	publisher := &buildkit.Publisher{
		Registry: image.New(image.Options{Credentials: credential.NewResolver(nil), UserAgent: "test"}), Logger: logger, Now: time.Now,
		Connect: func(context.Context) (*buildkit.Daemon, error) { return s.daemon, nil },
	}
	kernel, err := lock.Parse(base.KernelLock)
	if err != nil {
		t.Fatal(err)
	}
	from, err := reference.ParsePinned(s.PlainDebianReference)
	if err != nil {
		t.Fatal(err)
	}
	request := buildkit.Request{
		Base: from, BaseImage: &base.Spec{Python: base.PythonApt, Doctor: doctor.Program()}, Lock: kernel, Platforms: []string{environment.DefaultPlatform},
		Repository: reference.Repository{Host: s.RegistryHost, Path: "doctor/base"}, Credentials: credential.NewResolver(nil),
	}
	if s.CABundle != "" {
		if request.Network.CABundle, err = os.ReadFile(s.CABundle); err != nil {
			t.Fatal(err)
		}
	}
	published, err := publisher.Publish(t.Context(), request, "v1-0badcafe", func(buildkit.Published) {})
	if err != nil {
		t.Fatal(err)
	}
	s.env = published.Image.Configs[environment.DefaultPlatform].Env
	return published.Reference(request.Repository)
}

// changed is the base after a shell script that root ran in it.
func (s *sandboxes) changed(t *testing.T, script string) reference.Reference {
	t.Helper()
	state := llb.Image(s.base.String(), llb.LinuxAmd64).Run(llb.Args([]string{"/bin/sh", "-euc", script})).Root()
	definition, err := state.Marshal(t.Context(), llb.LinuxAmd64)
	if err != nil {
		t.Fatal(err)
	}
	name := s.RegistryHost + "/doctor"
	response, err := s.client.Solve(t.Context(), definition, client.SolveOpt{
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
		Env: slices.Clone(s.env), Cwd: environment.WorkDir, User: "1000:100",
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

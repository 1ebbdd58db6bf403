package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/doctor"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/jupyter"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// proof is what a container that was started from the image showed.
type proof struct {
	Doctor verdict `json:"doctor"`
	// The seconds count from the start of the container: until Jupyter Server answered, and until a kernel answered 1+1.
	SecondsToServer      float64           `json:"seconds_to_server"`
	SecondsToFirstResult float64           `json:"seconds_to_first_result"`
	Packages             map[string]string `json:"packages"`
}

// verdict is the doctor's.
type verdict struct {
	Passed bool  `json:"passed"`
	Rows   []row `json:"rows"`
}

type row struct {
	ID string `json:"id"`
	OK bool   `json:"ok"`
}

// proveWithin bounds the proof.
const proveWithin = 5 * time.Minute

// port is where Jupyter Server listens in the container, which has a loopback of its own.
const port = 8888

const imports = `
import json
import numpy, pandas
assert pandas.DataFrame({"x": numpy.arange(4)})["x"].sum() == 6
print(json.dumps({"numpy": numpy.__version__, "pandas": pandas.__version__}))
`

// prove starts a container from the digest with a runtime pod's command, as 1000:100 in the working directory and without
// network, and speaks to it through the daemon.
func prove(ctx context.Context, address, digestReference string, env []string) (_ *proof, err error) {
	ctx, cancel := context.WithTimeout(ctx, proveWithin)
	defer cancel()
	parsed, err := reference.ParsePinned(digestReference)
	if err != nil {
		return nil, err
	}
	daemon, err := buildkit.Connect(ctx, address, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, daemon.Close()) }()

	token := secret.New(rand.Text())
	start := time.Now()
	container, err := daemon.Start(ctx, buildkit.Process{
		Image: parsed, Platform: environment.DefaultPlatform, Env: env, Cwd: environment.WorkDir,
		Args: append([]string{"tini", "--"}, jupyter.Command(port, token, environment.WorkDir)...),
		User: fmt.Sprintf("%d:%d", environment.UID, environment.GID),
	}, anonymous{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, container.Close()) }()
	transport := &http.Transport{DialContext: container.Dial}
	defer transport.CloseIdleConnections()
	server := jupyter.NewServer(jupyter.Endpoint{
		URL:   &url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)},
		Token: token, Client: &http.Client{Transport: transport},
	})
	shown := &proof{}
	version, err := server.Wait(ctx, container.Failure)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, container.Log())
	}
	shown.SecondsToServer = since(start)
	fmt.Printf("   Jupyter Server %s answered after %.2f s\n", version, shown.SecondsToServer)
	if err := shown.useKernel(ctx, server, start); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, container.Log())
	}
	return shown, shown.askDoctor(ctx, container)
}

func (p *proof) useKernel(ctx context.Context, server *jupyter.Server, start time.Time) (err error) {
	kernel, err := server.StartKernel(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kernel.ShutDown(context.WithoutCancel(ctx))) }()
	sum, err := kernel.Execute(ctx, "1+1")
	if err != nil {
		return err
	}
	p.SecondsToFirstResult = since(start)
	if sum.Error != nil {
		return fmt.Errorf("a kernel answered 1+1: %w", sum.Error)
	}
	if sum.Text() != "2" {
		return fmt.Errorf("a kernel answered 1+1 with %q", sum.Text())
	}
	imported, err := kernel.Execute(ctx, imports)
	if err != nil {
		return err
	}
	if imported.Error != nil {
		return fmt.Errorf("a kernel imports the packages: %w\n%s", imported.Error, imported.Stderr)
	}
	if err := json.Unmarshal([]byte(imported.Stdout), &p.Packages); err != nil {
		return fmt.Errorf("a kernel printed %q: %w", imported.Stdout, err)
	}
	fmt.Printf("   a kernel answered 1+1 after %.2f s, and imports %v\n", p.SecondsToFirstResult, p.Packages)
	return nil
}

// askDoctor runs the base's own check beside the server. A row that fails is an error.
func (p *proof) askDoctor(ctx context.Context, container *buildkit.Container) error {
	output, err := container.Exec(ctx, buildkit.Command{Args: doctor.Command()})
	if err != nil {
		return err
	}
	report, err := doctor.Parse([]byte(output.Stdout))
	if err != nil {
		return fmt.Errorf("%w\n%s", err, output.Stderr)
	}
	var failed []string
	for _, found := range report.Rows {
		p.Doctor.Rows = append(p.Doctor.Rows, row{found.ID, found.OK})
		if !found.OK {
			failed = append(failed, found.ID+": "+found.Message)
		}
	}
	p.Doctor.Passed = report.OK && len(failed) == 0
	if !p.Doctor.Passed {
		return fmt.Errorf("the doctor found %s", strings.Join(failed, "; "))
	}
	fmt.Printf("   the doctor passed %d rows\n", len(p.Doctor.Rows))
	return nil
}

// since gives seconds with two digits.
func since(start time.Time) float64 { return math.Round(time.Since(start).Seconds()*100) / 100 }

// anonymous is no login for any registry.
type anonymous struct{}

func (anonymous) Credential(context.Context, string) (image.Credential, error) {
	return image.Credential{}, nil
}

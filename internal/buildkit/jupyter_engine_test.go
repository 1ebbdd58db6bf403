package buildkit_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/jupyter"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// TestContainer_ServesJupyter starts bases as a runtime pod does, without network, and speaks to their kernels.
func TestContainer_ServesJupyter(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) { servesJupyter(t, l) })
	}
}

func servesJupyter(t *testing.T, l layout) {
	b := newBench(t)
	request := b.baseRequest(t, l.from(b), l.python)
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	token := secret.New("cnry-jupyter-token")
	container, err := b.daemon.Start(t.Context(), buildkit.Process{
		Image: published.Reference(request.Repository), Platform: environment.DefaultPlatform,
		Args: append([]string{"/usr/bin/tini", "--"}, jupyter.Command(8888, token, environment.WorkDir)...),
		Env:  published.Image.Configs[environment.DefaultPlatform].Env, Cwd: environment.WorkDir, User: "1000:100",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := container.Close(); err != nil {
			t.Error(err)
		}
	}()
	transport := &http.Transport{DialContext: container.Dial}
	defer transport.CloseIdleConnections()
	server := jupyter.NewServer(jupyter.Endpoint{
		URL: &url.URL{Scheme: "http", Host: "127.0.0.1:8888"}, Token: token, Client: &http.Client{Transport: transport},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if version, err := server.Wait(ctx, container.Failure); err != nil || version != published.Packages["jupyter-server"] {
		t.Fatalf("Jupyter Server %s, %v\n%s", version, err, container.Log())
	}
	kernel, err := server.StartKernel(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{
		"1+1": "2",
		"import os, getpass; f'{os.getuid()}:{os.getgid()} {os.getcwd()}'":       "'1000:100 " + environment.WorkDir + "'",
		"import IPython.display\nIPython.display.display('shown')\nprint('out')": "",
	} {
		execution, err := kernel.Execute(ctx, code)
		if err != nil {
			t.Fatal(err)
		}
		if execution.Text() != want || execution.Error != nil {
			t.Errorf("%s gave %+v, want %s", code, execution, want)
		}
		if want == "" && (execution.Stdout != "out\n" || len(execution.Outputs) != 1 || execution.Outputs[0].Text() != "'shown'") {
			t.Errorf("%s gave %+v", code, execution)
		}
	}
	raised, err := kernel.Execute(ctx, "print('before', flush=True)\n1/0")
	if err != nil || raised.Error == nil || raised.Error.Name != "ZeroDivisionError" || raised.Stdout != "before\n" {
		t.Errorf("%+v, %v", raised, err)
	}
	// The kernel's own process ends: the server says so, and starts another one.
	if _, err := kernel.Execute(ctx, "import os; os._exit(1)"); err == nil {
		t.Error("code whose process ended came to its end")
	} else {
		t.Log(err)
	}
	if again, err := kernel.Execute(ctx, "2+2"); err != nil || again.Text() != "4" {
		t.Errorf("after the restart: %+v, %v", again, err)
	}
	if err := kernel.ShutDown(ctx); err != nil {
		t.Error(err)
	}
	if left, err := server.Kernels(ctx); err != nil || len(left) != 0 {
		t.Errorf("kernels that are left: %q, %v", left, err)
	}
}

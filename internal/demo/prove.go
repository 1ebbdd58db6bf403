package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

const script = `
import json, os, sys
import numpy, pandas
frame = pandas.DataFrame({"x": numpy.arange(4)})
assert frame["x"].sum() == 6
print(json.dumps({
    "user": f"{os.getuid()}:{os.getgid()}",
    "python": sys.version.split()[0],
    "packages": {"numpy": numpy.__version__, "pandas": pandas.__version__},
}))
`

// launched is what a container that was started from the image said of itself.
type launched struct {
	User     string            `json:"user"`
	Python   string            `json:"python"`
	Packages map[string]string `json:"packages"`
}

// launch starts a container from the digest as 1000:100 without network and lets it import the packages.
func launch(ctx context.Context, address, digestReference, platform string) (_ *launched, err error) {
	parsed, err := reference.ParsePinned(digestReference)
	if err != nil {
		return nil, err
	}
	daemon, err := buildkit.Connect(ctx, address, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, daemon.Close()) }()
	output, err := daemon.Run(ctx, buildkit.Process{
		Image: parsed, Platform: platform,
		Args: []string{"/usr/bin/tini", "--", "python3", "-c", script},
		Env:  []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/datalayer", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC"},
		Cwd:  "/home/datalayer/content", User: "1000:100",
	}, anonymous{})
	if err != nil {
		return nil, err
	}
	if output.ExitCode != 0 {
		return nil, fmt.Errorf("the container of %s ended with status %d:\n%s", digestReference, output.ExitCode, output.Stderr)
	}
	var answer launched
	if err := json.Unmarshal([]byte(output.Stdout), &answer); err != nil {
		return nil, fmt.Errorf("the container of %s printed %q: %w", digestReference, output.Stdout, err)
	}
	if answer.User != "1000:100" {
		return nil, fmt.Errorf("the container of %s ran as %s, not 1000:100", digestReference, answer.User)
	}
	return &answer, nil
}

// anonymous is no login for any registry.
type anonymous struct{}

func (anonymous) Credential(context.Context, string) (image.Credential, error) {
	return image.Credential{}, nil
}

package engine

import (
	"context"
	"fmt"
	"net/http"
	"os"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// BasePython is the Python of the base image, as python_version would name it.
const BasePython = "3.13"

// Names of the repositories that take the images.
const (
	BaseRepository           = "base"
	PlainDebianRepository    = "debian"
	OfficialPythonRepository = "python"
)

// baseConfig follows sandbox-contract/v1: user 1000:100 in its working directory, C.UTF-8, UTC, and a first process that reaps.
var baseConfig = ocispec.ImageConfig{
	User:       "1000:100",
	WorkingDir: "/home/datalayer/content",
	Entrypoint: []string{"/usr/bin/tini", "--"},
	Env: []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/home/datalayer", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC",
	},
}

// plainDebianConfig is that of Docker Official's debian images.
var plainDebianConfig = ocispec.ImageConfig{
	Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	Cmd: []string{"bash"},
}

// officialPythonConfig is that of Docker Official's python:3.13-slim, but for the variables that name the source.
var officialPythonConfig = ocispec.ImageConfig{
	Env: []string{"PATH=/usr/local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	Cmd: []string{"python3"},
}

// PushBase puts the base image, made of base-root's layer, into the registry at host, reached by client, and returns its
// reference by digest, a pure function of the layer. It has no tag. What is there already is not sent again.
func PushBase(ctx context.Context, client *http.Client, host, layerPath string) (string, error) {
	return pushRoot(ctx, client, host, BaseRepository, layerPath, "tools/base-root.sh", baseConfig)
}

// PushPlainDebian is PushBase of a Debian image without Python, tini and user, made of plain-root's layer.
func PushPlainDebian(ctx context.Context, client *http.Client, host, layerPath string) (string, error) {
	return pushRoot(ctx, client, host, PlainDebianRepository, layerPath, "tools/plain-root.sh", plainDebianConfig)
}

// PushOfficialPython is PushBase of an image laid out as Docker Official's python:3.13-slim, made of official-python's layer.
func PushOfficialPython(ctx context.Context, client *http.Client, host, layerPath string) (string, error) {
	return pushRoot(ctx, client, host, OfficialPythonRepository, layerPath, "tools/official-python.sh", officialPythonConfig)
}

// pushRoot is pushImage of a layer in a file.
func pushRoot(ctx context.Context, client *http.Client, host, name, layerPath, createdBy string, config ocispec.ImageConfig) (string, error) {
	layer, err := os.Open(layerPath)
	if err != nil {
		return "", fmt.Errorf("push image %s to %s: %w", name, host, err)
	}
	defer layer.Close()
	reference, err := pushImage(ctx, client, host, name, layer, createdBy, config)
	if err != nil {
		return "", fmt.Errorf("push image %s, made of %s, to %s: %w", name, layerPath, host, err)
	}
	return reference, nil
}

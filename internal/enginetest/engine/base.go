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

// BaseRepository is where PushBase puts the base image.
const BaseRepository = "base"

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

// PushBase puts an image made of one gzipped layer into the registry at host, reached by client, and returns its
// reference by digest, a pure function of the layer. It has no tag. What is there already is not sent again.
func PushBase(ctx context.Context, client *http.Client, host, layerPath string) (string, error) {
	layer, err := os.Open(layerPath)
	if err != nil {
		return "", fmt.Errorf("push the base image to %s: %w", host, err)
	}
	defer layer.Close()
	reference, err := pushImage(ctx, client, host, BaseRepository, layer, "tools/base-root.sh", baseConfig)
	if err != nil {
		return "", fmt.Errorf("push the base image %s to %s: %w", layerPath, host, err)
	}
	return reference, nil
}

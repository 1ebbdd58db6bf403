package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// GeneratorRepository is where PushGenerator puts the SBOM generator.
const GeneratorRepository = "sbom-generator"

// PushGenerator compiles the project's own SBOM generator (internal/sbom/generator), puts an image with nothing but it into
// the registry at host, reached by client, and returns its reference by digest, a pure function of the binary. It has no
// tag. What is there already is not sent again.
func PushGenerator(ctx context.Context, client *http.Client, host string) (string, error) {
	reference, err := pushGenerator(ctx, client, host)
	if err != nil {
		return "", fmt.Errorf("push the SBOM generator to %s: %w", host, err)
	}
	return reference, nil
}

func pushGenerator(ctx context.Context, client *http.Client, host string) (string, error) {
	binary, err := buildGenerator(ctx)
	if err != nil {
		return "", err
	}
	const name = "sbom-generator"
	layer, err := layerOf(name, binary)
	if err != nil {
		return "", err
	}
	return pushImage(ctx, client, host, GeneratorRepository, layer, "internal/sbom/generator",
		ocispec.ImageConfig{WorkingDir: "/", Entrypoint: []string{"/" + name}})
}

// buildGenerator compiles for the base's platform. Neither paths nor commits are in the binary: the same source is the
// same binary wherever it lies.
func buildGenerator(ctx context.Context) (_ []byte, err error) {
	root, err := ProjectRoot()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sbom-generator-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "generator")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, "./internal/sbom/generator")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOAMD64=v1")
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, output)
	}
	return os.ReadFile(path)
}

// layerOf makes a gzipped layer with one executable file.
func layerOf(name string, binary []byte) (io.ReadSeeker, error) {
	var layer bytes.Buffer
	zipped := gzip.NewWriter(&layer)
	files := tar.NewWriter(zipped)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(binary)), Format: tar.FormatUSTAR}
	if err := files.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := files.Write(binary); err != nil {
		return nil, err
	}
	if err := errors.Join(files.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	return bytes.NewReader(layer.Bytes()), nil
}

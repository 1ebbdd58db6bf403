package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Registry is a running registry, distribution v3 or docker-registry 2.8, that allows deletion and keeps its data on disk.
type Registry struct {
	// Host is "127.0.0.1:port", or the path of a unix socket if it listens on one.
	Host string
	// Storage is the directory with its data.
	Storage string

	network string
	process *Process
	runtime string
}

// The registry's own upload purging would race with what tests look at.
const registryConfig = `version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: %q}
  delete: {enabled: true}
  maintenance: {uploadpurging: {enabled: false}}
catalog: {maxentries: 1000}
http: {net: %q, addr: %q, relativeurls: true, secret: loopback, draintimeout: 1s}
`

// StartRegistry starts the registry program on network "tcp" at host, "127.0.0.1:port" (port 0: a free one), or on
// network "unix" at a socket in a directory of its own (host is not looked at).
func StartRegistry(ctx context.Context, program, storage, network, host string) (*Registry, error) {
	runtime, err := os.MkdirTemp("", "registry-")
	if err != nil {
		return nil, err
	}
	r := &Registry{Host: host, Storage: storage, network: network, runtime: runtime}
	if network == "unix" {
		r.Host = filepath.Join(runtime, "registry.sock")
	} else if r.Host, err = freePort(ctx, host); err != nil {
		return nil, errors.Join(err, os.RemoveAll(runtime))
	}
	if err := r.start(ctx, program); err != nil {
		r.Stop()
		return nil, err
	}
	return r, nil
}

func (r *Registry) start(ctx context.Context, program string) error {
	config := filepath.Join(r.runtime, "config.yml")
	text := fmt.Sprintf(registryConfig, r.Storage, r.network, r.Host)
	if err := errors.Join(os.MkdirAll(r.Storage, 0o755), os.WriteFile(config, []byte(text), 0o600)); err != nil {
		return err
	}
	cmd := exec.Command(program, "serve", config) //nolint:noctx // Stop ends it in order; a context would kill it.
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	process, err := StartLogged("registry", r.runtime, cmd)
	if err != nil {
		return err
	}
	r.process = process
	client := &http.Client{Transport: r.Transport()}
	return process.Ready(30*time.Second, func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://registry/v2/", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
			return errors.Join(fmt.Errorf("GET /v2/: %s", response.Status), err)
		}
		return nil
	})
}

// Transport reaches the registry whatever host the URL names.
func (r *Registry) Transport() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, r.network, r.Host)
	}}
}

// PID is the registry's process id.
func (r *Registry) PID() int { return r.process.PID() }

// Stop ends the registry; its data stays.
func (r *Registry) Stop() {
	if r.process != nil {
		r.process.Stop(10 * time.Second)
	}
	_ = os.RemoveAll(r.runtime)
}

// freePort turns port 0 into a port that is free now.
func freePort(ctx context.Context, host string) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", host)
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

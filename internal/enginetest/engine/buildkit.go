package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/moby/buildkit/client"
)

// Buildkit is a BuildKit daemon.
type Buildkit struct {
	// Address is what BUILDKIT_HOST would hold. TCP is "tcp://127.0.0.1:port" if the daemon listens there too.
	Address, TCP string

	process *Process
	lock    *os.File
	runtime string
}

// The host's network needs no CNI plugin, and build steps need the package index. Images are pulled from loopback
// registries over plain HTTP without being told. Steps get control groups of a name of their own. The limit keeps a state
// directory that lives for long from filling the disk.
const buildkitdConfig = `root = %q
[grpc]
address = [%s]
%s[otel]
socketPath = %q
[cdi]
disabled = true
[worker.oci]
enabled = true
binary = %q
snapshotter = "overlayfs"
networkMode = "host"
defaultCgroupParent = %q
gc = true
[[worker.oci.gcpolicy]]
all = true
maxUsedSpace = "20GB"
[worker.containerd]
enabled = false
`

// StartBuildkit starts a daemon whose state is kept in the directory state, or uses the one that BUILDKIT_HOST names and
// starts none. Binaries are by name: buildkitd, runc.
func StartBuildkit(ctx context.Context, binaries map[string]string, state string) (*Buildkit, error) {
	if address := os.Getenv("BUILDKIT_HOST"); address != "" {
		return &Buildkit{Address: address}, probeBuildkit(ctx, address)
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("buildkitd needs root: run with sudo -E, or set BUILDKIT_HOST")
	}
	return startBuildkit(ctx, binaries, state, nil)
}

func startBuildkit(ctx context.Context, binaries map[string]string, state string, tcp *TCP, variables ...string) (*Buildkit, error) {
	lock, err := LockDir(state)
	if err != nil {
		return nil, err
	}
	runtime, err := runtimeDir(state)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	b := &Buildkit{Address: "unix://" + filepath.Join(runtime, "buildkitd.sock"), lock: lock, runtime: runtime}
	if err := b.start(ctx, binaries, state, tcp, variables); err != nil {
		b.Stop()
		return nil, err
	}
	return b, nil
}

// runtimeDir makes the directory of the daemon's socket: the path of a socket is short by law, that of a state directory is
// not. It first removes what an owner that was killed left there.
func runtimeDir(state string) (string, error) {
	note := filepath.Join(state, "runtime")
	const prefix = "buildkitd-"
	if last, err := os.ReadFile(note); err == nil && strings.HasPrefix(filepath.Base(string(last)), prefix) {
		removeRuntime(string(last))
	}
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(note, []byte(dir), 0o600)
}

// removeRuntime removes a runtime directory and the control groups of the same name.
func removeRuntime(dir string) {
	removeCgroups("/sys/fs/cgroup", filepath.Base(dir))
	_ = os.RemoveAll(dir)
}

func (b *Buildkit) start(ctx context.Context, binaries map[string]string, state string, tcp *TCP, variables []string) error {
	addresses, tls := fmt.Sprintf("%q", b.Address), ""
	if tcp != nil {
		host, err := freePort(ctx, "127.0.0.1:0")
		if err != nil {
			return err
		}
		b.TCP = "tcp://" + host
		addresses += fmt.Sprintf(", %q", b.TCP)
		tls = tcp.config()
	}
	config := filepath.Join(b.runtime, "buildkitd.toml")
	text := fmt.Sprintf(buildkitdConfig,
		filepath.Join(state, "root"), addresses, tls, filepath.Join(b.runtime, "otel.sock"), binaries["runc"], filepath.Base(b.runtime))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	cmd := exec.Command(binaries["buildkitd"], "--config", config) //nolint:noctx // Stop ends it in order; a context would kill it.
	cmd.Env = append(os.Environ(), variables...)
	// The daemon holds the lock too: if its owner is killed, the next one waits for the daemon's end.
	cmd.ExtraFiles = []*os.File{b.lock}
	process, err := StartLogged("buildkitd", state, cmd)
	if err != nil {
		return err
	}
	b.process = process
	return process.Ready(time.Minute, func() error { return probeBuildkit(ctx, b.Address) })
}

// probeBuildkit asks for the workers, because a client connects lazily and a daemon listens before it is ready.
func probeBuildkit(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := client.New(ctx, address)
	if err != nil {
		return fmt.Errorf("BuildKit at %s: %w", address, err)
	}
	defer func() { _ = c.Close() }()
	workers, err := c.ListWorkers(ctx)
	if err != nil {
		return fmt.Errorf("BuildKit at %s: %w", address, err)
	}
	if len(workers) == 0 {
		return fmt.Errorf("BuildKit at %s has no worker", address)
	}
	return nil
}

// Stop ends the daemon if it is ours, and removes its socket and control groups.
func (b *Buildkit) Stop() {
	if b.process != nil {
		b.process.Stop(20 * time.Second)
	}
	if b.lock != nil {
		removeRuntime(b.runtime)
		_ = b.lock.Close()
	}
}

// removeCgroups removes the control groups below name in every hierarchy: the daemon leaves them behind.
func removeCgroups(root, name string) {
	var groups []string
	for _, pattern := range []string{"", "*"} {
		parents, err := filepath.Glob(filepath.Join(root, pattern, name))
		if err != nil {
			continue
		}
		for _, parent := range parents {
			_ = filepath.WalkDir(parent, func(path string, entry fs.DirEntry, err error) error {
				if err == nil && entry.IsDir() {
					groups = append(groups, path)
				}
				return nil
			})
		}
	}
	// Children first; a group that still has a process stays.
	for _, group := range slices.Backward(groups) {
		_ = syscall.Rmdir(group)
	}
}

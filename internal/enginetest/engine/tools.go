package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ProjectRoot is the directory of this module's go.mod, looked for upwards from the working directory.
func ProjectRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "tools", "install.sh")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("tools/install.sh is in no directory above this one: run within the project")
		}
		dir = parent
	}
}

// Tools gives the path of each tool named, as tools/install.sh makes them. Its messages go to progress.
func Tools(ctx context.Context, progress io.Writer, names ...string) (map[string]string, error) {
	root, err := ProjectRoot()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(root, "tools", "install.sh"), names...)
	// The script starts compilers and package managers: a cancel ends them too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, io.MultiWriter(&stderr, progress)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("tools/install.sh %s: %w\n%s", strings.Join(names, " "), err, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if len(lines) != len(names) {
		return nil, fmt.Errorf("tools/install.sh %s printed %d paths: %q", strings.Join(names, " "), len(lines), stdout.String())
	}
	paths := make(map[string]string, len(names))
	for i, name := range names {
		paths[name] = lines[i]
	}
	return paths, nil
}

// CacheDir is where tools/install.sh keeps what it makes.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "terraform-provider-datalayer"), nil
}

// CABundle is the file with the certificate authorities that stand before the package index: DATALAYER_CA_BUNDLE, else
// SSL_CERT_FILE, else "".
func CABundle() string {
	if path := os.Getenv("DATALAYER_CA_BUNDLE"); path != "" {
		return path
	}
	return os.Getenv("SSL_CERT_FILE")
}

package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// LockDir takes a directory for this process and those of its children that inherit the file; the directory is made if
// missing. A directory that is in use is an error that names its owner's process id.
func LockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, "owner.pid"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockFile(file); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := errors.Join(file.Truncate(0), writeAt(file, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// lockFile waits only for the daemon of an owner that was killed: it is ending, and holds the lock until then.
func lockFile(file *os.File) error {
	for try := 0; ; try++ {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		text, err := os.ReadFile(file.Name())
		if err != nil {
			return err
		}
		owner := strings.TrimSpace(string(text))
		if _, err := os.Stat(filepath.Join("/proc", owner)); err == nil || try == 100 {
			return fmt.Errorf("in use by process %s: wait for it to end, or end it", owner)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

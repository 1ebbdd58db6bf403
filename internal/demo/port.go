package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// portOwner names the process that listens on a TCP port of this machine, "" if none does.
func portOwner(port string) (string, error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", fmt.Errorf("port %q: %w", port, err)
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(table)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		inode := listener(bufio.NewScanner(file), number)
		_ = file.Close()
		if inode != "" {
			return socketOwner("/proc", inode), nil
		}
	}
	return "", nil
}

// listener gives the inode of the socket that listens on the port in a table of the form of /proc/net/tcp.
func listener(table *bufio.Scanner, port uint64) string {
	const listening = "0A"
	for table.Scan() {
		fields := strings.Fields(table.Text())
		if len(fields) < 10 || fields[3] != listening {
			continue
		}
		if strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
			return fields[9]
		}
	}
	return ""
}

// socketOwner names the process below proc that has the socket open.
func socketOwner(proc, inode string) string {
	links, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "fd", "*"))
	if err == nil {
		for _, link := range links {
			if target, err := os.Readlink(link); err != nil || target != "socket:["+inode+"]" {
				continue
			}
			process := filepath.Dir(filepath.Dir(link))
			command, err := os.ReadFile(filepath.Join(process, "cmdline"))
			if err != nil {
				continue
			}
			return fmt.Sprintf("process %s (%s)", filepath.Base(process), strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " ")))
		}
	}
	return "a process that this user may not look at"
}

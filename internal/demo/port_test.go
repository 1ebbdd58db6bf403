package main

import (
	"bufio"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestPortOwnerNamesTheProcess(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	owner, err := portOwner(port)
	if err != nil || !strings.HasPrefix(owner, "process "+strconv.Itoa(os.Getpid())+" (") || !strings.Contains(owner, os.Args[0]) {
		t.Errorf("owner of a taken port: %q, %v", owner, err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if owner, err := portOwner(port); err != nil || owner != "" {
		t.Errorf("owner of a free port: %q, %v", owner, err)
	}
}

func TestListenerReadsTheKernelsTable(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F91 0100007F:C000 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 20 4 30 10 -1
`
	tests := map[uint64]string{8080: "4711", 8081: "", 80: ""}
	for port, want := range tests {
		if got := listener(bufio.NewScanner(strings.NewReader(table)), port); got != want {
			t.Errorf("port %d: socket %q, want %q", port, got, want)
		}
	}
}

func TestPortOwnerOfAnUnreadablePort(t *testing.T) {
	if _, err := portOwner("many"); err == nil {
		t.Error("no error for a port that is no number")
	}
}

package image

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Terraform refreshes ten resources at once: the connections of one wave serve the next.
func TestConnectionsAreKeptForTheNextRequests(t *testing.T) {
	const atOnce = 10
	var arrived sync.WaitGroup
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		arrived.Wait() // All are under way before one is answered.
		w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
		w.Header().Set(digestHeader, someDigest)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := New(Options{})
	t.Cleanup(c.auth.Client.CloseIdleConnections)
	for range 3 {
		arrived.Add(atOnce)
		var wave errgroup.Group
		for range atOnce {
			wave.Go(func() error {
				_, err := c.Head(t.Context(), reference.Repository{Host: strings.TrimPrefix(server.URL, "http://"), Path: "team/env"}, someDigest)
				return err
			})
		}
		if err := wave.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if opened.Load() != atOnce {
		t.Errorf("%d connections were opened for three waves of %d requests, want %d", opened.Load(), atOnce, atOnce)
	}
}

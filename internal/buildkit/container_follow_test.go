package buildkit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	gateway "github.com/moby/buildkit/frontend/gateway/client"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// process ends when told, or never.
type process struct {
	gateway.ContainerProcess
	ended chan error
}

func (p process) Wait() error { return <-p.ended }

// Close returns though BuildKit's client never says that the first process has ended.
func TestContainer_ClosesThoughNobodySaysHowItEnded(t *testing.T) {
	for name, ended := range map[string]chan error{"never told": make(chan error), "told before": make(chan error, 1)} {
		t.Run(name, func(t *testing.T) {
			c := &Container{
				process: Process{Image: reference.Reference{Repository: reference.Repository{Host: "r.example.com", Path: "env"}}, Args: []string{"server"}},
				running: make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{}), caller: context.Background(), log: &tail{},
			}
			c.release = func() { close(c.gone) }
			close(c.running)
			want := errRemoved
			if cap(ended) > 0 {
				want = errors.New("it fell over")
				ended <- want
			}
			go c.follow(process{ended: ended})
			if cap(ended) > 0 {
				<-c.Ended()
			}
			closed := make(chan error, 1)
			go func() { closed <- c.Close() }()
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("Close waits for ever")
			}
			if err := c.Failure(); err == nil || !strings.Contains(err.Error(), want.Error()) {
				t.Errorf("got %v, want %v", err, want)
			}
		})
	}
}

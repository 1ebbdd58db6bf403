package sweep_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/sweep"
)

// stuck is a service at which nothing ends by itself.
type stuck struct {
	vault
	listing bool
}

func (s *stuck) Leftovers(ctx context.Context) ([]sweep.Leftover, error) {
	if s.listing {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	all, err := s.vault.Leftovers(ctx)
	all[0].Remove = func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	return all, err
}

func (s *stuck) Artifacts(ctx context.Context) ([]sweep.Artifact, error) {
	if s.listing {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []sweep.Artifact{{ID: "a", Remove: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}}, nil
}

// What does not end keeps nothing else from being removed, and a nightly job from ending.
func TestWhatDoesNotEndIsLeftBehind(t *testing.T) {
	first, second, third := name(time.Hour), name(2*time.Hour), name(3*time.Hour)
	deaf := &stuck{vault: vault{name: "Deaf"}, listing: true}
	slow := &stuck{vault: vault{name: "Slow", names: []string{first, second}}}
	well := &vault{name: "Well", names: []string{third}}
	var out bytes.Buffer
	clean := sweep.Run(context.Background(), sweep.Options{
		Now: func() time.Time { return noon }, RemoveWithin: 20 * time.Millisecond, LookWithin: 30 * time.Millisecond, DeleteArtifacts: []string{"a"},
	}, []sweep.Service{deaf, slow, well}, &out)
	said := out.String()
	holds(t, said, "failed    credentials and sandboxes could not be listed: it did not end within 30ms", "failed    artifacts could not be listed: it did not end within 30ms",
		"failed    credential "+first+" ("+first+") expired and could not be removed: it did not end within 20ms", "by hand: vault rm "+first,
		"failed    artifact a could not be removed: it did not end within 30ms", "Removed: 2. Left to remove: 2. In use: 0. Artifacts: 0. Failed: 4.")
	if clean || !slices.Equal(slow.removed, []string{second}) || !slices.Equal(well.removed, []string{third}) {
		t.Errorf("clean is %t, removed %v and %v:\n%s", clean, slow.removed, well.removed, said)
	}
	// Who ends it is not told of bounds.
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	out.Reset()
	sweep.Run(ended, sweep.Options{Now: func() time.Time { return noon }}, []sweep.Service{deaf}, &out)
	if said := out.String(); strings.Contains(said, "did not end within") || !strings.Contains(said, "it was interrupted") {
		t.Error(said)
	}
}

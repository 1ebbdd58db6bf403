package sweep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/sweep"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// vault is a service in memory.
type vault struct {
	name, missing string
	names         []string // of what it keeps; the id of each is its name too
	artifacts     []sweep.Artifact
	refuses       []string
	broken        error
	removed       []string
}

func (v *vault) Name() string    { return v.name }
func (v *vault) Missing() string { return v.missing }

func (v *vault) remove(id string) error {
	if slices.Contains(v.refuses, id) {
		return errors.New("403:\n  not yours")
	}
	v.removed = append(v.removed, id)
	return nil
}

func (v *vault) Leftovers(context.Context) (all []sweep.Leftover, err error) {
	for _, name := range v.names {
		all = append(all, sweep.Leftover{What: "credential", ID: name, Name: name, ByHand: "vault rm " + name, Remove: func(context.Context) error { return v.remove(name) }})
	}
	return all, v.broken
}

func (v *vault) Artifacts(context.Context) ([]sweep.Artifact, error) {
	for i := range v.artifacts {
		id := v.artifacts[i].ID
		v.artifacts[i].Remove = func(context.Context) error { return v.remove(id) }
	}
	return v.artifacts, v.broken
}

func name(age time.Duration) string {
	return credential.Marker{Purpose: "registry", ExpiresAt: noon.Add(-age), Nonce: "00000000"}.String()
}

// run gives what the command says and its exit status.
func run(arguments []string, services ...sweep.Service) (said string, code int) {
	program := sweep.Program{
		Settings: []sweep.Setting{{Variable: "VAULT_KEY", Meaning: "the key of the vault"}},
		Services: func([]reference.Repository) ([]sweep.Service, error) { return services, nil },
		Now:      func() time.Time { return noon },
	}
	var out, failures bytes.Buffer
	code = program.Main(context.Background(), arguments, &out, &failures)
	return out.String() + failures.String(), code
}

func TestOnlyWhatIsOursAndExpiredIsRemoved(t *testing.T) {
	expired, long := name(time.Minute), name(100*time.Hour)
	v := &vault{name: "Vault", names: []string{"theirs", expired, name(-time.Hour), name(0), long, "dl-registry-20200101t000000z-zzzzzzzz"}}
	said, code := run(nil, v)
	if want := []string{expired, long}; code != 0 || !slices.Equal(v.removed, want) {
		t.Errorf("ended with %d, removed %v, want %v:\n%s", code, v.removed, want, said)
	}
	holds(t, said, "Vault:\n", "removed   credential "+expired+" ("+expired+"), expired 1m ago", "expired 4d4h ago",
		"in use    credential "+name(-time.Hour)+" ("+name(-time.Hour)+"), until 2026-11-30T13:00:00Z", "Removed: 2. Left to remove: 0. In use: 2. Artifacts: 0.")
	if strings.Contains(said, "theirs") {
		t.Errorf("it speaks of what is not ours:\n%s", said)
	}
}

func holds(t *testing.T, said string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("%q is not in:\n%s", text, said)
		}
	}
}

func TestOlderThanLeavesWhatExpiredLately(t *testing.T) {
	v := &vault{name: "Vault", names: []string{name(time.Hour), name(3 * time.Hour)}, artifacts: []sweep.Artifact{
		{ID: "young", BuiltAt: noon.Add(-time.Hour)}, {ID: "old", BuiltAt: noon.Add(-50 * time.Hour)}, {ID: "unknown"},
	}}
	said, code := run([]string{"--older-than", "2h"}, v)
	if code != 0 || !slices.Equal(v.removed, []string{name(3 * time.Hour)}) {
		t.Errorf("ended with %d, removed %v", code, v.removed)
	}
	holds(t, said, "left      credential", "expired 1h0m ago, less than 2h0m", "artifact  old, 2d2h old", "artifact  unknown, of unknown age", "Artifacts: 2.")
	if strings.Contains(said, "young") {
		t.Errorf("a young artifact is listed:\n%s", said)
	}
}

func TestDryRunRemovesNothing(t *testing.T) {
	v := &vault{name: "Vault", names: []string{name(time.Hour)}, artifacts: []sweep.Artifact{{ID: "a"}}}
	said, code := run([]string{"--dry-run", "--delete-artifact", "a"}, v)
	if code != 1 || len(v.removed) > 0 {
		t.Errorf("ended with %d, removed %v", code, v.removed)
	}
	holds(t, said, "expired   credential", "artifact  a is to be removed", "Would be removed: 2. Left to remove: 2.")
}

func TestArtifactsAreListedAndRemovedByIDAlone(t *testing.T) {
	artifacts := []sweep.Artifact{
		{ID: "im-1", BuiltAt: noon.Add(-72 * time.Hour), CacheKey: "sha256:abc", Import: "terraform import x.NAME im-1"},
		{ID: "im 2", BuiltAt: noon.Add(-90 * time.Minute)},
	}
	v := &vault{name: "Vault", artifacts: artifacts}
	said, code := run([]string{"--repository", "r.example.com/team/env"}, v)
	if code != 0 || len(v.removed) > 0 {
		t.Errorf("ended with %d, removed %v", code, v.removed)
	}
	holds(t, said, "artifact  im-1, 3d0h old, cache key sha256:abc\n", "import: terraform import x.NAME im-1\n",
		"remove: terraform-provider-datalayer sweep --repository r.example.com/team/env --delete-artifact im-1\n", "--delete-artifact 'im 2'\n", "Artifacts: 2.")

	said, code = run([]string{"--delete-artifact", "im 2"}, v)
	if code != 0 || !slices.Equal(v.removed, []string{"im 2"}) {
		t.Errorf("ended with %d, removed %v:\n%s", code, v.removed, said)
	}
	holds(t, said, "removed   artifact im 2", "artifact  im-1")

	v.removed = nil
	said, code = run([]string{"--delete-artifact", "im-3", "--delete-artifact=im-1"}, v)
	if code != 1 || !slices.Equal(v.removed, []string{"im-1"}) {
		t.Errorf("ended with %d, removed %v:\n%s", code, v.removed, said)
	}
	holds(t, said, "No artifact im-3 was found", "Removed: 1. Left to remove: 0. In use: 0. Artifacts: 1. Failed: 1.")
}

func TestWhatFailedRemains(t *testing.T) {
	first, second := name(time.Hour), name(2*time.Hour)
	refusing := &vault{name: "Refusing", names: []string{first, second}, refuses: []string{first, "a"}, artifacts: []sweep.Artifact{{ID: "a"}}}
	broken := &vault{name: "Broken", broken: errors.New("503")}
	bare := &vault{name: "Bare", missing: "set BARE_KEY"}
	empty := &vault{name: "Empty"}
	said, code := run([]string{"--delete-artifact", "a"}, refusing, broken, bare, empty)
	if code != 1 || !slices.Equal(refusing.removed, []string{second}) {
		t.Errorf("ended with %d, removed %v", code, refusing.removed)
	}
	holds(t, said, "failed    credential "+first+" ("+first+") expired and could not be removed: 403: not yours\n", "by hand: vault rm "+first,
		"failed    artifact a could not be removed: 403: not yours", "failed    credentials and sandboxes could not be listed: 503", "failed    artifacts could not be listed: 503",
		"Bare: not checked (set BARE_KEY)", "Empty:\n  nothing of ours", "Removed: 1. Left to remove: 2. In use: 0. Artifacts: 0. Failed: 4.")
}

// The list and the dry run look as the removal does.
func TestWhatIsNotRemovedIsSaidBeforehand(t *testing.T) {
	foreign := func(context.Context) error { return &sweep.Kept{Why: "others\nmade it"} }
	broken := func(context.Context) error {
		return fmt.Errorf("503: %w", &problem.Problem{Title: "Vault is closed", Advice: "Try again."})
	}
	v := &vault{name: "Vault", artifacts: []sweep.Artifact{{ID: "theirs", Check: foreign}, {ID: "unknown", Check: broken}, {ID: "young", BuiltAt: noon, Check: broken}, {ID: "ours"}}}
	said, code := run([]string{"--older-than", "1h"}, v)
	if code != 1 || strings.Count(said, " remove: terraform-") != 1 {
		t.Errorf("the list ended with %d:\n%s", code, said)
	}
	holds(t, said, "            kept:   others made it\n", "failed    whether artifact unknown may be removed could not be asked: 503: Vault is closed\n            Try again.\n",
		"--delete-artifact ours\n", "Left to remove: 0. In use: 0. Artifacts: 3. Failed: 1.")

	used := func(context.Context) error { return &sweep.Kept{InUse: true, Why: "2 boxes", Advice: "End them."} }
	v.artifacts = []sweep.Artifact{{ID: "theirs", Check: foreign, Used: used}, {ID: "used", Used: used}, {ID: "ours"}}
	said, code = run([]string{"--dry-run", "--delete-artifact", "theirs", "--delete-artifact", "used", "--delete-artifact", "ours"}, v)
	if code != 1 || len(v.removed) > 0 {
		t.Errorf("the dry run ended with %d, removed %v", code, v.removed)
	}
	holds(t, said, "failed    artifact theirs could not be removed: others made it\n", "in use    artifact used: 2 boxes\n            End them.\n", "artifact  ours is to be removed\n",
		"Would be removed: 1. Left to remove: 3. In use: 1. Artifacts: 0. Failed: 1.")
}

// A list that breaks off holds what has expired all the same.
func TestWhatWasListedBeforeAFailureIsRemoved(t *testing.T) {
	v := &vault{name: "Vault", names: []string{name(time.Hour)}, broken: errors.New("503 on page 2")}
	said, code := run(nil, v)
	if code != 1 || !slices.Equal(v.removed, []string{name(time.Hour)}) {
		t.Errorf("ended with %d, removed %v", code, v.removed)
	}
	holds(t, said, "failed    credentials and sandboxes could not be listed", "503 on page 2", "removed   credential "+name(time.Hour), "Removed: 1.")
}

func TestWhatIsGivenTwiceIsMeantOnce(t *testing.T) {
	v := &vault{name: "Vault", artifacts: []sweep.Artifact{{ID: "im-1"}}}
	said, code := run([]string{"--delete-artifact", "im-1", "--delete-artifact", "im-1"}, v)
	if code != 0 || !slices.Equal(v.removed, []string{"im-1"}) {
		t.Errorf("ended with %d, removed %v:\n%s", code, v.removed, said)
	}
	program := sweep.Program{Services: func(repositories []reference.Repository) ([]sweep.Service, error) {
		if want := []reference.Repository{{Host: "r.example.com", Path: "a"}, {Host: "r.example.com", Path: "b"}}; !slices.Equal(repositories, want) {
			t.Errorf("repositories are %v", repositories)
		}
		return nil, nil
	}}
	var out bytes.Buffer
	if code := program.Main(t.Context(), []string{"--repository", "r.example.com/a", "--repository", "r.example.com/b", "--repository", "r.example.com/a"}, &out, &out); code != 0 {
		t.Errorf("ended with %d:\n%s", code, out.String())
	}
	id := "r.example.com/c@sha256:" + strings.Repeat("b", 64)
	said, _ = run([]string{"--repository", "r.example.com/a", "--delete-artifact", id}, v)
	holds(t, said, "No artifact "+id+" was found. An image is looked for in the repositories given alone: give --repository r.example.com/c too.")
}

func TestAServiceWithoutSettingsIsNoFailure(t *testing.T) {
	if said, code := run(nil, &vault{name: "Bare", missing: "set BARE_KEY"}); code != 0 {
		t.Errorf("ended with %d:\n%s", code, said)
	}
}

func TestOptionsThatAreNotUnderstood(t *testing.T) {
	for _, arguments := range [][]string{
		{"--older-than", "two"}, {"--older-than", "-2h"}, {"--repository", "nohost"}, {"--repository", "r.example.com/a:tag"},
		{"--delete-artifact", ""}, {"artifact"}, {"--force"},
	} {
		v := &vault{name: "Vault", names: []string{name(time.Hour)}}
		said, code := run(arguments, v)
		if code != 2 || len(v.removed) > 0 || !strings.HasPrefix(said, "sweep: ") || !strings.Contains(said, "sweep --help lists the options") {
			t.Errorf("%v ended with %d, removed %v:\n%s", arguments, code, v.removed, said)
		}
	}
}

func TestADurationWithoutAUnitIsExplained(t *testing.T) {
	for _, duration := range []string{"2d", "2"} {
		said, _ := run([]string{"--older-than", duration})
		holds(t, said, duration, `"48h", "90m"`)
	}
}

func TestAFailureSaysWhatToDo(t *testing.T) {
	v := &vault{name: "Vault", broken: fmt.Errorf("page 2: %w", &problem.Problem{Title: "Vault is closed", Advice: "Set VAULT_KEY."})}
	said, code := run(nil, v)
	if code != 1 {
		t.Errorf("ended with %d", code)
	}
	holds(t, said, "failed    artifacts could not be listed: page 2: Vault is closed\n            Set VAULT_KEY.\n")
}

func TestAnImageWithoutATagIsSaidToBeOne(t *testing.T) {
	v := &vault{name: "Vault", artifacts: []sweep.Artifact{{ID: "im-1", Untagged: true, BuiltAt: noon.Add(-time.Hour)}}}
	said, _ := run(nil, v)
	holds(t, said, "artifact  im-1, without a tag, 1h0m old")
}

// An installed plugin is on no PATH, so what is printed names the program by the path that it was started by.
func TestCommandsThatArePrintedCanBePasted(t *testing.T) {
	program := sweep.Program{Path: ".terraform/plug ins/terraform-provider-datalayer_v1.2.3", Now: func() time.Time { return noon },
		Services: func([]reference.Repository) ([]sweep.Service, error) {
			return []sweep.Service{&vault{name: "Vault", artifacts: []sweep.Artifact{{ID: "im-1"}}}}, nil
		}}
	const called = "'.terraform/plug ins/terraform-provider-datalayer_v1.2.3' sweep "
	for want, arguments := range map[string][]string{
		"remove: " + called + "--repository r.example.com/a --delete-artifact im-1\n": {"--repository", "r.example.com/a"},
		"\n" + called + "--help lists the options.\n":                                 {"--force"},
		"Usage: " + called + "[options]\n":                                            {"--help"},
	} {
		var out bytes.Buffer
		program.Main(t.Context(), arguments, &out, &out)
		holds(t, out.String(), want)
	}
}

func TestHelp(t *testing.T) {
	v := &vault{name: "Vault", names: []string{name(time.Hour)}}
	said, code := run([]string{"--help"}, v)
	if code != 0 || len(v.removed) > 0 {
		t.Errorf("ended with %d, removed %v", code, v.removed)
	}
	holds(t, said, "Usage: terraform-provider-datalayer sweep [options]", "--repository HOST/PATH", "--older-than DURATION", "--dry-run", "--delete-artifact ID", "VAULT_KEY", "the key of the vault", "Exit status: 0", "not checked")
}

package sweep_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
	"github.com/datalayer/terraform-provider-datalayer/internal/sweep"
)

func TestE2B_ListsTemplatesOfOursAndRemovesOneByItsID(t *testing.T) {
	fake, err := e2btest.New(e2btest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	key := "sha256:" + strings.Repeat("a", 64)
	fake.AddTemplate(e2btest.Key, "theirs", "default")
	ours, _ := fake.AddTemplate(e2btest.Key, "ours", "default", e2b.OwnTag(key, "0badcafe"))
	over, _ := fake.AddTemplate(e2btest.Key, "taken-over", "v1")
	other, _ := fake.AddTemplate(e2btest.Key, "other", e2b.OwnTag(key, "0badcaff"))
	client, err := e2b.New(e2b.Options{APIKey: secret.New(e2btest.Key), APIURL: fake.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.RequestBuild(t.Context(), e2b.BuildRequest{Name: "taken-over", Tags: []string{e2b.OwnTag(key, "0badcafa")}}); err != nil {
		t.Fatal(err)
	}
	sweeping := func(dry bool, ids ...string) (string, bool) {
		var out bytes.Buffer
		clean := sweep.Run(context.Background(), sweep.Options{Command: "sweep", Now: time.Now, DryRun: dry, DeleteArtifacts: ids}, []sweep.Service{sweep.E2B(client, "")}, &out)
		return out.String(), clean
	}
	run := func(ids ...string) (string, bool) { return sweeping(false, ids...) }
	text, clean := run()
	for _, want := range []string{"artifact  " + ours + " (" + e2btest.DefaultTeam + "/ours), ", "cache key " + key, "terraform import datalayer_e2b_template.NAME " + ours, "artifact  " + over + " (" + e2btest.DefaultTeam + "/taken-over), ", "kept:   others made it: ", "remove: sweep --delete-artifact " + ours + "\n", "Artifacts: 3. Failed: 0."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if !clean || strings.Contains(text, "theirs") || strings.Contains(text, "--delete-artifact "+over) {
		t.Errorf("clean is %t:\n%s", clean, text)
	}
	if text, clean = run(other); !clean || !strings.Contains(text, "removed   artifact "+other+" (") {
		t.Errorf("clean is %t:\n%s", clean, text)
	}
	if left := fake.Left(); len(left) != 3 {
		t.Errorf("left at E2B: %v", left)
	}
	if text, clean = run(over); clean || !strings.Contains(text, "others made it") || len(fake.Left()) != 3 {
		t.Errorf("one that was taken over: clean is %t:\n%s", clean, text)
	}
	const refused = "Left to remove: 1. In use: 0. Artifacts: 1. Failed: 1."
	if dry, clean := sweeping(true, over); clean || !strings.Contains(dry, "could not be removed: others made it") || !strings.Contains(dry, "Would be removed: 0. "+refused) || !strings.Contains(text, "Removed: 0. "+refused) {
		t.Errorf("a dry run of one that was taken over: clean is %t:\n%s\nthe real run:\n%s", clean, dry, text)
	}
	if err := client.RemoveTags(t.Context(), "taken-over", "v1"); err != nil {
		t.Fatal(err)
	}
	if text, clean = run(over); clean || !strings.Contains(text, "others made it") || len(fake.Left()) != 3 {
		t.Errorf("one that was taken over, of which no other build is listed: clean is %t:\n%s", clean, text)
	}
	awake, asleep := fake.AddSandbox(e2btest.DefaultTeam+"/ours", false), fake.AddSandbox(e2btest.DefaultTeam+"/ours", true)
	for _, dry := range []bool{true, false} {
		text, clean = sweeping(dry, ours)
		if clean {
			t.Errorf("a template in use: clean is %t:\n%s", clean, text)
		}
		holds(t, text, "in use    artifact "+ours+" (", "): 1 running and 1 paused sandboxes (", awake, asleep, "paused ones included, then sweep again.", "emoved: 0. Left to remove: 1. In use: 1. Artifacts: 1. Failed: 0.")
		if !dry {
			holds(t, text, "because there are running sandboxes using it")
		}
	}
	fake.Inject(e2btest.Fault{Route: "GET /v2/sandboxes", Times: -1, Status: 403, Message: "team is banned"})
	text, _ = run(ours)
	holds(t, text, "in use    artifact "+ours, "because there are running sandboxes using it; its sandboxes could not be counted: ", "team is banned", "In use: 1. Artifacts: 1. Failed: 1.")
}

// Nothing is known to be left where nothing could be asked, and sweep has no settings but variables.
func TestE2B_WhatCouldNotBeAskedIsAFailure(t *testing.T) {
	fake, err := e2btest.New(e2btest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	sweeping := func(key, address string) string {
		t.Helper()
		client, err := e2b.New(e2b.Options{APIKey: secret.New(key), APIURL: address, FromEnvironment: true, Retry: retry.Policy{Attempts: 1}})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if sweep.Run(t.Context(), sweep.Options{Command: "sweep", Now: time.Now}, []sweep.Service{sweep.E2B(client, "")}, &out) {
			t.Errorf("it is clean:\n%s", out.String())
		}
		text := out.String()
		holds(t, text, "Removed: 0. Left to remove: 0. In use: 0. Artifacts: 0. Failed: 2.")
		for _, word := range []string{"provider's e2b settings", "Terraform", "terraform", "api_key", "api_url"} {
			if strings.Contains(text, word) {
				t.Errorf("%q is in\n%s", word, text)
			}
		}
		return text
	}
	holds(t, sweeping("e2b_bad", fake.URL), "Check E2B_API_KEY, and that the key belongs")
	for status, want := range map[int]string{404: "Check E2B_DOMAIN and E2B_API_URL.", 429: "then try again.", 302: "as E2B_API_URL."} {
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		holds(t, sweeping(e2btest.Key, elsewhere.URL), want)
		elsewhere.Close()
		if status == 302 {
			holds(t, sweeping(e2btest.Key, elsewhere.URL), "can be reached from this machine")
		}
	}
}

func TestE2B_RemovesItsExpiredSandboxesAlone(t *testing.T) {
	fake, err := e2btest.New(e2btest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	client, err := e2b.New(e2b.Options{APIKey: secret.New(e2btest.Key), APIURL: fake.URL})
	if err != nil {
		t.Fatal(err)
	}
	ids, now := map[string]string{}, time.Now()
	start := func(name, key, marker string, paused bool) {
		t.Helper()
		made, err := client.CreateSandbox(t.Context(), e2b.NewSandbox{Template: "base", Timeout: time.Hour, Metadata: map[string]string{key: marker}})
		if err == nil && paused {
			err = client.PauseSandbox(t.Context(), made.SandboxID)
		}
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = made.SandboxID
	}
	expired := func() string { return credential.NewMarker("demo", now.Add(-time.Minute)).String() }
	start("expired", sweep.SandboxMarker, expired(), false)
	start("expired and paused", sweep.SandboxMarker, expired(), true)
	start("in use", sweep.SandboxMarker, credential.NewMarker("demo", now.Add(time.Hour)).String(), false)
	start("of another kind", sweep.SandboxMarker, "mine", false)
	start("under another key", "name", expired(), false)
	left := func() []string {
		var left []string
		for name, id := range ids {
			if strings.Contains(strings.Join(fake.Left(), "\n"), "sandbox "+id) {
				left = append(left, name)
			}
		}
		slices.Sort(left)
		return left
	}
	run := func(dry bool) (string, bool) {
		var out bytes.Buffer
		clean := sweep.Run(t.Context(), sweep.Options{Command: "sweep", DryRun: dry, Now: func() time.Time { return now }}, []sweep.Service{sweep.E2B(client, "")}, &out)
		return out.String(), clean
	}
	if text, clean := run(true); clean || len(left()) != 5 || strings.Count(text, "expired   sandbox ") != 2 {
		t.Errorf("a dry run: clean is %t, left are %q:\n%s", clean, left(), text)
	}
	fake.Inject(e2btest.Fault{Route: "DELETE /sandboxes/{sandboxID}", Times: -1, Status: 403, Message: "team is banned"})
	if text, clean := run(false); clean || len(left()) != 5 || strings.Count(text, "by hand: end it in the team's dashboard") != 2 {
		t.Errorf("E2B refuses: clean is %t, left are %q:\n%s", clean, left(), text)
	}
	fake.Heal()
	text, clean := run(false)
	if want := []string{"in use", "of another kind", "under another key"}; !clean || !slices.Equal(left(), want) {
		t.Errorf("clean is %t, left are %q, want %q:\n%s", clean, left(), want, text)
	}
	for _, want := range []string{"removed   sandbox " + ids["expired"], "removed   sandbox " + ids["expired and paused"], "in use    sandbox " + ids["in use"], "Removed: 2. Left to remove: 0. In use: 1."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestE2B_WithoutAKeyIsNotChecked(t *testing.T) {
	var out bytes.Buffer
	sweep.Run(context.Background(), sweep.Options{Now: time.Now}, []sweep.Service{sweep.E2B(nil, "set E2B_API_KEY")}, &out)
	if !strings.Contains(out.String(), "E2B: not checked (set E2B_API_KEY)") {
		t.Error(out.String())
	}
}
